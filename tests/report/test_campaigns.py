# SPDX-License-Identifier: GPL-2.0-or-later
"""How often the report finds a change in campaigns of boots: where there is none, where one is
planted, and with as many boots as it asks for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pytest
from campaigns import (
    PLANTED,
    RECORDED,
    Rates,
    Shape,
    Variance,
    findings,
    fit,
    np,
    orders,
    places,
    rates,
    simulate,
)

from lowlat.report.stats.power import MOST_BOOTS, POWER, boots_to_find
from report_runs import AFTER, BEFORE, Bench, arm

pytestmark = pytest.mark.slow

TURNS = ("in turn (ABAB)", "mirrored (ABBA)", "at random")
HALVES = "one arm first (AABB)"

BOOTS = 5

#: Drift and likeness that are simulated at least, for a recording may have been lucky.
DRIFT = 0.01
ALIKE = 0.3


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, Rates]]:
    """By figure and order of the boots: 1000 campaigns that vary like the recorded one."""
    result = {}
    for name, campaign in RECORDED.items():
        seen = fit(campaign)
        trend = math.copysign(max(abs(seen.drift), DRIFT), seen.drift)
        harsh = Variance(seen.boot, seen.run, seen.block, trend, max(seen.alike, ALIKE))
        draw = np.random.default_rng(20)
        shape = Shape(BOOTS, len(campaign[0]), len(campaign[0][0]))
        levels = simulate(harsh, shape, 1000, draw)
        result[name] = {
            order: rates(levels, taken, draw) for order, taken in orders(2 * BOOTS).items()
        }
    return result


@pytest.mark.parametrize("figure", RECORDED)
def test_at_most_6_percent_false_findings(found: dict[str, dict[str, Rates]], figure: str) -> None:
    """Drift between boots and likeness of neighbours included, in each order of the boots."""
    assert all(found[figure][order].small <= 0.06 for order in TURNS)
    assert all(one.false <= 0.06 for one in found[figure].values())


def test_the_order_of_the_boots_is_needed(found: dict[str, dict[str, Rates]]) -> None:
    """The control of the control: where the boots do not take turns, the test alone is wrong."""
    assert max(found[figure][HALVES].small for figure in RECORDED) > 0.1


def test_a_fall_by_a_fifth_is_found_where_boots_are_alike(
    found: dict[str, dict[str, Rates]],
) -> None:
    assert all(found["interrupts_per_s"][order].found >= POWER for order in TURNS)


@pytest.mark.parametrize("figure", RECORDED)
def test_recorded_boots_dealt_at_random_make_few_findings(figure: str) -> None:
    draw = np.random.default_rng(20)
    boots = RECORDED[figure]
    values = np.array([np.log(np.median([np.mean(run) for run in boot])) for boot in boots])
    rows = np.stack([draw.permutation(values)[: 2 * BOOTS] for _ in range(1000)])
    assert rates(rows, (), draw).false <= 0.06


# How many boots it takes


@pytest.mark.parametrize("spread", [0.05, 0.2, 0.4])
def test_as_many_boots_as_it_asks_for_find_the_change(spread: float) -> None:
    steps = np.linspace(-1, 1, 5)
    before = np.exp(spread * steps / steps.std(ddof=1))
    boots = boots_to_find(before.tolist(), (PLANTED * before).tolist())
    assert boots is not None
    assert found_with(boots, spread) >= POWER - 0.05
    if boots > BOOTS:
        assert found_with(boots // 2, spread) < POWER - 0.05


def found_with(boots: int, spread: float) -> float:
    """The share of campaigns in which the planted change is found."""
    draw = np.random.default_rng(20)
    levels = simulate(Variance(spread, None, None, 0.0, 0.0), Shape(boots), 400, draw)
    where = places(orders(2 * boots)["in turn (ABAB)"], levels.shape, draw)
    small, _ = findings(levels, where, PLANTED)
    return small / len(levels)


@pytest.mark.parametrize(
    ("before", "after", "boots"),
    [
        ([100.0, 100.0], [90.0, 90.0], 5),
        ([100.0, 100.0], [100.0, 100.0], None),
        ([100.0, 104.0], [100.01, 104.01], None),
        ([100.0], [50.0], None),
        ([100.0, 0.0], [50.0, 60.0], None),
    ],
)
def test_what_takes_no_more_boots_and_what_cannot_be_told(
    before: Sequence[float], after: Sequence[float], boots: object
) -> None:
    assert boots_to_find(before, after) == boots


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Bench:
    return Bench(tmp_path, capsys)


def test_the_report_tells_how_many_boots_would_find_the_change(bench: Bench) -> None:
    words = "two arms that differ this much are told apart from about"
    slight = [0.97 * value for value in (101.0, 98.0, 103.0, 99.5, 100.5)]
    result = bench.json(arm("s", BEFORE), arm("t", slight, first=1))
    (needed,) = [int(flag.split(words)[1].split()[0]) for flag in result["flags"] if words in flag]
    assert result["verdict"] == "no-measurable-change"
    assert BOOTS < needed <= MOST_BOOTS
    few = bench.json(arm("s", BEFORE[:2]), arm("t", AFTER[:2], first=1))
    assert f"{words} 5 boots an arm on, with a chance of 80 %" in few["flags"]
    told = bench.json(arm("s", BEFORE), arm("t", AFTER, first=1))
    assert not any(words in flag for flag in told["flags"])


# The simulation itself


@pytest.mark.parametrize(
    "truth",
    [
        Variance(boot=0.2, run=0.1, block=0.3, drift=0.0, alike=0.0),
        Variance(boot=0.05, run=0.3, block=0.02, drift=0.02, alike=0.0),
        Variance(boot=0.3, run=0.0, block=0.1, drift=-0.05, alike=0.6),
    ],
)
def test_what_is_simulated_is_found_again(truth: Variance) -> None:
    draw = np.random.default_rng(1)
    boots, runs, blocks = 1000, 4, 6
    levels = simulate(
        Variance(truth.boot, 0, 0, truth.drift, truth.alike), Shape(boots // 2), 1, draw
    )
    values = np.exp(
        levels[0][:, None, None]
        + truth.run * draw.normal(size=(boots, runs, 1))
        + truth.block * draw.normal(size=(boots, runs, blocks))
    )
    found = fit(values.tolist())
    for name in ("boot", "run", "block"):
        assert getattr(found, name) == pytest.approx(getattr(truth, name), rel=0.15, abs=0.03)
    assert found.drift == pytest.approx(truth.drift, abs=0.002)
    if truth.alike:
        assert found.alike == pytest.approx(truth.alike, abs=0.15)


def test_runs_and_blocks_average_out_inside_a_boot() -> None:
    draw = np.random.default_rng(2)
    noisy = Variance(boot=0.0, run=0.0, block=0.5, drift=0.0, alike=0.0)
    few = simulate(noisy, Shape(5, blocks=1), 400, draw).std()
    many = simulate(noisy, Shape(5, runs=3, blocks=25), 400, draw).std()
    assert many < few / 5
