# SPDX-License-Identifier: GPL-2.0-or-later
"""The draw of a campaign's order, by which tune, fleet and rehearse draw."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations
from math import comb

import pytest

from lowlat.model.order import draw_blocks
from lowlat.tune.schedule import order


@pytest.mark.parametrize("blocks", range(1, 21))
@pytest.mark.parametrize("arms", ["AB", "ABC", "ABCDE"])
def test_of_any_two_arms_either_comes_first_as_often(arms: str, blocks: int) -> None:
    for seed in range(20):
        drawn = draw_blocks(arms, blocks, random.Random(seed))
        assert len(drawn) == blocks and all(sorted(block) == sorted(arms) for block in drawn)
        for one, other in combinations(arms, 2):
            first = sum(block.index(one) < block.index(other) for block in drawn)
            assert abs(2 * first - blocks) <= blocks % 2, (seed, one, other)
        if blocks > 2:
            assert any(block != last[::-1] for last, block in zip(drawn, drawn[1:])), seed


@pytest.mark.parametrize("pairs", [6, 7, 8])
def test_every_balanced_order_is_as_likely(pairs: int) -> None:
    """But the two that just turn round from pair to pair."""
    draws = 20_000
    seen = Counter(
        "".join(block[0] for block in draw_blocks("AB", pairs, random.Random(seed)))
        for seed in range(draws)
    )
    every = comb(pairs, pairs // 2) * (1 + pairs % 2) - 2
    assert len(seen) == every
    assert max(seen.values()) < 1.5 * draws / every and min(seen.values()) > draws / every / 1.5


def test_tune_draws_by_it() -> None:
    drawn = draw_blocks(("stock", "tuned"), 8, random.Random(3))
    assert order(8, 3) == tuple(arm for pair in drawn for arm in pair)
    assert order(None, 3) == ("stock", "tuned")
