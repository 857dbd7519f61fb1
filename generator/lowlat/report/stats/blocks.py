# SPDX-License-Identifier: GPL-2.0-or-later
"""The permutation test over boots within hosts, and the interval of the hosts' mean difference.

Boots are relabelled within their own host only: differences between hosts stay out of the test. All
hosts have equal weight, because the claim is about the mean of their logarithms of before/after.
Each host has the intervals of a single machine (margins, counts). For each method the hosts' half
lengths are combined as independent errors (MOVER, as in counts). The widest of all and of the
inverted test is used. Needs numpy and scipy, as permutation does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from lowlat.report.stats import counts
from lowlat.report.stats.margins import margins
from lowlat.report.stats.permutation import RANDOM, ROUNDING, SEED, Result, inverted, widest

if TYPE_CHECKING:
    from lowlat.report.stats.samples import Array, Order, TwoSamples


#: A method's estimate for one host, and the ends of its interval, as logarithms.
_Estimate = tuple[float, float, float]


def infer_within(hosts: Sequence[tuple[TwoSamples, Order]]) -> tuple[float, Result]:
    """The hosts' mean ratio of one figure, and its test, from each host's boots and their order."""
    import numpy as np

    random = np.random.default_rng(SEED)
    rows, estimates = [], []
    for samples, order in hosts:
        before, after = samples.logs()
        # Ones before and zeros after are a true difference of 1, as in permutation.
        level = np.repeat([1.0, 0.0], [len(before), len(after)])
        both = np.stack([np.concatenate([before, after]), level])
        dealt = random.permuted(np.tile(np.arange(len(level)), (RANDOM, 1)), axis=1)
        ones, others = both[:, dealt[:, : len(before)]], both[:, dealt[:, len(before) :]]
        own = float(before.mean() - after.mean())
        rows.append((own, *(ones.mean(axis=-1) - others.mean(axis=-1))))
        estimates.append(_estimates(samples, margins(before[None], after[None], order)))
    observed, null, kept = (np.mean(one, axis=0) for one in zip(*rows))
    reached = (np.abs(null) >= abs(observed) * (1 - ROUNDING)).sum()
    p = float((reached + 1) / (RANDOM + 1))
    joined = map(_joined, zip(*estimates))
    return math.exp(observed), Result(p, p, widest(inverted(float(observed), null, kept), *joined))


def _estimates(
    samples: TwoSamples, intervals: Sequence[tuple[Array, Array]]
) -> tuple[_Estimate, ...]:
    """One host by every method; Welch's replaces that of stretches if the boots need none."""
    ends = [(float(m[0]), float(m[0] - half[0]), float(m[0] + half[0])) for m, half in intervals]
    ends = [*ends, ends[0]][:3]
    if samples.seconds:
        given = ((samples.before, samples.after), samples.seconds)
        ends.append((counts.centre(*given), *counts.interval(*given)))
    return tuple(ends)


def _joined(hosts: Sequence[_Estimate]) -> tuple[float, float]:
    """One method's interval of the mean. It joins the hosts method by method: a bias of one method
    may be on every host, and does not average out."""
    middle = fmean(own for own, _, _ in hosts)
    down, up = (
        math.hypot(*lengths) / len(hosts)
        for lengths in zip(*((own - low, high - own) for own, low, high in hosts))
    )
    return middle - down, middle + up
