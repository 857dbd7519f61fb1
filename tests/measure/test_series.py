# SPDX-License-Identifier: GPL-2.0-or-later
"""A run in steps: in the harness's document, and as a notebook gets it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lowlat.measure.run_file import read_run
from lowlat.model.run import Series
from lowlat.report import load
from support.runs import cpu_run, document


def stepped(path: Path, **own: Any) -> Path:
    """A run of 2.5 s in steps of a second, on CPU 2; CPU 3 has no series."""
    series = {"noise_ns": [10, 20, 5], "gaps": [1, 2, 0], "interrupts": [4, 0, 1]}
    series.update({"readings_per_ms": [90, 90, 45], "khz": [3000000, 3000000, 1500000], **own})
    cpus = [cpu_run(2, 4.0, series=series), cpu_run(3, 4.0, series=None)]
    ends = {"step_s": 1, "ends_s": [1.0, 2.0, 2.5]}
    path.write_text(json.dumps(document("a", 4.0, cpus=cpus, series=ends)))
    return path


def test_a_run_knows_its_steps(tmp_path: Path) -> None:
    run = read_run(stepped(tmp_path / "run.json"))
    series = run.cpu(2).series
    assert run.ends_s == (1.0, 2.0, 2.5)
    khz = (3_000_000, 3_000_000, 1_500_000)
    assert series == Series((10, 20, 5), (1, 2, 0), (4, 0, 1), (90, 90, 45), khz)
    assert run.cpu(3).series is None


@pytest.mark.parametrize("document_series", [None, "missing"])
def test_a_run_of_an_older_harness_has_none(tmp_path: Path, document_series: object) -> None:
    path = stepped(tmp_path / "run.json")
    run = json.loads(path.read_text())
    if document_series is None:
        run["series"] = None
    else:
        del run["series"]
    for cpu in run["cpus"]:
        del cpu["series"]
    path.write_text(json.dumps(run))
    assert all(cpu.series is None for cpu in read_run(path).cpus)
    assert load(path).series == ()


def test_a_notebook_gets_a_row_a_step(tmp_path: Path) -> None:
    path = stepped(tmp_path / "run.json")
    rows = load(path).series
    assert rows[1] == {
        **{"run": str(path), "cpu": 2, "begin_s": 1.0, "end_s": 2.0},
        **{"noise_ns": 20, "gaps": 2, "interrupts": 0, "readings_per_ms": 90, "khz": 3000000},
    }
    assert [row["end_s"] for row in rows] == [1.0, 2.0, 2.5]
    uncounted = load(stepped(tmp_path / "uncounted.json", interrupts=None, khz=None)).series
    assert [row["interrupts"] for row in uncounted] == [None] * 3
    assert [row["khz"] for row in uncounted] == [None] * 3
