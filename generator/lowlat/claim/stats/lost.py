# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots that left no run, counted against a claim: each with the worst value that any boot of the
campaign shows.

Against a fall the boot of the second arm has the greatest value and that of the first the least,
against a rise the other way round. So each pair that lacks a boot speaks against the claim or is a
tie, and a claim that stands with them all stands whatever these boots would have shown within the
range of the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Optional

from lowlat.claim.stats.flips import Result
from lowlat.claim.stats.samples import HALF, TwoSamples


@dataclass(frozen=True)
class LoneBoots:
    """The boots of either arm whose partner left no run, and the number of pairs without any."""

    rows: TwoSamples
    neither: int


@dataclass(frozen=True)
class _Boot:
    value: float
    seconds: Optional[float]
    below: bool
    above: bool
    events: Optional[_Boot]

    @property
    def log(self) -> float:
        value = self.value + (HALF / self.seconds if self.seconds else 0.0)
        return math.log(value) if value > 0 else -math.inf


def counted_against(row: TwoSamples, lone: LoneBoots) -> tuple[TwoSamples, TwoSamples]:
    """The pairs of a row, then those that lack a boot: of the first arm's lone boots, of the second
    arm's, and without any. First as they count against a fall, then against a rise."""
    whole, single = _boots(row), _boots(lone.rows)
    least, most = _ends([*chain(*whole, *single)])
    return (
        _with_stand_ins(whole, single, lone.neither, (least, most)),
        _with_stand_ins(whole, single, lone.neither, (most, least)),
    )


def lost_pairs(rows: Sequence[TwoSamples], pairs: int) -> tuple[TwoSamples, TwoSamples]:
    """So many pairs of which nothing is known: as far apart as the boots of the row that spreads
    most. First as they count against a fall, then against a rise."""
    ends = [_ends([*chain(*_boots(row))]) for row in rows]
    least, most = max(ends, key=lambda end: end[1].log - end[0].log)
    none: _Arms = [], []
    return (
        _with_stand_ins(none, none, pairs, (least, most)),
        _with_stand_ins(none, none, pairs, (most, least)),
    )


def weakest_result(results: Sequence[Result]) -> Result:
    """What all of these results allow to be said: the largest p, and the union of the intervals."""
    ends = [one.ci95 for one in results]
    return Result(
        p=max(one.p for one in results),
        adjusted=max(one.adjusted for one in results),
        ci95=(min(low for low, _ in ends), max(high for _, high in ends)),
    )


_Arms = tuple[list[_Boot], list[_Boot]]


def _ends(boots: Sequence[_Boot]) -> tuple[_Boot, _Boot]:
    """The least and the greatest."""
    least = min(boots, key=lambda boot: (boot.log, not boot.below))
    return least, max(boots, key=lambda boot: (boot.log, boot.above))


def _with_stand_ins(
    whole: _Arms, single: _Arms, neither: int, stands_in: tuple[_Boot, _Boot]
) -> TwoSamples:
    first, second = stands_in
    one = [*whole[0], *single[0], *[first] * (len(single[1]) + neither)]
    other = [*whole[1], *[second] * len(single[0]), *single[1], *[second] * neither]
    return _samples(one, other)


def _boots(row: TwoSamples) -> _Arms:
    events = _boots(row.events) if row.events else None
    one, other = (
        [
            _Boot(
                value,
                row.seconds[arm][place] if row.seconds else None,
                place in row.below[arm],
                place in row.above[arm],
                events[arm][place] if events else None,
            )
            for place, value in enumerate(values)
        ]
        for arm, values in enumerate((row.before, row.after))
    )
    return one, other


def _samples(one: Sequence[_Boot], other: Sequence[_Boot]) -> TwoSamples:
    arms = one, other
    below = [{n for n, boot in enumerate(arm) if boot.below} for arm in arms]
    above = [{n for n, boot in enumerate(arm) if boot.above} for arm in arms]
    timed = [[boot.seconds for boot in arm if boot.seconds is not None] for arm in arms]
    behind = [[boot.events for boot in arm if boot.events] for arm in arms]
    return TwoSamples(
        [boot.value for boot in one],
        [boot.value for boot in other],
        (timed[0], timed[1]) if timed[0] else None,
        (below[0], below[1]),
        (above[0], above[1]),
        _samples(behind[0], behind[1]) if behind[0] else None,
    )
