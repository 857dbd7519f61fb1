# SPDX-License-Identifier: GPL-2.0-or-later
"""Combs in the times of gaps: what comes back at a fixed period, found and named.

All frequencies tried are paid for (Bonferroni), so that the stated rate of false alarms holds for
all of a CPU's gaps together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

#: How often a CPU whose gaps have no period shows one nevertheless.
FALSE_ALARM_RATE = 0.001

#: What is longer is not analysed to its end: the bins would not fit.
SPAN_MAX_S = 256.0

_ROUNDS_MAX = 12

#: How far two clocks may drift from each other: what NTP may slew.
CLOCKS_APART = 5e-4

#: Periods that Linux is known for, in Hz. (kernel/Kconfig.hz, mm/vmstat.c, kernel/watchdog.c,
#: kernel/time/clocksource.c, mm/page-writeback.c, mm/compaction.c)
_KNOWN = (
    (1000.0, "a tick at HZ=1000"),
    (300.0, "a tick at HZ=300"),
    (250.0, "a tick at HZ=250"),
    (100.0, "a tick at HZ=100"),
    (2.0, "0.5 s: the clocksource watchdog, kcompactd"),
    (1.0, "1 s: vmstat_update, the residual tick"),
    (0.5, "2 s"),
    (0.25, "4 s: the lockup watchdog"),
    (0.2, "5 s: writeback"),
    (0.1, "10 s"),
)


@dataclass(frozen=True)
class Comb:
    """Events that come at one period: its frequency, how many they are, how far it stands out
    (-ln of its probability by chance), and the probability that any of those tried does."""

    frequency_hz: float
    events: int
    power: float
    p: float
    name: str
    members: tuple[int, ...]


@dataclass(frozen=True)
class Spectrum:
    """What was found in ``span_s`` seconds by ``tests`` trials."""

    span_s: float
    tests: int
    combs: tuple[Comb, ...]


def available() -> bool:
    """Whether numpy is installed (extra ``report``)."""
    try:
        import numpy  # noqa: F401
    except ImportError:
        return False
    return True


def analyse(times: Sequence[float], span_s: float, rate: float = FALSE_ALARM_RATE) -> Spectrum:
    """The combs in events at these times (s, ascending, from 0 on) within ``span_s`` seconds.

    One that is found is stripped before the next is looked for. Raises ImportError without numpy.
    """
    import numpy as np

    from lowlat.measure.causes import teeth

    span = min(span_s, SPAN_MAX_S)
    left = np.asarray([time for time in times if time < span], dtype=float)
    places = np.arange(len(left))
    tests = max(int(teeth.HIGHEST_HZ * span * teeth.OVERSAMPLING), 1)
    combs: list[Comb] = []
    for _ in range(_ROUNDS_MAX):
        found = teeth.comb(left, span, math.log(tests / rate), [hz for hz, _ in _KNOWN])
        if found is None:
            break
        frequency, power, member = found
        comb = Comb(
            frequency_hz=frequency,
            events=int(member.sum()),
            power=power,
            p=min(tests * math.exp(-min(power, 700.0)), 1.0),
            name=_name(frequency, span),
            members=tuple(int(place) for place in places[member]),
        )
        _add(combs, comb, span)
        left, places = left[~member], places[~member]
    return Spectrum(span, tests, tuple(combs))


def _add(combs: list[Comb], comb: Comb, span: float) -> None:
    """Add a comb, or what was left of one that is known to it."""
    for place, known in enumerate(combs):
        if abs(known.frequency_hz - comb.frequency_hz) <= 1.0 / span:
            members = known.members + comb.members
            combs[place] = replace(known, events=len(members), members=members)
            return
    combs.append(comb)


def _name(frequency: float, span: float) -> str:
    """What comes at that frequency, within its resolution and 500 ppm between the clocks."""
    for known, name in _KNOWN:
        if abs(frequency - known) <= max(0.5 / span, CLOCKS_APART * known):
            return name
    return "a timer"
