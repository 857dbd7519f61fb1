# SPDX-License-Identifier: GPL-2.0-or-later
"""The runs as tables for notebooks."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest

from lowlat.base.errors import Refused
from lowlat.report import load
from support.runs import ReportBench, cpu_run, document


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> ReportBench:
    return ReportBench(tmp_path, capsys)


def test_runs_as_tidy_tables(bench: ReportBench) -> None:
    cause = {"class": "irq", "cause": "local_timer", "events": 4, "time_ns": 900}
    cpus = [cpu_run(2, 4.0, causes=[cause]), cpu_run(3, 8.0)]
    files = bench.runs("r", document("stock", 0, cpus=cpus), document("tuned", 2.0))
    tables = load(*files)
    assert [row["label"] for row in tables.runs] == ["stock", "tuned"]
    assert [(row["run"], row["cpu"]) for row in tables.cpus] == [
        (f, c) for f in files for c in (2, 3)
    ]
    assert tables.cpus[1]["interrupts_per_s"] == 8.0
    assert tables.cpus[1]["events_per_s@10us"] == 0.8
    assert tables.histogram[0] == {
        **{"run": files[0], "cpu": 2},
        **{"lower_ns": 100.0, "upper_ns": 200.0, "count": 5},
    }
    assert [(row["source"], row["per_s"]) for row in tables.interrupts[:2]] == [
        ("LOC", 3.0),
        ("24", 1.0),
    ]
    assert {row["source"] for row in tables.softirqs} == {"TIMER", "RCU"}
    assert tables.causes == ({"run": files[0], "cpu": 2, **cause},)
    for name in ("runs", "cpus", "histogram", "interrupts", "softirqs", "causes"):
        assert len({tuple(row) for row in getattr(tables, name)}) == 1


def test_a_table_that_is_none(bench: ReportBench) -> None:
    tables = load(*bench.runs("r", document("stock", 4.0)))
    with pytest.raises(Refused, match="no table 'cpu'"):
        tables.frame("cpu")


def test_a_table_as_a_data_frame(bench: ReportBench, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = load(*bench.runs("r", document("stock", 4.0)))
    monkeypatch.setitem(sys.modules, "pandas", types.SimpleNamespace(DataFrame=tuple))
    assert tables.frame("cpus") == tables.cpus
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(Refused, match="pandas is not installed"):
        tables.frame("cpus")
