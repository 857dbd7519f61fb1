# SPDX-License-Identifier: GPL-2.0-or-later
"""The exact permutation test over boots, and the interval from inverting it.

A relabelling assigns each boot, with all its figures, to one arm or the other. If the arms do not
differ, every relabelling is as likely as the one that was measured. The statistic is the difference
of the mean logarithms. All figures are tested over the same relabellings, so that the adjusted p of
many can be as small as that of one.

The test is exact if the arms do not differ at all, its interval if they differ in level only. For
other differences, other intervals allow more (margins, counts): the widest is used.

Needs numpy and scipy (the extra ``report``); see available().
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from lowlat.report.stats import counts
from lowlat.report.stats.margins import margins
from lowlat.report.stats.samples import ALPHA, PARTS, TwoSamples

if TYPE_CHECKING:
    from lowlat.report.stats.samples import Array, Order

#: Below this number of boots per arm no test can reach 5 % (3 against 3 have p >= 0.1).
ENOUGH_BOOTS = 5

#: Up to so many relabellings all are tried (8 boots against 8), beyond it RANDOM random ones.
_MOST = 20_000
RANDOM = 9_999
SEED = 1

#: Relabelled values held at once: a limit of memory for many CPUs and boots.
_AT_ONCE = 1 << 22

ROUNDING = 1e-9


@dataclass(frozen=True)
class Result:
    """The result of the test for a row.

    ``p`` is two-sided; ``adjusted`` allows for all rows tested beside it. ``ci95`` is the interval
    of the ratio before/after: from 0 if nothing was counted before, to infinity if nothing was
    counted after.
    """

    p: float
    adjusted: float
    ci95: tuple[float, float]


def available() -> bool:
    """Whether numpy and scipy are installed."""
    return find_spec("numpy") is not None and find_spec("scipy") is not None


def infer(rows: Sequence[TwoSamples], order: Order) -> tuple[Result, ...]:
    """Test each row alone and, by the largest statistic, among all."""
    if not rows:
        return ()
    import numpy as np

    logs = [row.logs() for row in rows]
    observed, p, null, kept = _permuted(logs)
    before, after = (np.stack(arm) for arm in zip(*logs))
    ends = [(middle - half, middle + half) for middle, half in margins(before, after, order)]
    adjusted = _largest(np.abs(observed), null)
    return tuple(
        Result(
            p=float(p[n]),
            # With unequal numbers of boots the two tails differ, and one row's p has both.
            adjusted=float(max(adjusted[n], p[n])) if len(rows) > 1 else float(p[n]),
            ci95=widest(
                inverted(observed[n], null[:, n], kept),
                *((low[n], high[n]) for low, high in ends),
                *([counts.interval((row.before, row.after), row.seconds)] if row.seconds else []),
            ),
        )
        for n, row in enumerate(rows)
    )


def smallest_p(boots: tuple[int, int]) -> float:
    """The smallest p that a test of so many boots can have."""
    ways = math.comb(sum(boots), boots[0])
    return 2 / (ways if ways <= _MOST else RANDOM + 1)


def widest(*ends: tuple[float, float]) -> tuple[float, float]:
    """The ends of the ratios in the union of these intervals of a logarithm."""
    return math.exp(min(low for low, _ in ends)), math.exp(max(high for _, high in ends))


def _permuted(logs: Sequence[tuple[Array, Array]]) -> tuple[Array, Array, Array, Array]:
    """For each row its difference, its p and its difference in each relabelling; and for each
    relabelling the share of a true difference that it would still show (1: all of it)."""
    import numpy as np
    from scipy import stats

    # Ones before and zeros after are a true difference of 1.
    level = (np.ones_like(logs[0][0]), np.zeros_like(logs[0][1]))
    before, after = (np.stack(arm) for arm in zip(*logs, level))
    boots = before.shape[-1], after.shape[-1]
    every = math.comb(sum(boots), boots[0]) <= _MOST
    test = stats.permutation_test(
        (before, after),
        lambda one, other, axis: one.mean(axis=axis) - other.mean(axis=axis),
        vectorized=True,
        n_resamples=_MOST if every else RANDOM,
        batch=max(1, _AT_ONCE // (before.size + after.size)),
        axis=-1,
        random_state=SEED,
    )
    null = test.null_distribution
    return test.statistic[:-1], test.pvalue[:-1], null[:, :-1], null[:, -1]


def _largest(observed: Array, null: Array) -> Array:
    """Westfall and Young's step-down maxT: the share of relabellings whose largest statistic, of
    this row and of rows with smaller ones, reaches the observed one."""
    import numpy as np

    spread = null.std(axis=0)
    spread[spread == 0] = np.inf
    ours = observed / spread
    order = np.argsort(ours)
    largest = null[:, order]
    np.abs(largest, out=largest)
    largest /= spread[order]
    np.maximum.accumulate(largest, axis=1, out=largest)
    reached = (largest >= ours[order] * (1 - ROUNDING)).sum(axis=0)
    shares = (reached + _drawn(null)) / (len(null) + _drawn(null))
    result: Array = np.empty_like(ours)
    result[order] = np.maximum.accumulate(shares[::-1])[::-1]
    return result


def _drawn(null: Array) -> int:
    """With random relabellings, the measured one counts as one more."""
    return int(len(null) == RANDOM)


def inverted(observed: float, null: Array, kept: Array) -> tuple[float, float]:
    """All differences that the test would not reject. If the true difference were t, relabelling
    would give null - kept * t, so each relabelling has its own t at which it exceeds the observed
    difference; the interval lies between two of these."""
    import numpy as np

    others = kept < 1 - ROUNDING
    crossings = np.sort((observed - null[others]) / (1 - kept[others]))
    tail = max(math.floor(ALPHA / 2 * (len(null) + _drawn(null))), 1)
    return min(crossings[tail - 1], observed - 1 / PARTS), max(
        crossings[-tail], observed + 1 / PARTS
    )
