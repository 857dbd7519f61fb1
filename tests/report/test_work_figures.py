# SPDX-License-Identifier: GPL-2.0-or-later
"""The time of a piece of work, in every output format of the report."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from lowlat.report import load
from support.runs import ReportBench, document, endpoint


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
        "a system call takes 1.50 times as long (kill: 200 ns before, 300 ns after)",
        "latency of work was 40 to 95 % shorter (usleep, memory), which is not tested",
        "latency of work was 48 % longer (kill), which is not tested",
    ]
    assert "a system call takes 1.50 times as long" in result["why"]


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
