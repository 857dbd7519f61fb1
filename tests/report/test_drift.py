# SPDX-License-Identifier: GPL-2.0-or-later
"""The order of the boots: what a drift takes back, and what is not known without an order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lowlat.report.stats.drift import Order, drift
from report_runs import AFTER, BEFORE, Bench, arm, cpu_run

np = pytest.importorskip("numpy", reason="the extra `report` is not installed")
pytest.importorskip("scipy", reason="the extra `report` is not installed")


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Bench:
    return Bench(tmp_path, capsys)


def laid_out(order: str) -> Order:
    """The order of boots given as letters in time, A before and B after."""
    before, after = (
        tuple(float(n) for n, one in enumerate(order) if one == which) for which in "AB"
    )
    return Order(before, after)


def at(runs: Sequence[dict[str, Any]], hours: Sequence[int]) -> list[dict[str, Any]]:
    """The runs, started at these hours of a day."""
    return [{**run, "started": f"2026-11-21T{hour:02d}:00:00Z"} for run, hour in zip(runs, hours)]


def compared(bench: Bench, after: Sequence[float]) -> dict[str, Any]:
    return bench.json(arm("s", BEFORE), arm("t", after, first=1))


def test_arms_one_after_the_other_are_flagged(bench: Bench) -> None:
    words = "the boots did not take turns"
    turns = compared(bench, AFTER)
    assert not any(words in flag for flag in turns["flags"])
    blocks = bench.json(arm("s", BEFORE, step=1), arm("t", AFTER, step=1, first=10))
    assert any(words in flag for flag in blocks["flags"])
    assert blocks["verdict"] == "reduced"


def test_two_boots_an_arm_in_the_order_of_a_rehearsal_take_turns(bench: Bench) -> None:
    """One, two, two, one: no other order of so few evens out a trend."""
    words = "the boots did not take turns"
    stock, tuned = arm("s", BEFORE[:2]), arm("t", AFTER[:2])
    turns = bench.json(at(stock, (0, 3)), at(tuned, (1, 2)))
    assert not any(words in flag for flag in turns["flags"])
    blocks = bench.json(at(stock, (0, 1)), at(tuned, (2, 3)))
    assert any(words in flag for flag in blocks["flags"])


def test_a_drift_that_explains_the_change_takes_it_back(bench: Bench) -> None:
    wanders = [100 * 0.95**n * (1.001 if n % 2 else 1) for n in range(10)]
    result = bench.json(arm("s", wanders[:5], step=1), arm("t", wanders[5:], step=1, first=10))
    assert result["verdict"] == "descriptive-only"
    assert "-5.1 % a boot is the trend within the arms, and the order" in result["why"]
    assert {(e["ci95"], e["p"]) for e in result["endpoints"]} == {(None, None)}
    # In turn the same drift makes no finding, and is told.
    turns = bench.json(arm("s", wanders[::2]), arm("t", wanders[1::2], first=1))
    assert turns["verdict"] == "no-measurable-change"
    assert any("is the trend within the arms" in flag for flag in turns["flags"])


def test_without_turns_a_change_within_a_possible_trend_is_no_finding(bench: Bench) -> None:
    before, after = (100, 108, 97, 105, 99), (92, 85, 91, 84, 90)
    turns = bench.json(arm("s", before), arm("t", after, first=1))
    assert turns["verdict"] == "reduced"
    result = bench.json(arm("s", before, step=1), arm("t", after, step=1, first=10))
    assert result["verdict"] == "descriptive-only"
    assert "did not take turns, and a trend of 2.9 % a boot is possible" in result["why"]


def test_a_change_far_beyond_the_drift_stays(bench: Bench) -> None:
    before = [100 * 0.99**n * (1.0005 if n % 2 else 1) for n in range(5)]
    after = [10 * 0.99**n * (1.0005 if n % 2 else 1) for n in range(5)]
    result = bench.json(arm("s", before, step=1), arm("t", after, step=1, first=10))
    assert result["verdict"] == "reduced"
    assert any("is the trend within the arms" in flag for flag in result["flags"])


def test_nothing_is_claimed_without_an_order(bench: Bench) -> None:
    words = "the order of the boots is not known"
    unread = [{**run, "started": "yesterday"} for run in arm("t", AFTER)]
    for sides in (
        (arm("s", BEFORE, step=0), arm("t", AFTER, step=0)),
        (arm("s", BEFORE), unread),
    ):
        result = bench.json(*sides)
        assert result["verdict"] == "descriptive-only"
        assert words in result["why"]
        assert any(words in flag for flag in result["flags"])


def test_the_order_is_that_of_the_times_not_of_the_files(bench: Bench) -> None:
    turns = bench.json(arm("s", BEFORE)[::-1], arm("t", AFTER, first=1)[::-1])
    assert turns["verdict"] == "reduced"
    assert not any("take turns" in flag for flag in turns["flags"])


def test_boots_side_by_side_take_turns(bench: Bench) -> None:
    flags = bench.json(arm("s", BEFORE), arm("t", AFTER))["flags"]
    assert not any("order of the boots" in flag or "take turns" in flag for flag in flags)


def test_all_boots_of_an_arm_at_once_tell_no_trend(bench: Bench) -> None:
    result = bench.json(arm("s", BEFORE, step=0), arm("t", AFTER, step=0, first=1))
    assert result["verdict"] == "descriptive-only"
    assert "did not take turns, and whether there is a trend cannot be told" in result["why"]


@pytest.mark.parametrize(
    ("order", "turns"),
    [
        ("ABABABABAB", True),
        ("ABBAABBAAB", True),
        ("AABBBBBAAA", False),
        ("AAAABBBBBA", False),
        ("AAAAABBBBB", False),
        ("ABABBBBBBBBBBBB", True),
        ("ABBAAB", True),
        ("ABBBAA", False),
        ("ABBA", True),
        ("AABB", False),
    ],
)
def test_what_taking_turns_is(order: str, turns: bool) -> None:
    assert laid_out(order).takes_turns is turns


def test_boots_that_start_together_are_turns() -> None:
    assert Order((0.5, 2.5, 4.5), (0.5, 2.5, 4.5)).takes_turns
    assert Order((2.0,) * 5 + (7.0,) * 5, (2.0,) * 5 + (7.0,) * 5).takes_turns
    assert not Order((2.0,) * 5, (7.0,) * 5).takes_turns


def test_a_straggler_is_no_turn(bench: Bench) -> None:
    """One boot made up for at the end does not mix the arms: what a trend may do is still asked."""
    before, after = (96, 105, 99, 104, 107), (92, 85, 81, 101, 89)
    assert bench.json(arm("s", before), arm("t", after, first=1))["verdict"] == "reduced"
    late = at(arm("s", before), (0, 1, 2, 3, 20))
    result = bench.json(late, at(arm("t", after), (10, 11, 12, 13, 14)))
    assert result["verdict"] == "descriptive-only"
    assert "did not take turns" in result["why"]


def test_an_arm_that_came_later_on_the_whole(bench: Bench) -> None:
    """Turns at the border only: the boots leave a trend possible that does this."""
    before, after = (105, 97, 98, 103, 95), (93, 91, 86, 82, 89)
    assert bench.json(arm("s", before), arm("t", after, first=1))["verdict"] == "reduced"
    result = bench.json(at(arm("s", before), (0, 1, 2, 3, 5)), at(arm("t", after), (4, 6, 7, 8, 9)))
    assert result["verdict"] == "descriptive-only"
    assert "of one side came 4.6 boots later than those of the other, and a trend" in result["why"]


@pytest.mark.parametrize("order", ["AAAAABBBBB", "AAAABBBBBA", "AAAABABBBB", "ABABABABAB"])
def test_a_drift_makes_no_finding_in_whatever_order(order: str) -> None:
    """1000 campaigns in which nothing but a trend of 5 % a boot changed, boots spread by 10 %."""
    draw = np.random.default_rng(3)
    layout = laid_out(order)
    levels = 0.1 * draw.normal(size=(1000, 10)) + 0.05 * np.arange(10)
    false, tempted = 0, 0
    for row in levels:
        ours, theirs = ([row[int(n)] for n in places] for places in (layout.before, layout.after))
        size = abs(np.mean(ours) - np.mean(theirs))
        # About what a test of 5 against 5 boots finds.
        found = size > 2.31 * np.sqrt((np.var(ours, ddof=1) + np.var(theirs, ddof=1)) / 5)
        tempted += found
        false += found and not drift(np.exp(ours), np.exp(theirs), layout).explains(size, layout)
    assert false / 1000 <= 0.06
    # Without a look at the order there would be more.
    assert bool(tempted / 1000 > 0.06) is (order != "ABABABABAB")


def counted(rates: Sequence[float], name: str, **changes: Any) -> list[dict[str, Any]]:
    runs = arm(name, [100.0] * len(rates), emulated=True, **changes)
    return [{**run, "cpus": [cpu_run(2, rate)]} for run, rate in zip(runs, rates)]


def test_a_drift_is_looked_for_beside_zeros(bench: Bench) -> None:
    """A rate that falls by half with every boot reaches nothing after it, in one boot or in all."""
    falls = [1.0, 0.5, 0.25, 0.125, 0.0625]
    for after in ([0.03, 0.0, 0.01, 0.0, 0.0], [0.0] * 5):
        result = bench.json(counted(falls, "s", step=1), counted(after, "t", step=1, first=10))
        assert result["verdict"] == "descriptive-only", after
        assert "the order of the boots lets it look like this change" in result["why"]


def test_nothing_left_of_much_is_no_drift(bench: Bench) -> None:
    steady = counted((250.0, 240.0, 260.0, 255.0, 245.0), "s", step=1)
    result = bench.json(steady, counted([0.0] * 5, "t", step=1, first=10))
    assert result["verdict"] == "reduced"


def test_zeros_on_both_sides_tell_no_trend(bench: Bench) -> None:
    before, after = (5.0, 6.0, 7.0, 0.0, 8.0, 9.0), (0.0, 0.1, 0.2, 0.0, 0.0, 0.1)
    blocks = bench.json(counted(before, "s", step=1), counted(after, "t", step=1, first=10))
    assert blocks["verdict"] == "descriptive-only"
    assert "whether there is a trend cannot be told" in blocks["why"]
    turns = bench.json(counted(before, "s"), counted(after, "t", first=1))
    assert turns["verdict"] == "reduced"
