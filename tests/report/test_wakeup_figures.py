# SPDX-License-Identifier: GPL-2.0-or-later
"""Wake-up latency in every form of the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lowlat.report import load
from report_runs import AFTER, BEFORE, Bench, arm, cpu_run, endpoint


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Bench:
    return Bench(tmp_path, capsys)


def woken(
    name: str, noise: tuple[float, ...], us: float, *, first: int = 0, interval: int = 1_000_000
) -> list[dict[str, Any]]:
    """Runs in which both CPUs woke so late at p99.9, and cyclictest at half of that."""
    chain = [{"class": "thread", "cause": f"hog of {name}", "time_ns": us * 4000}]
    late = {
        "interval_ns": interval,
        "late_ns": {
            "p50": 100 * us,
            "p99": 500 * us,
            "p99.9": 1e3 * us,
            "p99.99": 2e3 * us,
            "max": 4e3 * us,
        },
        "skipping_ns": {"p99.9": 700 * us},
        "longest": [{"begin_s": 1.5, "length_ns": us * 4000, "chain": chain}],
    }
    figures = {"0": us * 3, "1": us * 4, "p99.9": us / 2}
    opinion = {"tool": "cyclictest", "parsed": {"version": "2.40", "figures": figures}}
    runs = arm(name, noise, first=first)
    for run, ppm in zip(runs, noise):
        run["cpus"] = [cpu_run(cpu, 10.0, ppm, wakeup=late) for cpu in (2, 3)]
        run["second_opinions"] = [opinion]
    return runs


def test_p999_is_a_figure_of_the_claim(bench: Bench) -> None:
    result = bench.json(woken("s", BEFORE, 80), woken("t", AFTER, 20, first=1))
    found = endpoint(result, "wakeup_p99.9_ns")
    assert (found["before"], found["after"], found["ratio"]) == (80_000, 20_000, 4.0)
    assert found["p"] is not None and found["ratio_at_least"] > 1
    assert endpoint(result, "wakeup_max_ns", 3)["after"] == 80_000
    assert endpoint(result, "cyclictest_p99.9_us")["before"] == 40
    assert endpoint(result, "cyclictest_max_us")["before"] == 320
    latest = [gap for gap in result["longest_gaps"] if gap["wakeup"]]
    assert [gap["chain"][0]["cause"] for gap in latest] == ["hog of s", "hog of t"]


def test_the_gate_takes_it(bench: Bench) -> None:
    files = [
        bench.runs("b", *woken("s", BEFORE, 80)),
        bench.runs("a", *woken("t", AFTER, 20, first=1)),
    ]
    status, _ = bench.call(*files[0], "--against", *files[1], "--require", "wakeup_p99.9_ns>=2")
    assert status == 0


def test_it_stands_beside_cyclictest_with_their_agreement(bench: Bench) -> None:
    files = [
        bench.runs("b", *woken("s", BEFORE, 80)),
        bench.runs("a", *woken("t", AFTER, 20, first=1)),
    ]
    _, out = bench.call(*files[0], "--against", *files[1])
    lines = [line.split() for line in out.splitlines()]
    at = next(
        n
        for n, words in enumerate(lines)
        if words[:2] == ["wake-up", "latency,"] and "p50" in words
    )
    assert lines[at + 1][-5:] == ["8.00", "40.0", "80.0", "160.0", "320.0"]
    assert lines[at + 2][-3] == "56.0"
    assert lines[at + 3] == ["-", "cyclictest", "-", "-", "40.0", "-", "320.0"]
    assert lines[at + 4][:5] == ["-", "agreement", "-", "-", "1.40"]
    assert "s, CPU 2 at 1.500 s: the latest wake-up" in out
    status, alone = bench.call(*files[0])
    assert status == 0 and "- cyclictest" in alone and "the latest wake-up" in alone


def test_other_intervals_do_not_compare(bench: Bench) -> None:
    other = woken("t", AFTER, 20, first=1, interval=200_000)
    result = bench.json(woken("s", BEFORE, 80), other)
    assert any("intervals of wake-ups differ" in flag for flag in result["flags"])
    assert result["verdict"] == "descriptive-only"


def test_a_notebook_has_it(bench: Bench) -> None:
    (path, *_) = bench.runs("b", *woken("s", BEFORE, 80))
    assert [row["wakeup_p99.9_ns"] for row in load(path).cpus] == [80_000, 80_000]
