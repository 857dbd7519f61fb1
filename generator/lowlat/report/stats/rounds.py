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
from lowlat.report.stats.flips import Result, widest
from lowlat.report.stats.samples import TwoSamples


def infer_rounds(hosts: Sequence[TwoSamples], *, drawn: bool = True) -> tuple[float, Result]:
    """The hosts' mean ratio of one figure, and its test, from each host's boots in the order of its
    pairs, ``drawn`` on all or not. There are as many rounds as the host with the fewest pairs
    has."""
    import numpy as np

    count = min(len(own.before) for own in hosts)
    means = [np.exp(np.mean([own.logs()[arm][:count] for own in hosts], axis=0)) for arm in (0, 1)]
    # The mean of a round is known from one side only if some host's value is.
    below, above = (
        tuple({n for own in ends for n in own[arm] if n < count} for arm in (0, 1))
        for ends in ([own.below for own in hosts], [own.above for own in hosts])
    )
    averaged = TwoSamples(means[0], means[1], None, (below[0], below[1]), (above[0], above[1]))
    (result,) = flips.infer([averaged], drawn=drawn)
    ratio = math.exp(float(np.mean(np.log(means[0]) - np.log(means[1]))))
    if all(own.seconds for own in hosts):
        low, high = (math.log(end) if end else -math.inf for end in result.ci95)
        result = replace(result, ci95=widest((low, high), _of_counts(hosts)))
    return ratio, result


def _of_counts(hosts: Sequence[TwoSamples]) -> tuple[float, float]:
    """The interval of the mean of the hosts' logarithms of the ratio of mean rates."""
    given = [((one.before, one.after), one.seconds) for one in hosts if one.seconds]
    own = [(counts.centre(*one), *counts.interval(*one)) for one in given]
    middle = fmean(centre for centre, *_ in own)
    down = math.hypot(*(centre - low for centre, low, _ in own)) / len(own)
    up = math.hypot(*(high - centre for centre, _, high in own)) / len(own)
    return middle - down, middle + up
