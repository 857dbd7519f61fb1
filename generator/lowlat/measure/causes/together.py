# SPDX-License-Identifier: GPL-2.0-or-later
"""Times in which several CPUs were away at once: a parallel program waits for all of them."""

from array import array
from collections.abc import Iterator, Mapping
from heapq import merge
from math import prod

from lowlat.measure.causes.capture import Capture, GapTimes
from lowlat.model.cpuset import CpuSet
from lowlat.model.run import Together

#: The number of sets of CPUs kept, those with the longest time away.
_MOST = 10


def find(capture: Capture, gaps: Mapping[int, GapTimes]) -> list[Together]:
    """The sets of at least two CPUs that were away together while all others were not."""
    absences: dict[frozenset[int], array[int]] = {}
    away: frozenset[int] = frozenset()
    last = 0
    for time, _, cpu in merge(*(_edges(cpu, own) for cpu, own in gaps.items())):
        if len(away) > 1 and time > last:
            absences.setdefault(away, array("q")).append(time - last)
        away, last = away ^ {cpu}, time
    ns = capture.clock.ns
    span = max(max(cpu.end - cpu.begin for cpu in capture.cpus), 1)
    shares = {cpu: (sum(own.ends) - sum(own.begins)) / span for cpu, own in gaps.items()}
    result = []
    for cpus, lengths in sorted(absences.items(), key=lambda item: -sum(item[1]))[:_MOST]:
        chance = prod(share if cpu in cpus else 1 - share for cpu, share in shares.items())
        times = (round(ns(ticks)) for ticks in (sum(lengths), max(lengths), span * chance))
        result.append(Together(str(CpuSet.of(cpus)), len(lengths), *times))
    return result


def _edges(cpu: int, gaps: GapTimes) -> Iterator[tuple[int, bool, int]]:
    """The times at which a CPU goes away and returns; a return at the same time comes first."""
    for begin, end in zip(gaps.begins, gaps.ends):
        yield begin, True, cpu
        yield end, False, cpu
