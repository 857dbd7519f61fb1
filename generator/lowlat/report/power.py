# SPDX-License-Identifier: GPL-2.0-or-later
"""How often the report finds a change in campaigns of boots, where there is none and where one is
planted; and how many boots it takes. Needs numpy and scipy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lowlat.report.campaign import Nested, Shape, Variance, orders, places, simulate
from lowlat.report.endpoint import ENOUGH_BOOTS
from lowlat.report.stats import permutation as inference
from lowlat.report.stats.drift import Order, drift

if TYPE_CHECKING:
    import numpy as np

    from lowlat.report.campaign import Places
    from lowlat.report.stats.permutation import Array

#: The change that is planted: the figure falls by a fifth; and the chance of finding it asked for.
PLANTED = 0.8
POWER = 0.8

#: Simulated campaigns for each number of boots that is tried, the most boots that are, and
#: relabellings of each campaign.
_TRIED = 300
MOST_BOOTS = 100
_RELABELLINGS = 999

#: Rows tested at once: memory grows with them and the relabellings.
_AT_ONCE = 200

SEED = 20


@dataclass(frozen=True)
class Rates:
    """Shares of campaigns: with a small p although nothing changed; of them those that the report
    calls a finding; and those in which it finds the planted change."""

    significant: float
    false: float
    found: float


def arms(values: Any) -> tuple[Any, Any]:
    """The two arms, the boots on the last axis."""
    middle = values.shape[-1] // 2
    return values[..., :middle], values[..., middle:]


def stands(before: Array, after: Array, where: Places) -> bool:
    """Whether a difference with a small p is a finding of the report: boots may spread unlike each
    other in the arms, and a trend may explain it."""
    import numpy as np

    size = abs(float(before.mean() - after.mean()))
    layout = Order(*(tuple(half.tolist()) for half in arms(where)))
    found = drift(np.exp(before).tolist(), np.exp(after).tolist(), layout)
    return bool(size > inference.welch(before, after)) and not found.explains(size, layout)


def rates(levels: Array, order: Sequence[int], draw: np.random.Generator) -> Rates:
    """Of campaigns, a row of logarithms each, with the boots shared out in this order."""
    where = places(order, (len(levels), levels.shape[1]), draw)
    nothing = _significant(levels, where, 1.0)
    return Rates(
        significant=len(nothing) / len(levels),
        false=_standing(levels, where, 1.0, nothing) / len(levels),
        found=_found(levels, where) / len(levels),
    )


def _found(levels: Array, where: Places) -> int:
    """In how many campaigns the report finds the planted change."""
    return _standing(levels, where, PLANTED, _significant(levels, where, PLANTED))


def _significant(levels: Array, where: Places, planted: float) -> list[int]:
    """The campaigns with a small p, where the figure is so many times itself after."""
    import numpy as np

    before, after = arms(np.take_along_axis(levels, where, axis=1))
    after = after + math.log(planted)
    found: list[int] = []
    for start in range(0, len(before), _AT_ONCE):
        rows = slice(start, start + _AT_ONCE)
        p = inference.p_values(before[rows], after[rows], _RELABELLINGS)
        found += (start + np.flatnonzero(p <= inference.ALPHA)).tolist()
    return found


def _standing(levels: Array, where: Places, planted: float, small: Sequence[int]) -> int:
    count = 0
    for number in small:
        before, after = arms(levels[number][where[number]])
        count += stands(before, after + math.log(planted), where[number])
    return count


def boots_needed(variance: Variance, shape: Shape) -> int:
    """The boots an arm from which the planted change is found often enough, taken in turn.

    Tried by simulation, from half the rule of thumb for normal values on; the rule itself where
    that is more boots than are tried. A longer campaign drifts no further than a short one.
    """
    import numpy as np
    from scipy import stats

    draw = np.random.default_rng(SEED)
    quantiles = stats.norm.isf(inference.ALPHA / 2) + stats.norm.isf(1 - POWER)
    spread = np.std(simulate(variance, shape, _TRIED, draw), axis=1, ddof=1).mean()
    guess = 2 * (quantiles * spread / math.log(PLANTED)) ** 2
    boots = max(ENOUGH_BOOTS, int(guess / 2))
    while boots <= MOST_BOOTS:
        larger = Shape(boots, shape.runs, shape.blocks)
        slower = replace(variance, drift=variance.drift * shape.boots / boots)
        levels = simulate(slower, larger, _TRIED, draw)
        where = places(orders(2 * boots)["in turn (ABAB)"], (_TRIED, 2 * boots), draw)
        if _found(levels, where) >= POWER * _TRIED:
            return boots
        boots += max(1, boots // 10)
    return max(boots, math.ceil(float(guess)))


def quiet() -> float:
    """The standard deviation between boots at which the fewest of them find the planted change, by
    the t test."""
    from scipy import optimize, stats

    free = 2 * ENOUGH_BOOTS - 2
    least = stats.t.isf(inference.ALPHA / 2, free)

    def lacking(effect: float) -> float:
        return float(stats.nct.sf(least, free, effect * math.sqrt(ENOUGH_BOOTS / 2)) - POWER)

    return -math.log(PLANTED) / float(optimize.brentq(lacking, 0.1, 10))


def shape_of(campaign: Nested, boots: int = ENOUGH_BOOTS) -> Shape:
    """Of a campaign of so many boots an arm with the runs and blocks of this one."""
    return Shape(boots, len(campaign[0]), len(campaign[0][0]))
