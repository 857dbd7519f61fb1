# SPDX-License-Identifier: GPL-2.0-or-later
"""The samples of a figure: its value in each boot of two arms."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

#: A finding has at most this p; 1 minus it is the confidence of an interval.
ALPHA = 0.05

#: Added to a count before its logarithm is taken.
HALF = 0.5

#: Logarithms are rounded to this fraction, far below any difference. Their sums are then exact in
#: any order, so that ties are ties in every flip.
PARTS = 2.0**36


@dataclass(frozen=True)
class TwoSamples:
    """One figure: a value for each boot of an arm, the boots in the same order in every row. For
    counted events the values are rates, zero included, and ``seconds`` is the counting time of each
    boot. Of a value whose place is in ``below`` only an upper limit is known, of one in ``above``
    only a lower limit: the value that is given. ``events`` are the counts behind another figure,
    where they are so few that chance alone makes boots differ."""

    before: Sequence[float]
    after: Sequence[float]
    seconds: Optional[tuple[Sequence[float], Sequence[float]]] = None
    below: tuple[Collection[int], Collection[int]] = ((), ())
    above: tuple[Collection[int], Collection[int]] = ((), ())
    events: Optional[TwoSamples] = None

    def logs(self) -> tuple[Array, Array]:
        """The logarithm of each boot's value; of a count, that of half an event more."""
        import numpy as np

        arms = [np.asarray(arm, dtype=float) for arm in (self.before, self.after)]
        if self.seconds is not None:
            arms = [arm + HALF / np.asarray(own) for arm, own in zip(arms, self.seconds)]
        one, other = (np.rint(np.log(arm) * PARTS) / PARTS for arm in arms)
        return one, other

    def bounds(self) -> tuple[Array, Array]:
        """The least and the greatest difference of logarithms that each pair may have: open on the
        side of a value that is known from one side only."""
        import numpy as np

        one, other = self.logs()
        below, above = (
            [np.isin(np.arange(len(one)), [*places]) for places in arms]
            for arms in (self.below, self.above)
        )
        least = np.where(below[0] | above[1], -np.inf, one - other)
        return least, np.where(below[1] | above[0], np.inf, one - other)
