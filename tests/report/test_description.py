# SPDX-License-Identifier: GPL-2.0-or-later
"""``report ONE``: runs by themselves, and causes in every form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lowlat.base.errors import Refused
from report_runs import AFTER, BEFORE, Bench, arm, cpu_run, document, endpoint


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Bench:
    return Bench(tmp_path, capsys)


def cause(kind: str, name: str, events: int, time_ns: int) -> dict[str, Any]:
    return {"class": kind, "cause": name, "events": events, "time_ns": time_ns}


TRACED = [cause("irq", "local_timer", 12_000, 24_000_000), cause("thread", "kworker", 3, 12_000)]


def traced(label: str, **changes: Any) -> dict[str, Any]:
    cpus = [cpu_run(n, 100.0, 1200.0, causes=TRACED) for n in (2, 3)]
    return document(label, 0, cpus=cpus, **changes)


def test_one_run_is_described(bench: Bench) -> None:
    status, out = bench.call(*bench.runs("x", traced("quiet")))
    lines = out.splitlines()
    assert status == 0
    assert lines[0] == (
        "quiet on CPUs 2-3, 120 s: noise 1,200 ppm (0.12 %), the longest gap 5.40 us, 100.0 "
        "interrupts/s (complete)."
    )
    (row,) = [line.split() for line in lines if line.startswith("2 ")]
    # CPU, seconds, noise in percent, longest, interrupts, and how many of each class.
    assert row == ["2", "120", "0.12", "5.40", "100.0", "12,000", "3"]
    assert any(line.split() == ["irq:", "local_timer", "200.0"] for line in lines)


def test_the_description_in_json_and_markdown(bench: Bench) -> None:
    (file,) = bench.runs("x", traced("quiet", complete=False, problems=["interrupted"]))
    found = json.loads(bench.call(file, "--json")[1])
    assert (found["schema"], found["label"], found["runs"]) == ("lowlat.description/1", "quiet", 1)
    assert (found["complete"], found["flags"]) == (False, ["interrupted"])
    figures = {(one["name"], one["cpu"]): one["value"] for one in found["figures"]}
    assert figures["noise_ppm", 2] == figures["noise_ppm", "all"] == pytest.approx(1200.0)
    assert figures["cause_ppm@irq: local_timer", "all"] == pytest.approx(200.0)
    assert figures["cause_per_s@irq: local_timer", 3] == pytest.approx(100.0)
    marked = bench.call(file, "--markdown")[1]
    assert marked.startswith("**quiet on CPUs 2-3, 120 s: ") and "(PARTIAL)" in marked


def test_several_runs_are_described_together(bench: Bench) -> None:
    _, out = bench.call(*bench.runs("x", *arm("s", BEFORE)))
    assert out.startswith("s on CPUs 2-3, 600 s in 5 runs of 5 boots: noise 100.4 ppm")


@pytest.mark.parametrize("words", [["--require", "noise_ppm>=2"], ["--csv", "x.csv"]])
def test_what_takes_two_arms_is_refused(bench: Bench, words: list[str]) -> None:
    with pytest.raises(Refused, match=f"{words[0]}: two sets of runs are needed"):
        bench.call(*bench.runs("x", traced("quiet")), *words)


def test_causes_are_in_every_form_of_a_comparison(bench: Bench) -> None:
    before = arm("s", BEFORE, cpus=[cpu_run(2, 100.0, 1200.0, causes=TRACED)])
    after = arm("t", AFTER, first=1, cpus=[cpu_run(2, 1.0, 10.0, causes=TRACED[1:])])
    result = bench.json(before, after)
    found = endpoint(result, "cause_ppm@irq: local_timer")
    assert (found["before"], found["after"], found["p"]) == (pytest.approx(200.0), 0.0, None)
    assert endpoint(result, "cause_per_s@thread: kworker", 2)["ratio"] == pytest.approx(1.0)
    files = [*bench.runs("b", *before), "--against", *bench.runs("a", *after)]
    table = str(bench.folder / "table.csv")
    out = bench.call(*files, "--csv", table)[1]
    (row,) = [line for line in out.splitlines() if line.startswith("irq: local_timer")]
    assert row.split()[2:] == ["200.0", "(100.0)", "0", "-"]
    assert r"| irq: local\_timer | 200.0 (100.0) | 0 | - |" in bench.call(*files, "--markdown")[1]
    assert "cause_ppm@irq: local_timer,ppm,all,200" in Path(table).read_text()


def test_a_cause_that_is_gone_keeps_its_row(bench: Bench) -> None:
    before = arm("s", BEFORE, cpus=[cpu_run(2, 100.0, 1200.0, causes=TRACED)])
    after = arm("t", AFTER, first=1, cpus=[cpu_run(2, 0.0, 0.0, causes=[])])
    traced_too = [{**run, "attribution": {"observer": "trace"}} for run in after]
    row = endpoint(bench.json(before, traced_too), "cause_ppm@irq: local_timer")
    assert (row["before"], row["after"]) == (pytest.approx(200.0), 0.0)
