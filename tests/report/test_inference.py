# SPDX-License-Identifier: GPL-2.0-or-later
"""The test over boots and its interval, checked against their definition and against the truth."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import pytest
from claims_simulator import dealt

from lowlat.report.comparison import holm
from lowlat.report.stats.permutation import Result, infer, smallest_p
from lowlat.report.stats.samples import Order, TwoSamples
from support import needs
from support.runs import AFTER, BEFORE, SMALLEST

np = needs.module("numpy", "the extra `report` is not installed")
stats = needs.module("scipy.stats", "the extra `report` is not installed")


def in_turn(boots: tuple[int, int]) -> Order:
    """An order with one boot of the smaller arm, then the matching number of boots of the larger
    arm."""
    more = -(-max(boots) // min(boots))
    deal = dealt("A" + "B" * more if boots[0] <= boots[1] else "A" * more + "B", boots)
    return Order(*(tuple(map(float, np.flatnonzero(deal == arm))) for arm in (0, 1)))


def inferred(*rows: TwoSamples) -> tuple[Result, ...]:
    return infer(rows, in_turn((len(rows[0].before), len(rows[0].after))))


def beside_a_trend(before: Sequence[float], after: Sequence[float], order: Order) -> float:
    """The p of the arm in a least-squares fit of the logarithm to arm and time."""
    values = np.log([*before, *after])
    arm = [1.0] * len(before) + [0.0] * len(after)
    known = np.column_stack([arm, np.ones(len(arm)), [*order.before, *order.after]])
    found, (rest,), _, _ = np.linalg.lstsq(known, values, rcond=None)
    free = len(arm) - 3
    error = math.sqrt(rest / free * np.linalg.inv(known.T @ known)[0, 0])
    return float(2 * stats.t.sf(abs(found[0]) / error, free))


def by_hand(before: Sequence[float], after: Sequence[float]) -> float:
    """The two-sided p of the difference of mean logarithms, computed for each relabelling."""
    values = [*map(math.log, before), *map(math.log, after)]

    def difference(chosen: Sequence[int]) -> float:
        ours = [values[n] for n in chosen]
        theirs = [value for n, value in enumerate(values) if n not in chosen]
        return sum(ours) / len(ours) - sum(theirs) / len(theirs)

    seen = difference(range(len(before)))
    all_of_them = list(itertools.combinations(range(len(values)), len(before)))
    above = sum(difference(chosen) >= seen - 1e-12 for chosen in all_of_them)
    below = sum(difference(chosen) <= seen + 1e-12 for chosen in all_of_them)
    return min(1.0, 2 * min(above, below) / len(all_of_them))


@pytest.mark.parametrize("boots", [(5, 5), (5, 7), (6, 6)])
@pytest.mark.parametrize("seed", range(4))
def test_p_and_interval_are_those_of_the_definition(boots: tuple[int, int], seed: int) -> None:
    draw = np.random.default_rng(seed)
    before = list(draw.lognormal(3, 0.3, boots[0]))
    after = list(draw.lognormal(3 - 0.4 * seed, 0.3, boots[1]))
    (found,) = inferred(TwoSamples(before, after))
    assert found.p == found.adjusted == pytest.approx(by_hand(before, after))
    low, high = found.ci95
    # A ratio just inside the interval is not rejected by each of these tests, one just outside is.
    for ratio, rejected in (
        (low * 1.001, 0),
        (low * 0.999, 1),
        (high * 0.999, 0),
        (high * 1.001, 1),
    ):
        moved = [value * ratio for value in after]
        welch = stats.ttest_ind(np.log(before), np.log(moved), equal_var=False).pvalue
        trend = beside_a_trend(before, moved, in_turn(boots))
        assert (by_hand(before, moved) <= 0.05 and max(welch, trend) <= 0.04) == rejected


def exactly(before: Sequence[float], after: Sequence[float]) -> float:
    """The same p as by_hand, without rounding."""
    values = [Fraction(value) for value in (*before, *after)]
    seen = sum(values[: len(before)])
    sums = [sum(chosen) for chosen in itertools.combinations(values, len(before))]
    tails = sum(one >= seen for one in sums), sum(one <= seen for one in sums)
    return min(1.0, 2 * min(tails) / len(sums))


@pytest.mark.parametrize("boots", [(5, 5), (5, 7)])
def test_ties_count_in_every_relabelling(boots: tuple[int, int]) -> None:
    """Boots with equal figures tie, even if the figures are large compared with their differences:
    another order of summation must not separate them."""
    draw = np.random.default_rng(1)
    for _ in range(60):
        level, apart = 10 ** draw.uniform(0, 7), 10 ** draw.uniform(-6, 0)
        # Powers of 3: only sums over the same boots are equal.
        kinds = 3.0 ** draw.integers(0, 4, sum(boots))
        values = level * (1 + apart * kinds)
        p = inferred(TwoSamples(values[: boots[0]], values[boots[0] :]))[0].p
        logs = np.rint(np.log(values) * 2.0**36)
        assert p == pytest.approx(exactly(logs[: boots[0]], logs[boots[0] :]))


@pytest.mark.parametrize(("ratio", "p"), [(1.0, 1.0), (2.0, SMALLEST)])
def test_boots_that_are_all_the_same(ratio: float, p: float) -> None:
    (found,) = inferred(TwoSamples([100.0] * 5, [100.0 / ratio] * 5))
    assert found.p == pytest.approx(p)
    low, high = found.ci95
    assert low < ratio < high
    assert (low, high) == pytest.approx((ratio, ratio))


@pytest.mark.parametrize("boots", [(5, 5), (5, 7), (8, 8), (20, 5)])
def test_no_p_is_below_the_smallest(boots: tuple[int, int]) -> None:
    rows = [TwoSamples(np.arange(2.0, 2 + boots[0]), np.arange(100.0, 100 + boots[1]))] * 2
    for found in inferred(*rows):
        assert found.p == found.adjusted == pytest.approx(smallest_p(boots))


def test_one_boot_a_thousand_times_the_others_is_no_finding() -> None:
    wild = [AFTER[0] * 1000, *AFTER[1:]]
    (found,) = inferred(TwoSamples(BEFORE, wild))
    assert found.p == pytest.approx(by_hand(BEFORE, wild)) == pytest.approx(1.0)
    assert found.ci95[0] < 1 < found.ci95[1]


@pytest.mark.parametrize(
    ("boots", "spreads"),
    [
        *(((5, 5), (s, s)) for s in (0.02, 0.1, 0.5)),
        *(((5, 7), (s, s)) for s in (0.1, 0.5)),
        *(((8, 8), (s, s)) for s in (0.1, 0.5)),
        # Few boots with a wide spread beside many with a small one: the hardest case for
        # relabelling.
        *[((5, 5), (0.08, 0.5)), ((5, 7), (0.5, 0.08)), ((20, 5), (0.08, 0.5))],
    ],
)
def test_the_interval_covers_the_truth(
    boots: tuple[int, int], spreads: tuple[float, float]
) -> None:
    """Of 800 campaigns, 95 % are 760, plus or minus 12 (two standard errors)."""
    draw = np.random.default_rng(7)
    count = 800 if math.comb(sum(boots), boots[0]) < 1000 else 400
    rows = [
        TwoSamples(draw.lognormal(1, spreads[0], boots[0]), draw.lognormal(0, spreads[1], boots[1]))
        for _ in range(count)
    ]
    inside = [found.ci95[0] <= math.e <= found.ci95[1] for found in inferred(*rows)]
    assert len(inside) == count
    assert 0.93 <= sum(inside) / count <= 0.985


def test_more_boots_than_can_all_be_relabelled_are_drawn_at_random() -> None:
    draw = np.random.default_rng(3)
    before, after = draw.lognormal(1, 0.2, 12), draw.lognormal(0.7, 0.2, 12)
    (found,) = inferred(TwoSamples(before, after))
    assert found.p == inferred(TwoSamples(before, after))[0].p
    assert 0.0002 <= found.p < 0.05
    assert found.ci95[0] > 1


def test_the_adjusted_p_keeps_the_chance_of_any_false_finding() -> None:
    draw = np.random.default_rng(11)
    false, alone = 0, 0
    for _ in range(300):
        # Figures of one boot are correlated; the adjustment uses the correlation.
        shared = draw.normal(size=10) * 0.5
        values = np.exp(shared + draw.normal(size=(12, 10)) * 0.5)
        results = inferred(*(TwoSamples(row[:5], row[5:]) for row in values))
        assert all(one.adjusted >= one.p - 1e-12 for one in results)
        false += any(one.adjusted <= 0.05 for one in results)
        alone += any(one.p <= 0.05 for one in results)
    assert false / 300 <= 0.08
    # Without the adjustment that chance is several times as large.
    assert alone / 300 > 0.2


def test_the_smallest_adjusted_p_is_that_of_one_figure() -> None:
    draw = np.random.default_rng(5)
    rows = [TwoSamples(draw.lognormal(0, 0.3, 5), draw.lognormal(0, 0.3, 5)) for _ in range(20)]
    results = inferred(TwoSamples(BEFORE, AFTER), *rows)
    assert results[0].adjusted == pytest.approx(SMALLEST)
    assert max(one.adjusted for one in results) > 0.5


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []
