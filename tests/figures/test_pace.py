# SPDX-License-Identifier: GPL-2.0-or-later
"""Pace beside noise: an undisturbed CPU that runs slower has not become faster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lowlat.figures.pace import steps
from support.runs import AFTER, BEFORE, ReportBench, arm, cpu_run, document, endpoint


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> ReportBench:
    return ReportBench(tmp_path, capsys)


def paced(name: str, noise: tuple[float, ...], readings: int, first: int = 0) -> list[Any]:
    work = {"min": 1, "p1": readings // 2, "p50": readings, "p99": readings, "max": readings}
    runs = arm(name, noise, first=first)
    for run, ppm in zip(runs, noise):
        pace = {"window_ns": 1_000_000, "windows": 9, "work": work}
        run["cpus"] = [cpu_run(cpu, 10.0, ppm, pace=pace) for cpu in (2, 3)]
    return runs


def test_less_noise_on_a_slower_cpu_is_told_beside_the_finding(bench: ReportBench) -> None:
    result = bench.json(paced("s", BEFORE, 80_000), paced("t", AFTER, 40_000, first=1))
    assert endpoint(result, "pace_p50")["ratio"] == 2.0
    assert endpoint(result, "pace_p1", 2)["after"] == 20_000
    assert result["verdict"] == "reduced"
    assert "noise fell 2 times, but the CPU runs 2 times slower" in result["why"]


def test_a_pace_that_varies_as_paces_do_is_no_news(bench: ReportBench) -> None:
    result = bench.json(paced("s", BEFORE, 80_000), paced("t", AFTER, 76_000, first=1))
    assert "slower" not in json.dumps(result)


# Steps of the pace over the time of a run


def stepped(name: str, paces: list[float], **power: Any) -> dict[str, Any]:
    """CPU 2 has these paces, one for each second; CPU 3 has the first pace throughout."""
    cpus = []
    for cpu, own in ((2, paces), (3, paces[:1] * len(paces))):
        none = [0.0] * len(own)
        series = {"noise_ns": none, "gaps": none, "interrupts": None, "readings_per_ms": own}
        cpus.append(cpu_run(cpu, 10.0, series=series, power=power or None))
    ends = {"step_s": 1, "ends_s": [*range(1, len(paces) + 1)]}
    return document(name, 10.0, cpus=cpus, series=ends)


@pytest.mark.parametrize(
    ("paces", "found"),
    [
        ([100] * 12 + [50] * 8, [(12, 2.0)]),
        # A step within a second; and a step back.
        ([100] * 4 + [70] + [50] * 5 + [100] * 5, [(4, 2.0), (10, 0.5)]),
        ([100] * 4 + [95] + [50] * 5, [(5, 2.0)]),
        ([100, 100, 50, 50, 50], [(2, 2.0)]),
        # Ordinary variation; a single second; seconds in which the loop was always disturbed.
        ([100, 96, 102, 98, 94, 100, 93], []),
        ([100, 100, 100, 40, 100, 100, 100], []),
        ([100, 0, 0, 100, 0, 100], []),
        ([0, 100, 100, 100, 0, 0, 25, 25, 25], [(6, 4.0)]),
        ([], []),
        ([100], []),
    ],
)
def test_steps_of_known_size_are_found(paces: list[float], found: list[tuple[int, float]]) -> None:
    ends = [float(end) for end in range(1, len(paces) + 1)]
    assert [(one.begin_s, one.ratio) for one in steps(ends, paces)] == found


def test_a_step_is_named_with_its_cpu_and_time(bench: ReportBench) -> None:
    slowed = stepped("stock", [100.0] * 12 + [50.0] * 8)
    words = "CPU 2: the pace fell 2.0 times at 12 s; the frequency was not readable"
    (path,) = bench.runs("r", slowed)
    assert json.loads(bench.call(path, "--json")[1])["flags"] == [words]
    assert words in bench.call(path)[1]
    result = bench.json([slowed], [stepped("tuned", [100.0] * 20)])
    assert [flag for flag in result["flags"] if "pace" in flag] == [f"{words} (stock b0.json)"]


@pytest.mark.parametrize(
    ("power", "words"),
    [
        ({"khz": [3000000, 1500000]}, "was 3,000 MHz before the run and 1,500 MHz after it"),
        ({"khz": [3000000]}, "the frequency was not readable"),
        ({"khz": None, "aperf_mperf": 0.75}, "the clock ran at 75 % of the nominal rate"),
    ],
)
def test_a_step_has_the_frequency_beside_it(
    bench: ReportBench, power: dict[str, Any], words: str
) -> None:
    (path,) = bench.runs("r", stepped("stock", [100.0] * 4 + [50.0] * 4, **power))
    (flag,) = json.loads(bench.call(path, "--json")[1])["flags"]
    assert "fell 2.0 times at 4 s; " in flag and words in flag


def test_where_the_frequency_is_read_each_second_it_is_told_at_the_step(bench: ReportBench) -> None:
    run = stepped("stock", [100.0] * 4 + [50.0] * 4, khz=[2000000, 2000000])
    run["cpus"][0]["series"]["khz"] = [3000000] * 4 + [1500000] * 4
    (path,) = bench.runs("r", run)
    (flag,) = json.loads(bench.call(path, "--json")[1])["flags"]
    assert flag.endswith("the frequency was 3,000 MHz before that and 1,500 MHz after it")


def test_a_pace_that_never_rests_is_told_in_short(bench: ReportBench) -> None:
    (path,) = bench.runs("r", stepped("stock", ([100.0] * 3 + [50.0] * 3) * 4))
    (flag,) = json.loads(bench.call(path, "--json")[1])["flags"]
    assert "fell 2.0 times at 3 s, rose 2.0 times at 6 s, fell 2.0 times at 9 s and changed" in flag
    assert "changed 4 times more" in flag
