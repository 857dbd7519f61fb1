# SPDX-License-Identifier: GPL-2.0-or-later
"""The order of the boots: the definition of taking turns, and no claim without turns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lowlat.report.stats.samples import Order
from support import needs
from support.runs import AFTER, BEFORE, ReportBench, arm

needs.module("scipy", "the extra `report` is not installed")


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> ReportBench:
    return ReportBench(tmp_path, capsys)


def laid_out(order: str) -> Order:
    """The order of boots given as letters in time, A before and B after."""
    before, after = (
        tuple(float(n) for n, one in enumerate(order) if one == which) for which in "AB"
    )
    return Order(before, after)


def at(runs: Sequence[dict[str, Any]], hours: Sequence[int]) -> list[dict[str, Any]]:
    """The runs, started at these hours of a day."""
    return [{**run, "started": f"2026-11-21T{hour:02d}:00:00Z"} for run, hour in zip(runs, hours)]


@pytest.mark.parametrize(
    ("order", "count"),
    [
        ("ABABABABAB", 10),
        ("ABBAABBAAB", 6),
        ("AABBAABBAB", 6),
        ("AABBAABBBA", 5),
        ("AAAAABBBBB", 2),
    ],
)
def test_a_claim_takes_six_stretches(bench: ReportBench, order: str, count: int) -> None:
    assert laid_out(order).count == count
    hours = [[n for n, one in enumerate(order) if one == which] for which in "AB"]
    result = bench.json(at(arm("s", BEFORE), hours[0]), at(arm("t", AFTER), hours[1]))
    assert result["verdict"] == ("reduced" if count >= 6 else "descriptive-only")
    if count < 6:
        assert f"the boots ran in {count} stretches" in result["why"]
        assert "a test needs 6 stretches in turn (s, t, t, s, and so on)" in result["why"]
        assert {(e["ci95"], e["p"]) for e in result["endpoints"]} == {(None, None)}


def test_the_order_is_that_of_the_times_not_of_the_files(bench: ReportBench) -> None:
    turns = bench.json(arm("s", BEFORE)[::-1], arm("t", AFTER, first=1)[::-1])
    assert turns["verdict"] == "reduced"


def test_boots_that_start_together_are_turns(bench: ReportBench) -> None:
    assert bench.json(arm("s", BEFORE), arm("t", AFTER))["verdict"] == "reduced"
    assert Order((0.5, 2.5, 4.5), (0.5, 2.5, 4.5)).takes_turns
    assert not Order((2.0,) * 5, (7.0,) * 5).takes_turns


def test_nothing_is_claimed_without_an_order(bench: ReportBench) -> None:
    unread = [{**run, "started": "yesterday"} for run in arm("t", AFTER)]
    for sides in (
        (arm("s", BEFORE, step=0), arm("t", AFTER, step=0)),
        (arm("s", BEFORE), unread),
    ):
        result = bench.json(*sides)
        assert result["verdict"] == "descriptive-only"
        assert "the order of the boots is not known" in result["why"]


def test_a_trend_is_no_change_and_hides_none(bench: ReportBench) -> None:
    """In a campaign with turns, each boot is 5 % below the previous one; the second case adds a
    real change."""
    wanders = [100 * 0.95**n * (1.001 if n % 2 else 1) for n in range(10)]
    trend = bench.json(arm("s", wanders[::2]), arm("t", wanders[1::2], first=1))
    assert trend["verdict"] == "no-measurable-change"
    fell = bench.json(arm("s", wanders[::2]), arm("t", [v / 10 for v in wanders[1::2]], first=1))
    assert fell["verdict"] == "reduced"


@pytest.mark.parametrize("order", ["ABABABABAB", "ABBABBABBABBABB"])
def test_boots_are_what_repeats_where_stretches_are_short(order: str) -> None:
    assert not laid_out(order).long
    assert laid_out(order + "AAA").long
