# SPDX-License-Identifier: GPL-2.0-or-later
"""The order of the boots: which are pairs, and no claim where the order may be the effect."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from support import needs
from support.runs import AFTER, BEFORE, ReportBench, arm

needs.module("scipy", "the extra `report` is not installed")


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> ReportBench:
    return ReportBench(tmp_path, capsys)


def in_order(bench: ReportBench, order: str, before: Sequence[float] = BEFORE) -> dict[str, Any]:
    """The report of boots given as letters in time, A before and B after, an hour apart."""
    sides = [
        [
            {**run, "started": f"2026-11-{21 + hour // 24}T{hour % 24:02d}:00:00Z"}
            for run, hour in zip(
                arm(name, [*values, *values]), [n for n, one in enumerate(order) if one == which]
            )
        ]
        for which, name, values in (("A", "s", before), ("B", "t", AFTER))
    ]
    return bench.json(sides[0], sides[1])


@pytest.mark.parametrize(
    ("order", "pairs", "said"),
    [
        (
            "ABBAABBABAAB",
            6,
            "p = 0.05, 6 pairs, order not known to be drawn; not pre-registered",
        ),
        ("ABBAABBAABBA", 6, "p = 0.05, 6 pairs, order not drawn; not pre-registered"),
        ("ABBAABBAABBAABBA", 8, "p = 0.013, 8 pairs, order not drawn; not pre-registered"),
    ],
)
def test_a_claim_takes_six_pairs(bench: ReportBench, order: str, pairs: int, said: str) -> None:
    result = in_order(bench, order)
    assert (result["verdict"], result["why"], result["pairs"]) == ("reduced", said, pairs)
    assert result["order"] == ("not drawn" if "not drawn" in said else "not known")
    assert result["unpaired"] == {"before": [], "after": []}
    told = [flag for flag in result["flags"] if "least and the greatest pair (96.9 %)" in flag]
    assert len(told) == (pairs == 6)


@pytest.mark.parametrize(
    ("order", "pairs", "said"),
    [
        ("AAAAAABBBBBB", 1, "the boots make 1 pair that follow each other"),
        ("AABBAABBAABB", 5, "the boots make 5 pairs that follow each other"),
        ("ABABABABABAB", 6, "s came before t in every pair"),
        ("BABABABABABA", 6, "t came before s in every pair"),
        ("ABBAABBABA", 5, "5 boots each; a test needs 6 pairs of boots"),
        ("ABABABABABBAABAB", 8, "1 of 8 pairs have the rarer order"),
        ("BABABABAABBABABA", 8, "1 of 8 pairs have the rarer order"),
        ("ABABABBAABABABABABBA", 10, "2 of 10 pairs have the rarer order"),
    ],
)
def test_nothing_is_claimed_where_the_order_may_be_the_effect(
    bench: ReportBench, order: str, pairs: int, said: str
) -> None:
    result = in_order(bench, order)
    assert (result["verdict"], result["pairs"]) == ("descriptive-only", pairs)
    assert said in result["why"]
    assert {(e["ci95"], e["p"]) for e in result["endpoints"]} == {(None, None)}
    # All boots are described.
    assert result["boots"] == {"before": len(order) // 2, "after": len(order) // 2}


def test_a_boot_without_a_partner_is_named_and_left_out(bench: ReportBench) -> None:
    """A stock boot that was not followed by a tuned one is the loudest of all."""
    order = "ABBAABBAABA" + "ABAB"
    loud = in_order(bench, order, (*BEFORE[:5], 900.0, *BEFORE[5:]))
    assert (loud["verdict"], loud["pairs"]) == ("reduced", 7)
    assert loud["boots"] == {"before": 7, "after": 7}
    assert loud["unpaired"] == {"before": ["b5.json"], "after": []}
    assert "boots without a partner of the other kind beside them are left out: b5.json" in (
        " ".join(loud["flags"])
    )
    # The figures are those of the pairs alone.
    left = [f for f in loud["endpoints"] if f["primary"]][0]
    assert left["ranges"][0] == [97.0, 104.0]


def test_the_order_is_that_of_the_times_not_of_the_files(bench: ReportBench) -> None:
    turns = bench.json(arm("s", BEFORE)[::-1], arm("t", AFTER, first=1)[::-1])
    assert turns["verdict"] == "reduced"


def test_boots_that_start_together_have_no_order_within_their_pairs(bench: ReportBench) -> None:
    together = bench.json(arm("s", BEFORE, emulated=True), arm("t", AFTER, emulated=True))
    assert together["why"] == "p = 0.013, 8 pairs, order not known to be drawn; not pre-registered"
    assert together["order"] == "not known"


def unread(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**run, "started": "yesterday"} for run in runs]


def test_nothing_is_claimed_without_an_order(bench: ReportBench) -> None:
    for sides in (
        (arm("s", BEFORE, step=0, emulated=True), arm("t", AFTER, step=0, emulated=True)),
        (arm("s", BEFORE), unread(arm("t", AFTER))),
    ):
        result = bench.json(sides[0], sides[1])
        assert result["verdict"] == "descriptive-only"
        assert "the order of the boots is not known" in result["why"]


def test_a_trend_is_no_change_and_hides_none(bench: ReportBench) -> None:
    """Each boot is 5 % below the previous one; the second case adds a real change."""
    wanders = [100 * 0.95**n for n in range(16)]
    hours = [[int(run["started"][11:13]) for run in arm("x", BEFORE, first=n)] for n in (0, 1)]
    own, other = ([wanders[hour] for hour in taken] for taken in hours)
    trend = bench.json(arm("s", own), arm("t", other, first=1))
    assert trend["verdict"] == "no-measurable-change"
    fell = bench.json(arm("s", own), arm("t", [v / 10 for v in other], first=1))
    assert fell["verdict"] == "reduced"


def test_what_was_not_found_is_clear_after_more_pairs(bench: ReportBench) -> None:
    """Two pairs of eight disagree; and four pairs agree, which is not enough."""
    after = (90.0, 95.0, 100.0, 91.0, 93.0, 97.0, 96.0, 104.0)
    result = bench.json(arm("s", BEFORE), arm("t", after, first=1))
    assert result["verdict"] == "no-measurable-change"
    least, most = result["more_pairs"]
    assert 0 < least < most < 20
    words = f"clear after {least} to {most} more pairs: plan {8 + most} pairs and judge once"
    assert any(words in flag for flag in result["flags"])
    few = bench.json(arm("s", BEFORE[:4]), arm("t", AFTER[:4], first=1))
    assert (few["verdict"], few["more_pairs"]) == ("descriptive-only", [2, 2])
    assert any("clear after 2 more pairs: plan 6 pairs" in flag for flag in few["flags"])
    for found in (AFTER, BEFORE):
        known = bench.json(arm("s", BEFORE), arm("t", found, first=1))
        assert known["more_pairs"] is None
