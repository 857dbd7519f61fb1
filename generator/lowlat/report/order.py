# SPDX-License-Identifier: GPL-2.0-or-later
"""The order of the boots in time: whether the arms took turns, and whether a figure drifted.

A relabelling says nothing of time. A machine that warms up, or a neighbour that goes home, looks
like a change where all boots of one arm came first. There only a change counts that is larger than
any trend that the boots leave possible.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

from lowlat.report.arm import Arm
from lowlat.report.inference import ALPHA


@dataclass(frozen=True)
class Order:
    """Where in time each boot of the two arms came, from 0; those at the same time share one."""

    before: tuple[float, ...]
    after: tuple[float, ...]

    @property
    def takes_turns(self) -> bool:
        return min(self.before) < max(self.after) and min(self.after) < max(self.before)

    @property
    def apart(self) -> float:
        """How many boots later the middle of one arm came than that of the other."""
        return sum(self.after) / len(self.after) - sum(self.before) / len(self.before)


@dataclass(frozen=True)
class Drift:
    """A trend within the arms: a boot changes the logarithm by ``slope``, give or take ``margin``
    (95 %)."""

    slope: float
    margin: float

    @property
    def clear(self) -> bool:
        return abs(self.slope) > self.margin

    @property
    def at_most(self) -> float:
        """The steepest trend that the boots leave possible, without its direction."""
        return abs(self.slope) + self.margin

    def explains(self, ratio: float, order: Order) -> bool:
        """Whether the arms could differ this much by the drift alone, given their order."""
        possible = self.clear or not order.takes_turns
        return possible and abs(math.log(ratio)) <= self.at_most * abs(order.apart)


def order_of(before: Arm, after: Arm) -> Optional[Order]:
    """The boots by the start of their first run; None where it is unknown or the same for all."""
    times = [boot.started for boot in (*before.boots, *after.boots)]
    known = sorted(time for time in times if time is not None)
    if len(known) < len(times) or known[0] == known[-1]:
        return None
    places = [known.index(time) + (known.count(time) - 1) / 2 for time in times if time is not None]
    count = len(before.boots)
    return Order(tuple(places[:count]), tuple(places[count:]))


def drift(before: Sequence[float], after: Sequence[float], order: Order) -> Optional[Drift]:
    """The common trend of both arms, each around its own mean; None where some boot has a zero.

    Needs scipy and at least 4 boots in all.
    """
    from scipy import stats

    if min(*before, *after) <= 0:
        return None
    places = [*_centred(order.before), *_centred(order.after)]
    values = [*_centred([*map(math.log, before)]), *_centred([*map(math.log, after)])]
    line = stats.linregress(places, values)
    # Two means and a slope were fitted, where linregress counts one mean.
    free = len(values) - 3
    error = line.stderr * math.sqrt((free + 1) / free)
    return Drift(float(line.slope), float(stats.t.ppf(1 - ALPHA / 2, free) * error))


def _centred(values: Sequence[float]) -> list[float]:
    middle = sum(values) / len(values)
    return [value - middle for value in values]
