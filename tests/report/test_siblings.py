# SPDX-License-Identifier: GPL-2.0-or-later
"""An isolated CPU whose SMT sibling is at work, on machines made up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lowlat.host.cpu_idle import busy_shares, idle_ticks
from lowlat.host.root import Root
from report_runs import Bench, document

PAIRS = [{"cpus": "0,2"}, {"cpus": "1,3"}]


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Bench:
    return Bench(tmp_path, capsys)


def made(label: str, busy: dict[str, float], layout: list[dict[str, str]]) -> dict[str, Any]:
    return document(label, 9.0, isolated="2-3", host={"layout": layout, "busy": busy})


def told(bench: Bench, run: dict[str, Any]) -> list[str]:
    _, out = bench.call(*bench.runs("b", run))
    return [line for line in out.splitlines() if "sibling" in line]


def test_a_busy_sibling_is_named(bench: Bench) -> None:
    run = made("stock", {"0": 0.97, "1": 0.01, "2": 1.0, "3": 1.0}, PAIRS)
    words = "CPU 2 is isolated, but its SMT sibling was busy for 97 % of the time"
    assert told(bench, run) == [f"Note: {words}"]
    idle = made("tuned", {"0": 0.01, "1": 0.0, "2": 1.0, "3": 1.0}, PAIRS)
    assert f"{words} (stock b0.json)" in bench.json([run], [idle])["flags"]


def test_siblings_that_are_both_measured_disturb_each_other(bench: Bench) -> None:
    pair = [{"cpus": "2-3"}, {"cpus": "0-1"}]
    assert len(told(bench, made("stock", {"2": 1.0, "3": 1.0}, pair))) == 2


@pytest.mark.parametrize("layout", [[], [{"cpus": "2"}, {"cpus": "3"}]])
def test_without_smt_there_is_none(bench: Bench, layout: list[dict[str, str]]) -> None:
    assert told(bench, made("stock", {"0": 1.0, "2": 1.0, "3": 1.0}, layout)) == []


def test_idle_time_is_read_from_a_made_up_tree(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "stat").write_text("cpu 9 9 9 9\ncpu0 1 2 3 40 5 6\ncpu7 1 2 3 70 1 0\n")
    assert idle_ticks(Root(str(tmp_path))) == {0: 45, 7: 71}


def test_the_share_of_a_cpu_is_between_none_and_all() -> None:
    """The counters are whole ticks, and may go backwards: a run with a share below zero could not
    be read again."""
    before, after = {0: 100, 1: 100, 2: 100, 3: 100}, {0: 102, 1: 99, 2: 100, 4: 7}
    assert busy_shares(before, after, 1.5) == {0: 0.0, 1: 1.0, 2: 1.0}
    assert busy_shares({0: 0}, {0: 30}, 100.0) == {0: 0.7}
