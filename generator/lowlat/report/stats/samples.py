# SPDX-License-Identifier: GPL-2.0-or-later
"""What is compared of a figure: its value in each boot of two arms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
