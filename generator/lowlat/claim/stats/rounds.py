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
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Optional

from lowlat.claim.stats import counts, flips
from lowlat.claim.stats.flips import Result, widest
from lowlat.claim.stats.samples import TwoSamples

#: A round is one of several hosts.
_HOSTS = 2


@dataclass(frozen=True)
class HostRounds:
    """The pairs of a host, and the number of the round of each; None: it is of no round."""

    rounds: Sequence[Optional[int]]
    row: TwoSamples


def shared_rounds(hosts: Sequence[HostRounds]) -> list[int]:
    """The numbers of the rounds that at least two hosts have."""
    seen = Counter(n for host in hosts for n in host.rounds if n is not None)
    return sorted(number for number, count in seen.items() if count >= _HOSTS)


def infer_rounds(hosts: Sequence[HostRounds], *, drawn: bool = True) -> tuple[float, Result]:
    """The hosts' mean ratio of one figure, and its test over the rounds that at least two hosts
    have. The order was ``drawn`` on all or not."""
    averaged = average_rounds(hosts)
    (result,) = flips.infer([averaged], drawn=drawn)
    one, other = averaged.logs()
    ratio = math.exp(float((one - other).mean()))
    rows = [host.row for host in hosts]
    if all(own.seconds for own in rows):
        low, high = (math.log(end) if end else -math.inf for end in result.ci95)
        result = replace(result, ci95=widest((low, high), _of_counts(rows)))
    return ratio, result


def average_rounds(hosts: Sequence[HostRounds]) -> TwoSamples:
    """The mean of each round that at least two hosts have; a host that lacks a round has no value
    in it."""
    import numpy as np

    shared = {number: place for place, number in enumerate(shared_rounds(hosts))}
    known = np.full((2, len(hosts), len(shared)), np.nan)
    # The mean of a round is known from one side only if some host's value is.
    below, above = (tuple(set[int]() for _ in (0, 1)) for _ in (0, 1))
    for place, host in enumerate(hosts):
        logs = host.row.logs()
        numbers = enumerate(host.rounds)
        own = [(n, shared[one]) for n, one in numbers if one is not None and one in shared]
        for arm in (0, 1):
            known[arm, place, [to for _, to in own]] = logs[arm][[n for n, _ in own]]
            below[arm].update(to for n, to in own if n in host.row.below[arm])
            above[arm].update(to for n, to in own if n in host.row.above[arm])
    means = np.exp(np.nanmean(known, axis=1))
    return TwoSamples(means[0], means[1], None, (below[0], below[1]), (above[0], above[1]))


def _of_counts(hosts: Sequence[TwoSamples]) -> tuple[float, float]:
    """The interval of the mean of the hosts' logarithms of the ratio of mean rates."""
    given = [((one.before, one.after), one.seconds) for one in hosts if one.seconds]
    own = [(counts.centre(*one), *counts.interval(*one)) for one in given]
    middle = fmean(centre for centre, *_ in own)
    down = math.hypot(*(centre - low for centre, low, _ in own)) / len(own)
    up = math.hypot(*(high - centre for centre, _, high in own)) / len(own)
    return middle - down, middle + up
