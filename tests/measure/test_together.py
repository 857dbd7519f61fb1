# SPDX-License-Identifier: GPL-2.0-or-later
"""Gaps that several CPUs have at the same time, distinguished from gaps that coincide by chance."""

from __future__ import annotations

import json
from array import array
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowlat.measure.causes import together
from lowlat.measure.causes.attribution import attach
from lowlat.measure.causes.capture import Capture, CpuCapture, GapTimes
from lowlat.model.cpuset import CpuSet
from lowlat.report import load
from support.runs import ReportBench, document

SPAN = 10_000


def captured(cpus: int) -> Capture:
    return Capture(
        "none", "x86-tsc", (0, 0), (10**9, 10**9), 0, SPAN, SPAN,
        tuple(CpuCapture(cpu, 1, 0, SPAN, 0) for cpu in range(cpus)),
    )  # fmt: skip


def gaps(*spans: tuple[int, int]) -> GapTimes:
    return GapTimes(array("q", [one for one, _ in spans]), array("q", [end for _, end in spans]))


def test_three_cpus_at_the_same_time_are_named() -> None:
    own = {0: gaps((100, 200), (300, 400)), 1: gaps((150, 250)), 2: gaps((180, 190), (350, 360))}
    found = {one.cpus: one for one in together.find(captured(3), own)}
    assert {cpus: (one.events, one.time_ns, one.longest_ns) for cpus, one in found.items()} == {
        "0-1": (2, 40, 30), "0-2": (1, 10, 10), "0,2": (1, 10, 10),
    }  # fmt: skip
    assert found["0-2"].by_chance_ns == round(SPAN * 0.02 * 0.01 * 0.002)


def test_gaps_that_only_touch_are_not_at_the_same_time() -> None:
    assert together.find(captured(2), {0: gaps((0, 100)), 1: gaps((100, 200))}) == []
    within = {0: gaps((0, 100), (100, 200)), 1: gaps((50, 150))}
    (one,) = together.find(captured(2), within)
    assert (one.time_ns, one.events) == (100, 2)


@given(st.lists(st.lists(st.booleans(), min_size=60, max_size=60), min_size=1, max_size=4))
def test_the_same_as_counting_each_moment(away: list[list[bool]]) -> None:
    own = {}
    for cpu, moments in enumerate(away):
        edges = [at for at, (one, two) in enumerate(zip([False, *moments], [*moments, False]))
                 if one != two]  # fmt: skip
        own[cpu] = gaps(*zip(edges[::2], edges[1::2]))
    counted: dict[str, int] = {}
    for column in zip(*away):
        cpus = [cpu for cpu, one in enumerate(column) if one]
        if len(cpus) > 1:
            key = ",".join(map(str, cpus))
            counted[key] = counted.get(key, 0) + 1
    found = together.find(captured(len(away)), own)
    expanded = {",".join(map(str, CpuSet.parse_list(one.cpus))): one.time_ns for one in found}
    kept = sorted(counted.values(), reverse=True)[:10]
    assert sorted(expanded.values(), reverse=True) == kept
    assert all(counted[cpus] == time for cpus, time in expanded.items())


def test_a_capture_tells_them(tmp_path: Path) -> None:
    cpus = [{"cpu": cpu, "thread": 1, "begin": 0, "end": SPAN, "lost": 0} for cpu in (0, 1)]
    capture = {
        "schema": "lowlat.run-capture/1", "observer": "none", "clock": "x86-tsc",
        "first": [0, 0], "last": [10**9, 10**9], "begin_raw_ns": 0, "end_raw_ns": SPAN,
        "counted_ns": SPAN, "cpus": cpus,
    }  # fmt: skip
    (tmp_path / "capture.json").write_text(json.dumps(capture))
    (tmp_path / "gaps.csv").write_text("cpu,begin,end\n0,100,200\n1,150,250\n")
    found: dict[str, Any] = {"cpus": [{"cpu": 0}, {"cpu": 1}]}
    attach(found, tmp_path, tmp_path / "gaps.csv")
    (one,) = found["together"]
    assert (one["cpus"], one["time_ns"], one["longest_ns"]) == ("0-1", 50, 50)


def test_the_report_has_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bench = ReportBench(tmp_path, capsys)
    one = {"cpus": "2-3", "events": 9, "longest_ns": 5e6, "by_chance_ns": 12_000}
    stock = document("stock", 9.0, together=[{**one, "time_ns": 36_000_000}])
    tuned = document("tuned", 9.0, together=[{**one, "time_ns": 1_200_000}])
    result = bench.json([stock], [tuned])
    found = {e["name"]: (e["before"], e["after"], e["unit"]) for e in result["endpoints"]}
    assert found["together_ppm@CPUs 2-3"] == (300, 10, "ppm")
    assert found["together_ppm@CPUs 2-3 by chance"][0] == pytest.approx(0.1)
    status, out = bench.call(*bench.runs("b", stock))
    assert status == 0
    assert "away at the same time, ppm" in out and "CPUs 2-3 by chance" in out
    assert load(bench.write("run.json", stock)).runs
