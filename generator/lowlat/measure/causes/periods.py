# SPDX-License-Identifier: GPL-2.0-or-later
"""Periods in the times of events, from a millisecond to a tenth of the span.

Distances that are frequent between events, of up to _LAGS events, propose periods. The times are
folded at each. A period is found if events come at one phase in more turns than chance explains: an
upper bound (Chernoff) of the binomial probability, times the number of phases and periods that
could have been tried. A burst counts once a turn.
"""

import math
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Optional

#: The probability that events without a period show one.
FALSE_ALARM_RATE = 0.001

#: The shortest period in seconds; the longest is this part of the span.
SHORTEST_S, LONGEST_SHARE = 0.001, 0.1

#: Distances are sorted into classes of 1 %; so many of them are compared with one.
_CLASS, _AROUND = math.log(1.01), 12

#: Of each event, the distances to so many later ones; all of them together.
_LAGS, _DISTANCES = 32, 200_000

#: The most proposals folded.
_PROPOSALS = 12

#: The events from which the length of a period is read more exactly.
_ANCHORS = 400

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
    """A period: its exact frequency, its events per second, ``power`` (-ln of the probability by
    chance, corrected for all tries), and the places of its events."""

    frequency_hz: float
    rate_per_s: float
    power: float
    members: tuple[int, ...]


def find(times: Sequence[float], span_s: float) -> list[Period]:
    """The periods in events at these times (s, in order, from 0 on) within ``span_s`` seconds."""
    found, taken = list[Period](), set[int]()
    for one in sorted(_folds(times, span_s), key=lambda each: -each.power):
        # Two periods together fold into others too.
        if 2 * len(taken.intersection(one.members)) < len(one.members):
            found.append(one)
            taken.update(one.members)
    return found


def _folds(times: Sequence[float], span_s: float) -> Iterator[Period]:
    """The proposals at which events stand out."""
    exact = {_exactly(times, seconds) for seconds in _proposals(times, span_s)}
    for seconds in sorted(exact):
        one = _fold(times, span_s, seconds)
        if one is not None and one.power > -math.log(FALSE_ALARM_RATE):
            yield one


def _proposals(times: Sequence[float], span_s: float) -> list[float]:
    """The lengths in s that are most frequent between events."""
    lags = max(min(_LAGS, _DISTANCES // max(len(times), 1)), 1)
    most = span_s * LONGEST_SHARE / SHORTEST_S * 1.01
    classes: Counter[int] = Counter()
    for lag in range(1, min(lags, len(times) - 1) + 1):
        apart = (later - time for time, later in zip(times, times[lag:]))
        parts = (distance / SHORTEST_S for distance in apart)
        classes.update(round(math.log(part) / _CLASS) for part in parts if 0.98 <= part <= most)
    # A period may lie between two classes.
    pairs = {low: classes[low] + classes[low + 1] for one in classes for low in (one - 1, one)}

    def stands_out(low: int) -> float:
        near = sum(classes[low + n] for n in range(-_AROUND, _AROUND + 2) if n not in (0, 1))
        usual = near / _AROUND
        return (pairs[low] - usual) / math.sqrt(usual + 1)

    best = sorted(pairs, key=stands_out, reverse=True)[:_PROPOSALS]
    lengths = [SHORTEST_S * math.exp((low + 0.5) * _CLASS) for low in best]
    if len(times) > 1:
        # The shorter a period, the more of a class its jitter is.
        lengths.append(median(later - time for time, later in zip(times, times[1:])))
    return [one for one in lengths if one >= 0.98 * SHORTEST_S]


def _exactly(times: Sequence[float], seconds: float) -> float:
    """The length of a period near this one, read over more and more turns."""
    step = max(len(times) // _ANCHORS, 1)
    turns, near = 1, 0.03
    while turns * seconds * 2 < times[-1] - times[0]:
        lengths = []
        for time in times[::step]:
            wanted = time + turns * seconds
            at = bisect_left(times, wanted)
            later = min(times[max(at - 1, 0) : at + 1], key=lambda one: abs(one - wanted))
            if abs(later - wanted) < near * seconds:
                lengths.append((later - time) / turns)
        if len(lengths) < 3:
            break
        seconds, turns = median(lengths), 2 * turns
    return seconds


def _fold(times: Sequence[float], span_s: float, seconds: float) -> Optional[Period]:
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
    # Periods are told apart if they drift by a cell over all turns.
    periods = turns * _CELLS * math.log2(span_s * LONGEST_SHARE / SHORTEST_S + 2)
    return Period(
        frequency_hz=(1 - drift / _CELLS) / seconds,
        rate_per_s=most / turns / seconds,
        power=_unlikely(most, expected, turns) - math.log(tries * periods),
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
