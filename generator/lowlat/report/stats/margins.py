# SPDX-License-Identifier: GPL-2.0-or-later
"""Intervals of the difference of two arms' mean logarithms that allow for what relabelling ignores:
arms with unequal spread, a trend, and boots that resemble their neighbours.

Each function takes the logarithms of many figures, a row each, and returns the middle and half the
length of each row's 95 % interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Optional

from lowlat.report.stats import student
from lowlat.report.stats.samples import ALPHA, ALPHA_T

if TYPE_CHECKING:
    from lowlat.report.stats.samples import Array, Order

_ROUNDING = 1e-9


def margins(before: Array, after: Array, order: Order) -> list[tuple[Array, Array]]:
    """All intervals that this order of the boots requires."""
    intervals = [welch(before, after), _trend(before, after, order)]
    if order.long:
        stretches = (_means(arm, own) for arm, own in zip((before, after), order.stretches))
        intervals.append(welch(*stretches))
    return intervals


def of_mean(values: Sequence[float]) -> Optional[tuple[float, float]]:
    """Student's interval of the mean; None for fewer than two values."""
    if len(values) < 2:
        return None
    half = student.upper(ALPHA / 2, len(values) - 1) * stdev(values) / math.sqrt(len(values))
    return fmean(values) - half, fmean(values) + half


def welch(before: Array, after: Array) -> tuple[Array, Array]:
    """Welch's interval, valid for arms with unequal spread."""
    import numpy as np

    parts = [arm.var(axis=-1, ddof=1) / arm.shape[-1] for arm in (before, after)]
    both = np.maximum(parts[0] + parts[1], np.finfo(float).tiny)
    shares = [part / both for part in parts]
    lost = sum(s**2 / (arm.shape[-1] - 1) for s, arm in zip(shares, (before, after)))
    quantile = student.upper(ALPHA_T / 2, 1 / np.maximum(lost, _ROUNDING))
    return before.mean(axis=-1) - after.mean(axis=-1), quantile * np.sqrt(parts[0] + parts[1])


def _trend(before: Array, after: Array, order: Order) -> tuple[Array, Array]:
    """The difference next to a linear trend over time, both by least squares."""
    import numpy as np

    values = np.concatenate([before, after], axis=-1).T
    boots = len(values)
    arm = np.repeat([1.0, 0.0], [before.shape[-1], after.shape[-1]])
    known = np.stack([arm, np.ones(boots), np.array([*order.before, *order.after])], axis=1)
    inverse = np.linalg.pinv(known.T @ known)
    fit = inverse @ known.T @ values
    rest = ((values - known @ fit) ** 2).sum(axis=0) / (boots - known.shape[1])
    quantile = student.upper(ALPHA_T / 2, boots - known.shape[1])
    return fit[0], quantile * np.sqrt(rest * inverse[0, 0])


def _means(arm: Array, stretches: tuple[int, ...]) -> Array:
    """The mean of each stretch of boots, in place of the boots."""
    import numpy as np

    own = np.array(stretches)
    result: Array = np.stack([arm[:, own == n].mean(axis=-1) for n in np.unique(own)], axis=-1)
    return result
