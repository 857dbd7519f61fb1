# SPDX-License-Identifier: GPL-2.0-or-later
"""The exact permutation test over boots, and the interval that is the same test turned around.

A relabelling gives each boot's figures, all of them together, to one arm or the other. Under the
hypothesis that the arms do not differ every relabelling is as likely as the one that was measured.
What is compared is the mean logarithm; where some boot has a zero, the mean rank. All figures are
tested over the same relabellings, so that the adjusted p of many can be as small as that of one.

Needs numpy and scipy (the extra ``report``); see available().
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

#: A p up to this is a finding, and 1 minus it the confidence of an interval.
ALPHA = 0.05

#: Up to so many relabellings all are tried (8 boots against 8), beyond it so many random ones.
_MOST = 20_000
_RANDOM = 9_999
_SEED = 1

#: Relabelled values held at once, so that many CPUs and boots do not take many times the memory.
_AT_ONCE = 1 << 22

#: Sums in another order differ by rounding; this is far above that and below any difference.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Row:
    """One figure: a value for each boot of an arm, the boots in the same order in every row."""

    before: Sequence[float]
    after: Sequence[float]


@dataclass(frozen=True)
class Result:
    """What the test says of a row.

    ``p`` is two-sided, ``adjusted`` the same allowing for all rows tested beside it. ``ci95`` is
    the interval of the ratio before/after; None where some boot has a zero.
    """

    p: float
    adjusted: float
    ci95: Optional[tuple[float, float]]


def available() -> bool:
    """Whether numpy and scipy are installed."""
    return find_spec("numpy") is not None and find_spec("scipy") is not None


def infer(rows: Sequence[Row]) -> tuple[Result, ...]:
    """Test each row alone and, by the largest statistic, among all."""
    if not rows:
        return ()
    import numpy as np

    observed, p, null, kept = _permuted(rows)
    return tuple(
        Result(
            p=float(p[n]),
            # Where the arms have unlike numbers the two tails differ, and one row's p has both.
            adjusted=float(max(adjusted, p[n])) if len(rows) > 1 else float(p[n]),
            ci95=_interval(observed[n], null[:, n], kept) if _positive(row) else None,
        )
        for n, (row, adjusted) in enumerate(zip(rows, _largest(np.abs(observed), null)))
    )


def p_values(before: Array, after: Array, drawn: int = _RANDOM) -> Array:
    """The two-sided p of many rows of logarithms at once; the last axis is the boots. So many
    relabellings are drawn where not all are tried."""
    return _test(before, after, drawn).pvalue  # type: ignore[no-any-return]


def _permuted(rows: Sequence[Row]) -> tuple[Array, Array, Array, Array]:
    """Of each row its difference, its p and its difference in each relabelling; and of each
    relabelling how much of a true difference it would still show (1: all of it)."""
    import numpy as np

    scores = [_scores(row) for row in rows]
    # Ones before and zeros after are a true difference of 1.
    scores.append((np.ones(len(rows[0].before)), np.zeros(len(rows[0].after))))
    before, after = (np.stack(arm) for arm in zip(*scores))
    found = _test(before, after)
    null = found.null_distribution
    return found.statistic[:-1], found.pvalue[:-1], null[:, :-1], null[:, -1]


def _test(before: Array, after: Array, drawn: int = _RANDOM) -> Any:
    from scipy import stats

    boots = before.shape[-1], after.shape[-1]
    every = math.comb(sum(boots), boots[0]) <= _MOST
    return stats.permutation_test(
        (before, after),
        _difference,
        vectorized=True,
        n_resamples=_MOST if every else drawn,
        batch=max(1, _AT_ONCE // (before.size + after.size)),
        axis=-1,
        random_state=_SEED,
    )


def _difference(before: Array, after: Array, axis: int) -> Array:
    return before.mean(axis=axis) - after.mean(axis=axis)  # type: ignore[no-any-return]


def _positive(row: Row) -> bool:
    return min(*row.before, *row.after) > 0


def _scores(row: Row) -> tuple[Array, Array]:
    import numpy as np
    from scipy import stats

    values = np.array([*row.before, *row.after], dtype=float)
    scores = np.log(values) if _positive(row) else stats.rankdata(values)
    return scores[: len(row.before)], scores[len(row.before) :]


def _largest(observed: Array, null: Array) -> Array:
    """Westfall and Young's step-down maxT: the share of relabellings in which the largest of this
    row and of those that show less is at least as large as what was seen."""
    import numpy as np

    spread = null.std(axis=0)
    spread[spread < _ROUNDING] = np.inf
    ours = observed / spread
    order = np.argsort(ours)
    largest = null[:, order]
    np.abs(largest, out=largest)
    largest /= spread[order]
    np.maximum.accumulate(largest, axis=1, out=largest)
    reached = (largest >= ours[order] * (1 - _ROUNDING)).sum(axis=0)
    # Where relabellings are drawn at random, the one that was measured counts as one more.
    drawn = int(len(null) == _RANDOM)
    shares = (reached + drawn) / (len(null) + drawn)
    result: Array = np.empty_like(ours)
    result[order] = np.maximum.accumulate(shares[::-1])[::-1]
    return result


def _interval(observed: float, null: Array, kept: Array) -> Optional[tuple[float, float]]:
    """All ratios that the test, asked about them, would not reject.

    Were the true logarithm of the ratio t, relabelling would give null - kept * t, so each
    relabelling overtakes what was seen at one t of its own; the interval lies between two of them.
    """
    import numpy as np

    others = kept < 1 - _ROUNDING
    crossings = np.sort((observed - null[others]) / (1 - kept[others]))
    tail = math.floor(ALPHA / 2 * len(null))
    if tail < 1:
        return None
    return math.exp(crossings[tail - 1]), math.exp(crossings[-tail])
