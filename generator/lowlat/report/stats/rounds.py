# SPDX-License-Identifier: GPL-2.0-or-later
"""The claim over hosts: a round is one pair of boots on every host, and the unit of the test.

What all hosts share in a round (a deployment, the weather of a rack, a neighbour) is no more than
one observation, however many hosts saw it. So the hosts of a round are averaged, and the rounds are
tested as the pairs of one machine are (flips). All hosts have equal weight, because the claim is
about the mean of their logarithms of before/after. For counts the interval holds that of the mean
of their rates too: the hosts' half lengths are combined as independent errors (MOVER, as in
counts).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from lowlat.report.stats import counts, flips
from lowlat.report.stats.pairs import Pairs
from lowlat.report.stats.permutation import Result, widest
from lowlat.report.stats.samples import TwoSamples


def rounds(hosts: Sequence[Pairs]) -> int:
    """The rounds that every host has."""
    return min(len(own.boots) for own in hosts)


def infer_rounds(hosts: Sequence[tuple[TwoSamples, Pairs]]) -> tuple[float, Result]:
    """The hosts' mean ratio of one figure, and its test, from each host's boots and their pairs."""
    import numpy as np

    count = rounds([pairs for _, pairs in hosts])
    means = []
    for arm in range(2):
        own = (
            samples.logs()[arm][[p[arm] for p in pairs.boots[:count]]] for samples, pairs in hosts
        )
        means.append(np.exp(np.mean([*own], axis=0)))
    (result,) = flips.infer([TwoSamples(*means)])
    ratio = math.exp(float(np.mean(np.log(means[0]) - np.log(means[1]))))
    if all(samples.seconds for samples, _ in hosts):
        low, high = (math.log(end) if end else -math.inf for end in result.ci95)
        result = replace(result, ci95=widest((low, high), _of_counts([one for one, _ in hosts])))
    return ratio, result


def _of_counts(hosts: Sequence[TwoSamples]) -> tuple[float, float]:
    """The interval of the mean of the hosts' logarithms of the ratio of mean rates."""
    given = [((one.before, one.after), one.seconds) for one in hosts if one.seconds]
    own = [(counts.centre(*one), *counts.interval(*one)) for one in given]
    middle = fmean(centre for centre, *_ in own)
    down = math.hypot(*(centre - low for centre, low, _ in own)) / len(own)
    up = math.hypot(*(high - centre for centre, _, high in own)) / len(own)
    return middle - down, middle + up
