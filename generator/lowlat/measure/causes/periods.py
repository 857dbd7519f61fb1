# SPDX-License-Identifier: GPL-2.0-or-later
"""Known periods in the times of events: the kernel's tick, its watchdogs, its housekeeping.

The times are folded at each known period. A period is found if events come at one phase in more
turns than chance explains: an upper bound (Chernoff) of the binomial probability, times the number
of phases, drifts and periods tried. A burst counts once a turn.
"""

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Optional

#: The probability that events without a period show one.
FALSE_ALARM_RATE = 0.001

#: Periods in seconds, and the work that Linux does at each by default (kernel/Kconfig.hz,
#: net/ipv4/tcp.c, kernel/time/clocksource.c, mm/compaction.c, mm/vmstat.c, kernel/sched/core.c,
#: kernel/watchdog.c, mm/page-writeback.c, mm/khugepaged.c, arch/x86/kernel/cpu/mce/core.c).
KNOWN = (
    (0.001, "a tick at HZ=1000"),
    (1 / 300, "a tick at HZ=300"),
    (0.004, "a tick at HZ=250"),
    (0.01, "a tick at HZ=100"),
    (0.1, "0.1 s: tcp_orphan_update"),
    (0.5, "0.5 s: the clocksource watchdog, kcompactd"),
    (1.0, "1 s: vmstat_update, the residual tick"),
    (4.0, "4 s: the lockup watchdog"),
    (5.0, "5 s: writeback"),
    (10.0, "10 s: khugepaged"),
    (300.0, "300 s: the machine check poll"),
)

#: The drift allowed between two clocks, as a fraction: the limit of NTP's slewing.
CLOCKS_APART = 5e-4

#: A turn is divided into cells; a phase is a window of two neighbours. Turns are counted in blocks
#: short enough for a drift of at most half a cell.
_CELLS = 32
_BLOCK = 32

_TURNS_MIN = 8
_TURNS_MAX = 4096

#: The least share of turns in which a period must come: other work can hide a tick.
_SHARE = 0.1

#: Another period that is so many times faster or slower folds into this one; other factors are
#: multiples of these.
_PRIMES = (2, 3, 5, 7)


@dataclass(frozen=True)
class Period:
    """A known period: its exact frequency, its events per second, ``power`` (-ln of the probability
    by chance, corrected for all tries), and the places of its events."""

    frequency_hz: float
    name: str
    rate_per_s: float
    power: float
    members: tuple[int, ...]


def find(times: Sequence[float], span_s: float) -> list[Period]:
    """The known periods in events at these times (s, from 0 on) within ``span_s`` seconds."""
    folded = (_fold(times, span_s, seconds, name) for seconds, name in KNOWN)
    return [one for one in folded if one is not None and one.power > -math.log(FALSE_ALARM_RATE)]


def _fold(times: Sequence[float], span_s: float, seconds: float, name: str) -> Optional[Period]:
    """The period, unless a faster or a slower one explains its events."""
    turns = min(int(span_s / seconds), _TURNS_MAX)
    cells = array("q", (int(time / seconds * _CELLS) for time in times if time < turns * seconds))
    if turns < _TURNS_MIN or len(cells) < _SHARE * turns:
        return None
    drift, folded, tries = _best(cells, turns)
    most, expected = max(folded), sum(folded) / _CELLS
    phase = folded.index(most)
    places = _in_window(cells, phase, drift)
    few = most - expected < _SHARE * turns
    if few or _is_faster(folded, phase) or _is_slower(set(places.values()), expected):
        return None
    return Period(
        frequency_hz=(1 - drift / _CELLS) / seconds,
        name=name,
        rate_per_s=most / turns / seconds,
        power=_unlikely(most, expected, turns) - math.log(tries * len(KNOWN)),
        members=tuple(places),
    )


def _best(cells: Sequence[int], turns: int) -> tuple[float, list[int], int]:
    """The drift (cells a turn) at which one phase has the most turns, the turns of each phase at
    that drift, and the number of tries."""
    blocks = _blocks(cells, turns)
    reach = math.ceil(turns * CLOCKS_APART * _CELLS)
    folded = {one: _sum(blocks, one / turns) for one in range(-reach, reach + 1)}
    drift = max(folded, key=lambda one: (max(folded[one]), -abs(one)))
    return drift / turns, folded[drift], _CELLS * len(folded)


def _blocks(cells: Sequence[int], turns: int) -> list[list[int]]:
    """The turns of each block that have an event, by the first cell of the window."""
    blocks = [[0] * _CELLS for _ in range(0, turns, _BLOCK)]
    hit = set(cells)
    hit |= {cell - 1 for cell in hit if cell}
    for cell in hit:
        blocks[cell // (_CELLS * _BLOCK)][cell % _CELLS] += 1
    return blocks


def _sum(blocks: Sequence[list[int]], drift: float) -> list[int]:
    """The turns of all blocks, each shifted back by the drift (cells a turn) up to it."""
    places = (_shift(number, drift) % _CELLS for number in range(len(blocks)))
    turned = (block[place:] + block[:place] for block, place in zip(blocks, places))
    return [sum(column) for column in zip(*turned)]


def _shift(block: int, drift: float) -> int:
    return round(block * _BLOCK * drift)


def _in_window(cells: Sequence[int], phase: int, drift: float) -> dict[int, int]:
    """The places of the events at a phase, each with the number of its turn."""
    moved = (cell - _shift(cell // (_CELLS * _BLOCK), drift) - phase for cell in cells)
    return {place: cell // _CELLS for place, cell in enumerate(moved) if cell % _CELLS < 2}


def _is_faster(folded: Sequence[int], phase: int) -> bool:
    """Whether all phases of a faster period stand out, not only this one."""
    level = (folded[phase] + sum(folded) / _CELLS) / 2

    def stands_out(part: float) -> bool:
        cell = round(phase + part * _CELLS)
        return max(folded[near % _CELLS] for near in (cell - 1, cell, cell + 1)) > level

    return any(all(stands_out(n / parts) for n in range(1, parts)) for parts in _PRIMES)


def _is_slower(hit: Iterable[int], expected: float) -> bool:
    """Whether most turns with events, chance excluded, are every second, third, ... turn."""
    for every in _PRIMES:
        counts = Counter(turn % every for turn in hit)
        above = sum(counts.values()) - expected
        if max(counts.values()) - expected / every > above * (1 + 1 / every) / 2:
            return True
    return False


def _unlikely(most: int, expected: float, turns: int) -> float:
    """-ln of an upper bound of the probability that a binomial variable reaches ``most``."""
    if most <= expected:
        return 0.0
    left = (turns - most) * math.log((turns - most) / (turns - expected)) if most < turns else 0.0
    return most * math.log(most / expected) + left
