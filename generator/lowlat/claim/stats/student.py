# SPDX-License-Identifier: GPL-2.0-or-later
"""Student's t distribution, and intervals by it. By scipy.special, as importing scipy.stats takes a
second."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, Optional

from lowlat.claim.stats.samples import ALPHA

if TYPE_CHECKING:
    from lowlat.claim.stats.samples import Array

#: The level of Welch's interval: with few values of unequal spread the degrees of freedom are an
#: estimate, and the nominal interval has 93.5 to 95 %.
_ALPHA_WELCH = 0.04

_ROUNDING = 1e-9


def upper(share: float, freedom: Any) -> Any:
    """The value that t exceeds with this probability; an array for an array of degrees of
    freedom."""
    from scipy import special

    return -special.stdtrit(freedom, share)


def power(share: float, freedom: int, shift: float) -> float:
    """The probability that t, with its centre moved by ``shift`` standard errors, exceeds what t
    itself exceeds with probability ``share``."""
    from scipy import special

    return 1 - float(special.nctdtr(freedom, shift, upper(share, freedom)))


def of_mean(values: Sequence[float]) -> Optional[tuple[float, float]]:
    """Student's interval of the mean; None for fewer than two values."""
    if len(values) < 2:
        return None
    half = upper(ALPHA / 2, len(values) - 1) * stdev(values) / math.sqrt(len(values))
    return fmean(values) - half, fmean(values) + half


def welch(before: Array, after: Array) -> tuple[float, float]:
    """Welch's interval of the difference of means, valid for arms with unequal spread."""
    parts = [float(arm.var(ddof=1)) / len(arm) for arm in (before, after)]
    both = max(sum(parts), _ROUNDING**2)
    lost = sum((own / both) ** 2 / (len(arm) - 1) for own, arm in zip(parts, (before, after)))
    quantile = float(upper(_ALPHA_WELCH / 2, 1 / max(lost, _ROUNDING)))
    middle, half = float(before.mean() - after.mean()), quantile * math.sqrt(sum(parts))
    return middle - half, middle + half
