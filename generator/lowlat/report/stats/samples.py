# SPDX-License-Identifier: GPL-2.0-or-later
"""The samples of a figure: its value in each boot of two arms; and the boots' order in time.

A relabelling ignores time. A machine that warms up, or a neighbour that stops its work, looks like
a change if one arm ran after the other. Arms that take turns share such changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

#: A finding has at most this p; 1 minus it is the confidence of an interval.
ALPHA = 0.05

#: A little less, for Student's t intervals: with few boots of unequal spread the degrees of freedom
#: are an estimate, and the nominal interval has 93.5 to 95 %.
ALPHA_T = 0.04

#: Added to a count before its logarithm is taken.
HALF = 0.5

#: Logarithms are rounded to this fraction, far below any difference. Their sums are then exact in
#: any order, so that ties are ties in every relabelling.
PARTS = 2.0**36


@dataclass(frozen=True)
class TwoSamples:
    """One figure: a value for each boot of an arm, the boots in the same order in every row. For
    counted events the values are rates, zero included, and ``seconds`` is the counting time of each
    boot. A value below ``floor`` is only known to lie below it; one whose place is in ``above`` is
    only known to be larger."""

    before: Sequence[float]
    after: Sequence[float]
    seconds: Optional[tuple[Sequence[float], Sequence[float]]] = None
    floor: float = 0.0
    above: tuple[Collection[int], Collection[int]] = ((), ())

    def logs(self) -> tuple[Array, Array]:
        """The logarithm of each boot's value, of one below the floor that of the floor; of a count,
        that of half an event more."""
        import numpy as np

        arms = [np.asarray(arm, dtype=float) for arm in (self.before, self.after)]
        if self.seconds is not None:
            arms = [arm + HALF / np.asarray(own) for arm, own in zip(arms, self.seconds)]
        one, other = (np.rint(np.log(np.maximum(a, self.floor)) * PARTS) / PARTS for a in arms)
        return one, other

    def bounds(self) -> tuple[Array, Array]:
        """The least and the greatest difference of logarithms that each pair may have: open on the
        side of a value that is known from one side only."""
        import numpy as np

        one, other = self.logs()
        below = [np.asarray(arm) < self.floor for arm in (self.before, self.after)]
        above = [np.isin(np.arange(len(one)), [*places]) for places in self.above]
        least = np.where(below[0] | above[1], -np.inf, one - other)
        return least, np.where(below[1] | above[0], np.inf, one - other)


#: Arms take turns from so many stretches on: with fewer than three stretches of each arm, a step in
#: the middle makes the interval invalid.
TURNS = 6

#: With more boots per stretch, boots resemble each other more than stretches do.
_ALIKE = 2


@dataclass(frozen=True)
class Order:
    """The place in time of each boot of the two arms, from 0; simultaneous boots share one."""

    before: tuple[float, ...]
    after: tuple[float, ...]

    @cached_property
    def stretches(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """For each boot its stretch, counted from 0 in time. Boots that started together count as
        turns of both arms."""
        boots = sorted(
            (place, places[:number].count(place), arm, number)
            for arm, places in enumerate((self.before, self.after))
            for number, place in enumerate(places)
        )
        stretches = ([0] * len(self.before), [0] * len(self.after))
        for stretch, (arm, own) in enumerate(groupby(boots, key=lambda boot: boot[2])):
            for *_, number in own:
                stretches[arm][number] = stretch
        return tuple(stretches[0]), tuple(stretches[1])

    @property
    def count(self) -> int:
        """The number of stretches."""
        return max(*self.stretches[0], *self.stretches[1]) + 1

    @property
    def takes_turns(self) -> bool:
        return self.count >= TURNS

    @property
    def long(self) -> bool:
        """Whether a stretch has so many boots that stretches, not boots, are the replicates."""
        return max(Counter([*self.stretches[0], *self.stretches[1]]).values()) > _ALIKE
