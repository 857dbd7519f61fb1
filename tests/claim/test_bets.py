# SPDX-License-Identifier: GPL-2.0-or-later
"""The test that may be looked at after every pair: its claims, its interval, and both in campaigns
that stop as soon as it is clear."""

from __future__ import annotations

import math
import random

import pytest

from lowlat.claim.stats.bets import CLAIM, MOST_PAIRS, fortune, further, interval


def test_six_pairs_that_agree_are_a_claim_and_thirteen_with_one_against() -> None:
    assert fortune(0, 0) == pytest.approx(1)
    assert fortune(6, 0) == fortune(0, 6) > CLAIM > fortune(5, 0)
    assert fortune(12, 1) > CLAIM > fortune(11, 1)
    # No pair can raise or lower what a bet is worth on average.
    for more, less in ((0, 0), (4, 1), (9, 6)):
        mean = (fortune(more + 1, less) + fortune(more, less + 1)) / 2
        assert mean == pytest.approx(fortune(more, less))


@pytest.mark.parametrize("differ", [0.0, 1.0])
def test_looking_after_every_pair_costs_nothing(differ: float) -> None:
    draw = random.Random(4)
    campaigns, missed, ended = 4000, 0, []
    for _ in range(campaigns):
        pairs: list[float] = []
        outside = won = False
        while len(pairs) < MOST_PAIRS and not won:
            pairs.append(draw.gauss(differ, 1))
            low, high = interval(pairs, pairs)
            above = sum(one > 0 for one in pairs)
            won = fortune(above, len(pairs) - above) >= CLAIM
            assert won == (not low <= 0 <= high)
            outside = outside or not low <= differ <= high
        missed += outside
        if won:
            ended.append(len(pairs))
    assert missed / campaigns <= 0.05
    assert min(ended) == 6
    share = len(ended) / campaigns
    assert share > 0.6 if differ else share <= 0.05


def test_the_interval_of_the_median_pair() -> None:
    pairs = [0.4, 0.1, 0.6, 0.2, 0.5, 0.3]
    assert interval(pairs[:5], pairs[:5]) == (-math.inf, math.inf)
    assert interval(pairs, pairs) == (0.1, 0.6)
    thirteen = [float(n) for n in range(13)]
    assert interval(thirteen, thirteen) == (1, 11)
    # A pair that is known from one side only opens that side, until others lie beyond it.
    assert interval(pairs, [*pairs[:5], math.inf]) == (0.1, math.inf)
    assert interval(thirteen, [math.inf, *thirteen[1:]]) == (1, 12)


def test_how_far_it_is() -> None:
    assert further(0, 0) == (6, 13)
    assert further(0, 4) == (2, 9)
    assert further(5, 1) == (7, 11)
    assert further(6, 0) == (0, 0)
    # A tie keeps the interval at no change: it counts as a pair against the leader.
    assert further(6, 0, 1) == (6, 10) == further(6, 1)
    assert further(0, 0, 7) is None
    assert further(9, 8) is None
