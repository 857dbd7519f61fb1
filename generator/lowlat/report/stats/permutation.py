# SPDX-License-Identifier: GPL-2.0-or-later
"""The exact permutation test over boots, and the interval that is this test turned around.

A relabelling gives each boot's figures, all of them together, to one arm or the other. Under the
hypothesis that the arms do not differ every relabelling is as likely as the one that was measured.
What is compared is the mean logarithm; where some boot has a zero, the mean rank. All figures are
tested over the same relabellings, so that the adjusted p of many can be as small as that of one.

The test is exact where the arms differ in nothing, the interval where they differ in level only. Of
arms that spread unlike each other relabelling knows too little, the less the more their numbers
differ, so the interval is never narrower than Welch's.

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

#: Below this number of boots an arm no test can reach 5 % (at 3 against 3 its smallest p is 0.1).
ENOUGH_BOOTS = 5

#: A p up to this is a finding, and 1 minus it the confidence of an interval.
ALPHA = 0.05

#: Up to so many relabellings all are tried (8 boots against 8), beyond it so many random ones.
_MOST = 20_000
_RANDOM = 9_999
_SEED = 1

#: Relabelled values held at once, so that many CPUs and boots do not take many times the memory.
_AT_ONCE = 1 << 22

#: Logarithms are rounded to this part, far below any difference. Sums of such are exact in whatever
#: order, so that what ties does so in every relabelling.
_PARTS = 2.0**36

_ROUNDING = 1e-9


@dataclass(frozen=True)
class TwoSamples:
    """One figure: a value for each boot of an arm, the boots in the same order in every row."""

    before: Sequence[float]
    after: Sequence[float]


@dataclass(frozen=True)
class Result:
    """What the test says of a row.

    ``p`` is two-sided, ``adjusted`` the same allowing for all rows tested beside it. ``ci95`` is
    the interval of the ratio before/after; None where some boot has a zero. ``fell`` is whether
    what was compared (mean logarithm or rank) is smaller after.
    """

    p: float
    adjusted: float
    ci95: Optional[tuple[float, float]]
    fell: bool


def available() -> bool:
    """Whether numpy and scipy are installed."""
    return find_spec("numpy") is not None and find_spec("scipy") is not None


def infer(rows: Sequence[TwoSamples]) -> tuple[Result, ...]:
    """Test each row alone and, by the largest statistic, among all."""
    if not rows:
        return ()
    import numpy as np

    scores = [_scores(row) for row in rows]
    observed, p, null, kept = _permuted(scores)
    margin = _welch(*(np.stack(arm) for arm in zip(*scores)))
    return tuple(
        Result(
            p=float(p[n]),
            # Where the arms have unlike numbers the two tails differ, and one row's p has both.
            adjusted=float(max(adjusted, p[n])) if len(rows) > 1 else float(p[n]),
            ci95=_interval(observed[n], null[:, n], kept, margin[n]) if _positive(row) else None,
            fell=bool(observed[n] > 0),
        )
        for n, (row, adjusted) in enumerate(zip(rows, _largest(np.abs(observed), null)))
    )


def smallest_p(boots: tuple[int, int]) -> float:
    """No test of so many boots has a smaller p."""
    ways = math.comb(sum(boots), boots[0])
    return 2 / (ways if ways <= _MOST else _RANDOM + 1)


def _welch(before: Array, after: Array) -> Array:
    """Half the length of Welch's 95 % interval of the difference, for many rows of logarithms at
    once; it holds for arms that spread unlike each other."""
    import numpy as np
    from scipy import stats

    parts = [arm.var(axis=-1, ddof=1) / arm.shape[-1] for arm in (before, after)]
    both = np.maximum(parts[0] + parts[1], np.finfo(float).tiny)
    shares = [part / both for part in parts]
    lost = sum(s**2 / (arm.shape[-1] - 1) for s, arm in zip(shares, (before, after)))
    quantile = stats.t.isf(ALPHA / 2, 1 / np.maximum(lost, _ROUNDING))
    return quantile * np.sqrt(parts[0] + parts[1])  # type: ignore[no-any-return]


def _permuted(scores: Sequence[tuple[Array, Array]]) -> tuple[Array, Array, Array, Array]:
    """Of each row its difference, its p and its difference in each relabelling; and of each
    relabelling how much of a true difference it would still show (1: all of it)."""
    import numpy as np

    # Ones before and zeros after are a true difference of 1.
    level = (np.ones_like(scores[0][0]), np.zeros_like(scores[0][1]))
    before, after = (np.stack(arm) for arm in zip(*scores, level))
    found = _test(before, after)
    null = found.null_distribution
    return found.statistic[:-1], found.pvalue[:-1], null[:, :-1], null[:, -1]


def _test(before: Array, after: Array) -> Any:
    from scipy import stats

    boots = before.shape[-1], after.shape[-1]
    every = math.comb(sum(boots), boots[0]) <= _MOST
    return stats.permutation_test(
        (before, after),
        _difference,
        vectorized=True,
        n_resamples=_MOST if every else _RANDOM,
        batch=max(1, _AT_ONCE // (before.size + after.size)),
        axis=-1,
        random_state=_SEED,
    )


def _difference(before: Array, after: Array, axis: int) -> Array:
    return before.mean(axis=axis) - after.mean(axis=axis)  # type: ignore[no-any-return]


def _positive(row: TwoSamples) -> bool:
    return min(*row.before, *row.after) > 0


def _scores(row: TwoSamples) -> tuple[Array, Array]:
    import numpy as np
    from scipy import stats

    values = np.array([*row.before, *row.after], dtype=float)
    scores = stats.rankdata(values)
    if _positive(row):
        scores = np.rint(np.log(values) * _PARTS) / _PARTS
    return scores[: len(row.before)], scores[len(row.before) :]


def _largest(observed: Array, null: Array) -> Array:
    """Westfall and Young's step-down maxT: the share of relabellings in which the largest of this
    row and of those that show less is at least as large as what was seen."""
    import numpy as np

    spread = null.std(axis=0)
    spread[spread == 0] = np.inf
    ours = observed / spread
    order = np.argsort(ours)
    largest = null[:, order]
    np.abs(largest, out=largest)
    largest /= spread[order]
    np.maximum.accumulate(largest, axis=1, out=largest)
    reached = (largest >= ours[order] * (1 - _ROUNDING)).sum(axis=0)
    shares = (reached + _drawn(null)) / (len(null) + _drawn(null))
    result: Array = np.empty_like(ours)
    result[order] = np.maximum.accumulate(shares[::-1])[::-1]
    return result


def _drawn(null: Array) -> int:
    """Where relabellings are drawn at random, the one that was measured counts as one more."""
    return int(len(null) == _RANDOM)


def _interval(
    observed: float, null: Array, kept: Array, margin: float
) -> Optional[tuple[float, float]]:
    """All ratios that the test, asked about them, would not reject, and at least those within the
    margin.

    Were the true logarithm of the ratio t, relabelling would give null - kept * t, so each
    relabelling overtakes what was seen at one t of its own; the interval lies between two of them.
    """
    import numpy as np

    others = kept < 1 - _ROUNDING
    crossings = np.sort((observed - null[others]) / (1 - kept[others]))
    tail = math.floor(ALPHA / 2 * (len(null) + _drawn(null)))
    if tail < 1:
        return None
    margin = max(margin, 1 / _PARTS)
    low, high = (
        min(crossings[tail - 1], observed - margin),
        max(crossings[-tail], observed + margin),
    )
    return math.exp(low), math.exp(high)
