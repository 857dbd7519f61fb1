# SPDX-License-Identifier: GPL-2.0-or-later
"""The time of a piece of work, in every output format of the report."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any, Callable

import pytest

from lowlat.report import load
from support import runs as noises
from support.runs import SMALLEST, ReportBench, arm, document, endpoint


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> ReportBench:
    return ReportBench(tmp_path, capsys)


def piece(kind: str, cpu: int, mean: float, variance: float, **more: Any) -> dict[str, Any]:
    times = {"p50_ns": mean - 9, "p99_ns": mean + 9, "p99.9_ns": mean + 90, "max_ns": mean + 900}
    own = {"kind": kind, "cpus": str(cpu), "beside": "2-3", "requested_ns": 0, "samples": 9}
    return {**own, "mean_ns": mean, "variance_ns2": variance, **times, **more}


def worked(label: str, *pieces: dict[str, Any], **more: Any) -> dict[str, Any]:
    return document(label, 10.0, work=list(pieces), **more)


BEFORE = worked(
    "stock",
    piece("usleep", 2, 200_000, 1000, requested_ns=100_000),
    piece("usleep", 3, 400_000, 3000, requested_ns=100_000),
    piece("memory", 2, 500, 40),
    piece("kill", 2, 209, 10),
)
AFTER = worked(
    "tuned",
    piece("usleep", 2, 110_000, 100, requested_ns=100_000),
    piece("usleep", 3, 110_000, 300, requested_ns=100_000),
    piece("memory", 2, 300, 38),
    piece("kill", 2, 309, 20),
)


def test_the_figures_of_work_in_json(bench: ReportBench) -> None:
    result = bench.json([BEFORE], [AFTER])
    mean = endpoint(result, "work_mean_ns@usleep")
    assert (mean["unit"], mean["before"], mean["after"]) == ("ns", 300_000, 110_000)
    assert endpoint(result, "work_variance_ns2@usleep", 3)["before"] == 3000
    assert endpoint(result, "work_max_ns@usleep")["before"] == 400_900
    assert endpoint(result, "work_p99.9_ns@memory", 2)["after"] == 390


def test_what_became_faster_and_what_dearer_is_a_sentence_each(bench: ReportBench) -> None:
    result = bench.json([BEFORE], [AFTER])
    # For a sleep, the time beyond the requested one counts: 200,000 and 10,000 ns on average.
    assert result["flags"][:3] == [
        "a system call takes 1.50 times as long (kill: 200 ns before, 300 ns after), which is not "
        "tested",
        "latency of work was 40 to 95 % shorter (usleep, memory), which is not tested",
        "latency of work was 48 % longer (kill), which is not tested",
    ]
    assert "a system call takes 1.50 times as long" in result["why"]


def boots(
    name: str, first: int, *pieces: Callable[[float], dict[str, Any]]
) -> list[dict[str, Any]]:
    """Eight boots that differ by a percent or so."""
    made = arm(name, noises.BEFORE, first=first)
    for run, factor in zip(made, noises.BEFORE):
        run["work"] = [of(factor / 100) for of in pieces]
    return made


def test_over_pairs_of_boots_work_has_the_verdicts_of_all_figures(bench: ReportBench) -> None:
    before = boots(
        "s",
        0,
        lambda f: piece("usleep", 2, 200_000 * f, 1000, requested_ns=100_000),
        lambda f: piece("memory", 2, 500 * f, 40),
        lambda f: piece("kill", 2, 209 * f, 10),
    )
    after = boots(
        "t",
        1,
        lambda f: piece("usleep", 2, 110_000, 100, requested_ns=100_000),
        lambda f: piece("memory", 2, 900 - 400 * f, 38),
        lambda f: piece("kill", 2, 309 * f, 20),
    )
    result = bench.json(before, after)
    found = {
        kind: endpoint(result, f"work_mean_ns@{kind}") for kind in ("usleep", "memory", "kill")
    }
    assert found["usleep"]["p"] == found["kill"]["p"] == pytest.approx(SMALLEST)
    assert found["kill"]["ci95"][1] < 1 < found["usleep"]["ci95"][0]
    assert found["memory"]["p"] > 0.05
    told = " | ".join(result["flags"])
    for words in (
        "latency of work reduced: 90 % shorter (usleep)",
        "latency of work increased: 48 % longer (kill)",
        "latency of work: no measurable change (memory)",
    ):
        assert words in told
    assert "not tested" not in told
    # They take nothing from the claim, whose p values stay.
    bare = [[{**run, "work": []} for run in side] for side in (before, after)]
    alone = bench.json(bare[0], bare[1])
    for name in ("noise_ppm", "interrupts_per_s"):
        assert endpoint(alone, name)["p"] == endpoint(result, name)["p"]
    files = bench.runs("b", *before), bench.runs("a", *after)
    rows = bench.call(*files[0], "--against", *files[1])[1].splitlines()
    assert any(row.startswith("kill ") and row.endswith(" 0.013") for row in rows)


def test_a_system_call_is_no_dearer_where_the_test_finds_no_change(bench: ReportBench) -> None:
    swings = (0.7, 1.5, 0.8, 1.6, 1.4, 0.9, 1.2, 1.3)
    sides = [
        [
            {**run, "work": [piece("kill", 2, 200 * factor, 9)]}
            for run, factor in zip(arm(name, noises.BEFORE, first=n), factors)
        ]
        for n, (name, factors) in enumerate((("s", (1.0,) * 8), ("t", swings)))
    ]
    result = bench.json(sides[0], sides[1])
    assert "latency of work: no measurable change (kill)" in result["flags"]
    assert "a system call" not in result["why"]


def test_work_that_takes_as_long_as_before_is_no_sentence(bench: ReportBench) -> None:
    assert not any("work" in flag for flag in bench.json([BEFORE], [BEFORE])["flags"])


def test_work_in_text_markdown_csv_and_notebooks(bench: ReportBench) -> None:
    files = [*bench.runs("b", BEFORE), "--against", *bench.runs("a", AFTER)]
    table = bench.folder / "table.csv"
    out = bench.call(*files, "--csv", str(table))[1]
    (row,) = [line.split() for line in out.splitlines() if line.startswith("memory ")]
    assert row[:4] == ["memory", "500.0", "->", "300.0"] and row[-3:] == ["1.26", "->", "2.05"]
    assert "| memory | 500.0 -> 300.0 |" in bench.call(*files, "--markdown")[1].replace("\\", "")
    (line,) = [
        row
        for row in csv.DictReader(table.open())
        if (row["name"], row["cpu"]) == ("work_mean_ns@kill", "2")
    ]
    assert (line["before"], line["after"]) == ("209.0", "309.0")
    alone = bench.call(files[0])[1]
    (row,) = [line.split() for line in alone.splitlines() if line.startswith("kill ")]
    assert row[1:] == ["209.0", "200.0", "218.0", "299.0", "1,109", "1.51"]
    rows = {(row["kind"], row["cpu"]): row for row in load(files[0]).work}
    assert rows["usleep", 3]["mean_ns"] == 400_000
    assert rows["kill", 2]["variance_ns2"] == 10


def test_durations_of_emulated_work_are_not_told(bench: ReportBench) -> None:
    one, other = ({**run, "emulated": True} for run in (BEFORE, AFTER))
    assert "work" not in json.dumps(bench.json([one], [other]))
