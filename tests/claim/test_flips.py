# SPDX-License-Identifier: GPL-2.0-or-later
"""The sign-flip test within pairs, checked against its definition and against the truth."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import pytest

from lowlat.claim.stats.flips import infer, smallest_p
from lowlat.claim.stats.samples import TwoSamples
from support import needs
from support.runs import AFTER, BEFORE

np = needs.module("numpy", "the extra `report` is not installed")

#: Six pairs that agree.
SIX = 2 / 64


def by_hand(before: Sequence[float], after: Sequence[float]) -> float:
    """The share of all flips whose difference is as large as the measured one, without rounding."""
    pairs = [Fraction(math.log(b)) - Fraction(math.log(a)) for b, a in zip(before, after)]
    seen = abs(sum(pairs, Fraction()))
    sums = [
        abs(sum((sign * one for sign, one in zip(signs, pairs)), Fraction()))
        for signs in itertools.product((1, -1), repeat=len(pairs))
    ]
    return sum(one >= seen - Fraction(1, 10**9) for one in sums) / len(sums)


@pytest.mark.parametrize("pairs", [6, 7, 9])
@pytest.mark.parametrize("seed", range(3))
def test_p_and_interval_are_those_of_all_flips(pairs: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    before = draw.lognormal(3, 0.3, pairs)
    after = draw.lognormal(3 - 0.4 * seed, 0.3, pairs)
    (found,) = infer([TwoSamples(before, after)])
    assert found.p == found.adjusted == pytest.approx(by_hand(before, after))
    low, high = found.ci95
    for ratio, rejected in ((low * 1.001, 0), (low / 1.001, 1), (high / 1.001, 0)):
        assert (by_hand(before, after * ratio) <= 0.05) == rejected
    assert by_hand(before, after * high * 1.001) <= 0.05
    if pairs == 6:
        assert found.ci95 == pytest.approx((min(before / after), max(before / after)))


def test_six_pairs_must_agree_and_fewer_are_not_enough() -> None:
    (found,) = infer([TwoSamples([2.0] * 6, [1.0] * 6)])
    assert found.p == pytest.approx(SIX)
    assert found.ci95[0] < 2 < found.ci95[1]
    assert found.ci95 == pytest.approx((2, 2))
    (found,) = infer([TwoSamples([2.0] * 6, [1.0] * 5 + [2.1])])
    assert found.p > 0.05
    assert found.ci95[0] < 1
    assert smallest_p(5) > 0.05 >= smallest_p(6) == SIX
    assert smallest_p(40) == pytest.approx(2 / 10_000)


def test_a_pair_that_ties_counts_for_neither_arm() -> None:
    five = infer([TwoSamples(BEFORE[:5], AFTER[:5])])[0]
    tied = infer([TwoSamples([*BEFORE[:5], 70.0], [*AFTER[:5], 70.0])])[0]
    assert tied.p == five.p == pytest.approx(2 / 32)
    assert infer([TwoSamples([7.0] * 6, [7.0] * 6)])[0].p == 1
    # Equal sums in another order are ties too: large figures, small differences.
    draw = np.random.default_rng(1)
    for _ in range(40):
        level, apart = 10 ** draw.uniform(0, 7), 10 ** draw.uniform(-6, 0)
        one, other = (level * (1 + apart * 3.0 ** draw.integers(0, 4, 7)) for _ in range(2))
        assert infer([TwoSamples(one, other)])[0].p == pytest.approx(by_hand(one, other))


def test_a_value_known_from_one_side_opens_the_interval_on_its_side() -> None:
    every = range(6)
    gone = [TwoSamples([300.0] * 6, [1.0] * 6, below=own) for own in (((), every), ((), ()))]
    below, measured = infer(gone)
    assert below.p == below.adjusted == measured.p == pytest.approx(SIX)
    assert below.ci95 == pytest.approx((300, math.inf))
    came = infer([TwoSamples([1.0] * 6, [300.0] * 6, below=(every, ()))])[0]
    assert came.ci95 == pytest.approx((0, 1 / 300))
    # Both below: nothing is known of the pair, and it counts for neither arm.
    both = infer([TwoSamples([1.0] * 6, [1.0] * 6, below=(every, every))])[0]
    assert both.p == 1
    assert both.ci95 == pytest.approx((0, math.inf))
    # More than 50 after, more than 100 before.
    more = TwoSamples([100.0] * 6, [50.0] * 6, above=((), (2,)))
    assert infer([more])[0].ci95 == pytest.approx((0, 2))
    more = TwoSamples([100.0] * 6, [50.0] * 6, above=((2,), ()))
    assert infer([more])[0].ci95 == pytest.approx((2, math.inf))
    # However many pairs there are, one opens the interval of their mean.
    nine = infer([TwoSamples([*range(300, 309)], [1.0, *range(2, 10)], below=((), (0,)))])[0]
    assert nine.ci95[0] > 30
    assert nine.ci95[1] == math.inf


@pytest.mark.parametrize(("pairs", "spread"), [(6, 0.1), (8, 0.5), (16, 0.1)])
def test_the_interval_over_pairs_covers_the_truth(pairs: int, spread: float) -> None:
    """Of 600 campaigns 95 % are 570, plus or minus 11 (two standard errors)."""
    draw = np.random.default_rng(7)
    rows = [
        TwoSamples(draw.lognormal(1, spread, pairs), draw.lognormal(0, 0.1, pairs))
        for _ in range(600)
    ]
    inside = sum(one.ci95[0] <= math.e <= one.ci95[1] for one in infer(rows))
    assert 0.93 <= inside / 600 <= 0.99


def test_flips_of_many_pairs_are_drawn_and_repeat() -> None:
    draw = np.random.default_rng(3)
    row = TwoSamples(draw.lognormal(1, 0.2, 20), draw.lognormal(0.7, 0.2, 20))
    (found,), (again,) = infer([row]), infer([row])
    assert found == again
    assert 0.0002 <= found.p < 0.05
    assert found.ci95[0] > 1


def test_the_adjusted_p_over_flips_keeps_the_chance_of_any_false_finding() -> None:
    draw = np.random.default_rng(11)
    false = alone = 0
    for _ in range(300):
        # Figures of one boot are correlated; the adjustment uses the correlation.
        shared = draw.normal(size=14) * 0.5
        values = np.exp(shared + draw.normal(size=(12, 14)) * 0.5)
        results = infer([TwoSamples(row[:7], row[7:]) for row in values])
        assert all(one.adjusted >= one.p - 1e-12 for one in results)
        false += any(one.adjusted <= 0.05 for one in results)
        alone += any(one.p <= 0.05 for one in results)
    assert false / 300 <= 0.08
    # Without the adjustment that chance is several times as large.
    assert alone / 300 > 0.2


def test_the_smallest_adjusted_p_over_flips_is_that_of_one_figure() -> None:
    draw = np.random.default_rng(5)
    rows = [TwoSamples(draw.lognormal(0, 0.3, 8), draw.lognormal(0, 0.3, 8)) for _ in range(20)]
    results = infer([TwoSamples([2.0] * 8, [1.0] * 8), *rows])
    assert results[0].adjusted == pytest.approx(smallest_p(8))
    assert max(one.adjusted for one in results) > 0.5


def test_boots_that_alternate_between_two_modes_are_no_finding() -> None:
    """The order within each of six pairs is drawn; the machine is slower in every second boot."""
    draw = np.random.default_rng(2)
    found = 0
    for _ in range(400):
        modes = np.exp(np.tile([0.0, 1.0], 6) + draw.normal(size=12) * 0.05).reshape(6, 2)
        first = draw.integers(0, 2, 6)
        before, after = modes[np.arange(6), first], modes[np.arange(6), 1 - first]
        found += infer([TwoSamples(before, after)])[0].p <= 0.05
    assert found / 400 <= 0.06
