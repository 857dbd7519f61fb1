# SPDX-License-Identifier: GPL-2.0-or-later
"""Joins gaps with the contexts that ran in them."""

import heapq
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Optional

from lowlat.measure.causes.capture import GapTimes
from lowlat.measure.causes.context import LOST, Context
from lowlat.measure.causes.timeline import Stretch

#: No event of the kernel: the hardware or the hypervisor took the time.
HARDWARE = ("hardware-or-hypervisor", "no kernel event")

#: The trace began only after the gap, because its buffer was too small.
NOT_RECORDED = ("not-recorded", "the trace's buffer was full")

#: The two causes that a detector's own context switches can show.
SWITCHED = ("thread", "another thread (root with --causes sees which)")
NOT_SWITCHED = ("interrupt-or-hardware", "no context switch (root with --causes sees more)")

Cause = tuple[str, str]

#: The number of longest gaps kept for each CPU, and the limit of causes for each.
_LONGEST, _LINKS = 10, 32

#: The causes shown have at least this part of a gap, more than _LINKS of them if need be.
_SHOWN = 0.9


@dataclass
class Tally:
    """The cost of one cause: its number of events, and its ticks."""

    events: int = 0
    ticks: int = 0


@dataclass
class Joined:
    """One CPU's gaps with their causes. ``first`` is the outermost cause of each gap, in the gaps'
    order, ``longest`` are the longest gaps as length, begin and causes, the largest first."""

    causes: dict[Cause, Tally] = field(default_factory=dict)
    first: list[Cause] = field(default_factory=list)
    longest: list[tuple[int, int, Sequence[tuple[Cause, int]]]] = field(default_factory=list)
    explained: int = 0

    def add(self, begin: int, length: int, shares: Sequence[tuple[Cause, Tally]]) -> None:
        """Count one gap, whose shares are net and add up to its length."""
        if len(self.longest) < _LONGEST or length > self.longest[0][0]:
            links = _largest(shares)
            keep = heapq.heappush if len(self.longest) < _LONGEST else heapq.heapreplace
            keep(self.longest, (length, begin, links))
        for cause, share in shares:
            tally = self.causes.setdefault(cause, Tally())
            tally.events += share.events
            tally.ticks += share.ticks
        ((first, _), *_) = shares
        self.first.append(first)
        self.explained += first not in (HARDWARE, NOT_RECORDED, LOST, NOT_SWITCHED)


def _largest(shares: Sequence[tuple[Cause, Tally]]) -> list[tuple[Cause, int]]:
    """The ticks of a gap by cause, the largest first, and the sum of the smallest."""
    sums: Counter[Cause] = Counter()
    for cause, share in shares:
        sums[cause] += share.ticks
    links = sums.most_common()
    many, told, length = 0, 0, sum(sums.values())
    while many < len(links) and (many < _LINKS or told < _SHOWN * length):
        told += links[many][1]
        many += 1
    rest = links[many:]
    if rest:
        links[many:] = [(("others", f"{len(rest)} smaller causes"), length - told)]
    return links


def join(
    gaps: GapTimes, stretches: Iterable[Stretch], entered: list[Context], since: int, slack: int
) -> Joined:
    """Give each gap the contexts that took it, each with its own time.

    The time to enter and leave the kernel, which no event covers, goes to the outermost context,
    which caused it. ``since`` (ticks) is the start of the trace, ``slack`` (ticks) the resolution
    of its clock. ``entered`` is read after ``stretches`` has been consumed.
    """
    times = _charge(gaps, stretches, slack)
    entered = sorted(entered, key=lambda context: context.begin)
    places = _places(gaps, (context.begin for context in entered), slack)
    starts: dict[Optional[int], list[Context]] = {}
    for context, place in zip(entered, places):
        starts.setdefault(place, []).append(context)
    joined = Joined()
    for index, (begin, end) in enumerate(zip(gaps.begins, gaps.ends)):
        shares = _shares(end - begin, times.get(index, {}), starts.get(index, []))
        unknown = HARDWARE if begin >= since else NOT_RECORDED
        joined.add(begin, end - begin, shares or [(unknown, Tally(1, end - begin))])
    return joined


def _charge(
    gaps: GapTimes, stretches: Iterable[Stretch], slack: int
) -> dict[int, dict[Context, int]]:
    """The ticks of each gap, by its place, by context; stretches come in order."""
    times: dict[int, dict[Context, int]] = {}
    at = 0
    for stretch in stretches:
        at = _reached(gaps, at, stretch.begin - slack)
        for index in range(at, len(gaps)):
            begin, end = gaps.begins[index], gaps.ends[index]
            if begin - slack > stretch.end:
                break
            share = min(end, stretch.end) - max(begin, stretch.begin)
            if share >= 0 or slack:
                charged = times.setdefault(index, {})
                charged[stretch.context] = charged.get(stretch.context, 0) + max(share, 0)
    return times


def _places(gaps: GapTimes, times: Iterable[int], slack: int) -> Iterator[Optional[int]]:
    """For each of the times, which are in order: the place of the gap around it, or None."""
    at = 0
    for time in times:
        at = _reached(gaps, at, time - slack)
        yield at if at < len(gaps) and gaps.begins[at] - slack <= time else None


def _reached(gaps: GapTimes, at: int, time: int) -> int:
    """The first gap, from place ``at`` on, that ends no earlier than the time."""
    while at < len(gaps) and gaps.ends[at] < time:
        at += 1
    return at


def _shares(
    length: int, charged: Mapping[Context, int], begun: Sequence[Context]
) -> list[tuple[Cause, Tally]]:
    """The contexts of one gap, each with its own time; the first one gets the remainder."""
    known = set(begun)
    shares = [
        ((context.kind, context.cause), Tally(int(context in known), charged.get(context, 0)))
        for context in sorted({*charged, *begun}, key=lambda context: context.begin)
    ]
    if shares:
        shares[0][1].ticks += max(length - sum(share.ticks for _, share in shares), 0)
    return shares


def inside(gaps: GapTimes, times: Iterable[int], slack: int) -> int:
    """The number of times inside a gap; the times are in order."""
    return sum(place is not None for place in _places(gaps, times, slack))


def join_switches(gaps: GapTimes, outs: Sequence[int]) -> Joined:
    """The gaps in which the detector was switched out, at these ticks, and the others."""
    joined = Joined()
    for begin, end in zip(gaps.begins, gaps.ends):
        count = bisect_right(outs, end) - bisect_left(outs, begin)
        cause = SWITCHED if count else NOT_SWITCHED
        joined.add(begin, end - begin, [(cause, Tally(max(count, 1), end - begin))])
    return joined
