# SPDX-License-Identifier: GPL-2.0-or-later
"""The ratio of two mean rates of counted events, and its interval.

Each arm's mean has its own limits: the values that are t standard errors from the counted mean. The
standard error is the one at the limit: events in bunches vary in proportion to their mean
(quasi-Poisson), or boots vary in proportion to theirs (negative binomial); the wider of both is
used. Few events show little of their bunching, so a minimum of it is assumed. The limits of the two
arms are combined after Zou and Donner (Stat Med 2008;27:1693, MOVER), on the logarithm.

``make proofs NAME=claims`` compares this with both models alone and with logarithms of counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lowlat.claim.stats import student
from lowlat.claim.stats.samples import ALPHA, HALF

if TYPE_CHECKING:
    from lowlat.claim.stats.samples import Array

#: The least variance over mean of counts is 1 + _BUNCHES / (events + _EVENTS): 4 if no event was
#: counted, near 1 from a hundred events on.
_BUNCHES = 12.0
_EVENTS = 4.0

#: The negative binomial's upper limit does not exist if boots vary as much as after a storm in one
#: of them; at least this much of its equation's leading term is kept.
_LEAST = 0.4


@dataclass(frozen=True)
class _Mean:
    """One arm: boots, events per boot, their variance over their mean, and the variance of boots
    beyond that of events, over the squared mean."""

    boots: int
    mean: float
    least: float
    bunches: float
    spread: float

    @property
    def centre(self) -> float:
        """The mean, or half an event in all boots together if none was counted."""
        return max(self.mean, HALF / self.boots)

    @property
    def variance(self) -> float:
        """The variance of the logarithm of the mean."""
        return self.bunches / (self.boots * self.centre)

    def limits(self, t: float) -> tuple[float, float]:
        """The lowest and the highest mean that is within t standard errors."""
        half = t * t * self.bunches / self.boots / 2
        root = math.sqrt(2 * self.mean * half + half * half)
        return self.mean + half - root, max(self.mean + half + root, self._negative_binomial(t))

    def _negative_binomial(self, t: float) -> float:
        left = max(1 - t * t * self.spread / self.boots, _LEAST)
        middle = 2 * self.mean + t * t * self.least / self.boots
        root = math.sqrt(max(middle * middle - 4 * left * self.mean * self.mean, 0.0))
        return (middle + root) / (2 * left)


def interval(
    rates: Sequence[Sequence[float]], seconds: Sequence[Sequence[float]]
) -> tuple[float, float]:
    """The 95 % interval of the logarithm of the ratio of two arms' mean rates, each given as a rate
    and the seconds for each boot; without an upper end if nothing was counted in the second arm,
    without a lower one if nothing was counted in the first."""
    import numpy as np

    arms = _means(rates, seconds)
    total = sum(arm.variance for arm in arms)
    freedom = total**2 / sum(arm.variance**2 / (arm.boots - 1) for arm in arms)
    t = float(student.upper(ALPHA / 2, freedom))
    own = centre(rates, seconds)
    with np.errstate(divide="ignore"):
        down, up = zip(*(np.abs(np.log(np.array(a.limits(t)) / a.centre)) for a in arms))
    return float(own - np.hypot(down[0], up[1])), float(own + np.hypot(up[0], down[1]))


def centre(rates: Sequence[Sequence[float]], seconds: Sequence[Sequence[float]]) -> float:
    """The logarithm of the ratio at the centre of that interval."""
    one, other = (arm.centre / _time(own) for arm, own in zip(_means(rates, seconds), seconds))
    return math.log(one) - math.log(other)


def _means(rates: Sequence[Sequence[float]], seconds: Sequence[Sequence[float]]) -> list[_Mean]:
    import numpy as np

    return [_mean(np.asarray(own) * _time(times)) for own, times in zip(rates, seconds)]


def _time(seconds: Sequence[float]) -> float:
    return sum(seconds) / len(seconds)


def _mean(counts: Array) -> _Mean:
    boots, mean, variance = len(counts), float(counts.mean()), float(counts.var(ddof=1))
    least = 1 + _BUNCHES / (float(counts.sum()) + _EVENTS)
    spread = max(variance - mean, 0.0) / max(mean, HALF / boots) ** 2
    bunches = max(least, variance / mean) if mean else least
    return _Mean(boots, mean, least, bunches, spread)
