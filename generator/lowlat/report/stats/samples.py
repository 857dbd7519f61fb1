# SPDX-License-Identifier: GPL-2.0-or-later
"""What is compared of a figure: its value in each boot of two arms; and the boots' order in time.

A relabelling says nothing of time. A machine that warms up, or a neighbour that goes home, looks
like a change where one arm came later than the other. Arms that take turns share such changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

#: A finding has at most this p; 1 minus it is the confidence of an interval.
ALPHA = 0.05

#: A little less, for intervals by Student's t: of a handful of boots that spread unlike each other
#: the degrees of freedom are an estimate, and the nominal interval holds in 93.5 to 95 %.
ALPHA_T = 0.04

#: What is added to a count before its logarithm is taken.
HALF = 0.5

#: Logarithms are rounded to this part, far below any difference. Sums of such are exact in whatever
#: order, so that what ties does so in every relabelling.
PARTS = 2.0**36


@dataclass(frozen=True)
class TwoSamples:
    """One figure: a positive value for each boot of an arm, the boots in the same order in every
    row. Of a figure that counts events these are rates, zero included, and ``seconds`` tells for
    each boot how long it counted."""

    before: Sequence[float]
    after: Sequence[float]
    seconds: Optional[tuple[Sequence[float], Sequence[float]]] = None

    def logs(self) -> tuple[Array, Array]:
        """The logarithm of each boot's value; of a count that of half an event more."""
        import numpy as np

        arms = [np.asarray(arm, dtype=float) for arm in (self.before, self.after)]
        if self.seconds is not None:
            arms = [arm + HALF / np.asarray(own) for arm, own in zip(arms, self.seconds)]
        one, other = (np.rint(np.log(arm) * PARTS) / PARTS for arm in arms)
        return one, other


#: Arms take turns from so many stretches of boots of one arm on: three of each arm are the fewest
#: of which a step in the middle leaves an interval that holds.
TURNS = 6

#: Boots of a longer stretch resemble each other more than the stretches do.
_ALIKE = 2


@dataclass(frozen=True)
class Order:
    """Where in time each boot of the two arms came, from 0; those at the same time share one."""

    before: tuple[float, ...]
    after: tuple[float, ...]

    @cached_property
    def stretches(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """For each boot the stretch it lies in, counted from 0 in time. Boots that started together
        are taken for turns of both arms."""
        seen: Counter[tuple[int, float]] = Counter()
        boots = []
        for arm, places in enumerate((self.before, self.after)):
            for number, place in enumerate(places):
                boots.append((place, seen[arm, place], arm, number))
                seen[arm, place] += 1
        found: tuple[dict[int, int], dict[int, int]] = ({}, {})
        stretch, last = -1, -1
        for _, _, arm, number in sorted(boots):
            stretch += arm != last
            found[arm][number], last = stretch, arm
        one, other = (tuple(arm[n] for n in range(len(arm))) for arm in found)
        return one, other

    @property
    def count(self) -> int:
        """How many stretches there are."""
        return max(*self.stretches[0], *self.stretches[1]) + 1

    @property
    def takes_turns(self) -> bool:
        return self.count >= TURNS

    @property
    def long(self) -> bool:
        """Whether some stretch has so many boots that stretches, not boots, are what repeats."""
        return max(Counter([*self.stretches[0], *self.stretches[1]]).values()) > _ALIKE
