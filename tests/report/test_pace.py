# SPDX-License-Identifier: GPL-2.0-or-later
"""Pace beside noise: a CPU that is left alone and runs slower has not been made faster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from report_runs import AFTER, BEFORE, Bench, arm, cpu_run, endpoint


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Bench:
    return Bench(tmp_path, capsys)


def paced(name: str, noise: tuple[float, ...], readings: int, first: int = 0) -> list[Any]:
    work = {"min": 1, "p1": readings // 2, "p50": readings, "p99": readings, "max": readings}
    runs = arm(name, noise, first=first)
    for run, ppm in zip(runs, noise):
        pace = {"window_ns": 1_000_000, "windows": 9, "work": work}
        run["cpus"] = [cpu_run(cpu, 10.0, ppm, pace=pace) for cpu in (2, 3)]
    return runs


def test_less_noise_on_a_slower_cpu_is_told_beside_the_finding(bench: Bench) -> None:
    result = bench.json(paced("s", BEFORE, 80_000), paced("t", AFTER, 40_000, first=1))
    assert endpoint(result, "pace_p50")["ratio"] == 2.0
    assert endpoint(result, "pace_p1", 2)["after"] == 20_000
    assert result["verdict"] == "reduced"
    assert "noise fell 2 times, but the CPU runs 2 times slower (pace_p50)" in result["why"]


def test_a_pace_that_varies_as_paces_do_is_no_news(bench: Bench) -> None:
    result = bench.json(paced("s", BEFORE, 80_000), paced("t", AFTER, 76_000, first=1))
    assert "slower" not in json.dumps(result)
