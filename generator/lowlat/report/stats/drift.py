# SPDX-License-Identifier: GPL-2.0-or-later
"""The order of the boots in time: whether the arms took turns, and whether a figure drifted.

A relabelling says nothing of time. A machine that warms up, or a neighbour that goes home, looks
like a change where one arm came later than the other. There only a change counts that is larger
than any trend that the boots leave possible.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lowlat.report.stats.permutation import ALPHA

#: Arms take turns from so many stretches of boots of one arm on; of random orders of 5 and 5 boots
#: one in 25 has fewer. Of two boots an arm there are no more than three in an order that evens out
#: a trend.
_TURNS = 4


@dataclass(frozen=True)
class Order:
    """Where in time each boot of the two arms came, from 0; those at the same time share one."""

    before: tuple[float, ...]
    after: tuple[float, ...]

    @property
    def takes_turns(self) -> bool:
        """Whether the arms are mixed in time better than one after, or in the middle of, the other.
        Boots that started together are taken for a turn of each arm."""
        arms = [
            {arm for arm, places in enumerate((self.before, self.after)) if place in places}
            for place in sorted({*self.before, *self.after})
        ]
        goes_on = sum(one == other and len(one) == 1 for one, other in zip(arms, arms[1:]))
        fewest = min(len(self.before), len(self.after))
        return sum(map(len, arms)) - goes_on >= min(_TURNS, fewest + 1)

    @property
    def apart(self) -> float:
        """How many boots lie between the middles of the arms; where they did not take turns, as
        many as would if one had come after the other: a trend need not be a straight line."""
        count = len(self.before), len(self.after)
        if not self.takes_turns:
            return sum(count) / 2
        return abs(sum(self.after) / count[1] - sum(self.before) / count[0])


@dataclass(frozen=True)
class Drift:
    """A trend within the arms: a boot changes the logarithm by ``slope``, give or take ``margin``
    (95 %), infinite where the boots cannot tell."""

    slope: float
    margin: float

    @property
    def clear(self) -> bool:
        return abs(self.slope) > self.margin

    @property
    def at_most(self) -> float:
        """The steepest trend that the boots leave possible, without its direction."""
        return abs(self.slope) + self.margin

    @property
    def known(self) -> bool:
        return math.isfinite(self.margin)

    def explains(self, size: float, order: Order) -> bool:
        """Whether the arms could differ this much, in the logarithm and without its direction, by
        the drift alone, given their order."""
        if not self.known:
            return not order.takes_turns
        return size <= self.at_most * order.apart


def drift(before: Sequence[float], after: Sequence[float], order: Order) -> Drift:
    """The common trend of both arms, each around its own mean; of one of them where the other has a
    zero in some boot.

    Needs scipy and at least 4 boots an arm.
    """
    from scipy import stats

    arms = ((before, order.before), (after, order.after))
    told = [(values, times) for values, times in arms if min(values) > 0]
    values = [value for arm, _ in told for value in _centred([*map(math.log, arm)])]
    places = [place for _, times in told for place in _centred(times)]
    if not any(places):
        return Drift(0.0, math.inf)
    line = stats.linregress(places, values)
    # The means and a slope were fitted, where linregress counts one mean.
    free = len(values) - len(told) - 1
    error = line.stderr * math.sqrt((len(values) - 2) / free)
    return Drift(float(line.slope), float(stats.t.ppf(1 - ALPHA / 2, free) * error))


def _centred(values: Sequence[float]) -> list[float]:
    middle = sum(values) / len(values)
    return [value - middle for value in values]
