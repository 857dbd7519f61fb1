# SPDX-License-Identifier: GPL-2.0-or-later
"""The wake-up latency of a thread that sleeps on a schedule: what the run counts, and a comparison
with cyclictest."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from test_causes import CLOCK, SPIN, line, switch

from lowlat.measure.causes.attribution import attach
from lowlat.measure.tools import cyclictest, results
from lowlat.model.tool import MoreThan
from support import needs, procs, waits
from support.harness import SHORT, Bench, needs_root, needs_two_cpus, option

__all__ = ["CLOCK"]
pytest_plugins = ["support.harness"]
pytestmark = needs_two_cpus

TOOLS = Path(__file__).parents[1] / "data" / "tools"

#: A cyclictest for the harness's call, which ends at once.
PLAYED = "echo '# Max Latencies: 00012'"


@pytest.mark.parametrize("policy", ["other", "fifo:1", "rr:1", "deadline:1ms/2ms"])
def test_each_moment_of_the_schedule_is_counted_once(bench: Bench, policy: str) -> None:
    bench.play("cyclictest", PLAYED)
    done = bench.call(*SHORT, "--cpus", "1", "--wakeup", "2ms", "--policy", policy)
    if done.status == 2 and policy != "other":
        needs.absent(done.err)
    woken = done.run["cpus"][0]["wakeup"]
    assert (woken["interval_ns"], woken["samples"]) == (2_000_000, 150)
    assert sum(count for _, _, count in woken["histogram"]["counts"]) == 150
    values = [woken["late_ns"][key] for key in ("p50", "p99", "p99.9", "p99.99", "max")]
    assert all(low <= high * 1.001 for low, high in zip(values, values[1:]))
    assert "wake-up of CPU 1: 150 times" in done.out
    begin, end = woken["max_ticks"]
    span_ns = 1e9 * (end - begin) / done.run["clock"]["hz"]
    assert span_ns == pytest.approx(woken["late_ns"]["max"], abs=10)
    (opinion,) = done.run["second_opinions"]
    assert "--interval=2000" in opinion["command"]


def test_what_waited_for_a_late_one_counts_as_late_as_it_was(bench: Bench) -> None:
    """A process that is stopped for a second misses 1000 wake-ups, not one."""
    bench.play("cyclictest", PLAYED)
    run = bench.start("--cpus", "1", "--duration", "4s", "--warmup", "0s", "--no-oslat",
                      "--wakeup=1ms", "--json", str(bench.json))  # fmt: skip
    waits.phase(run.phases, "wakeup")
    waits.until(lambda: any(procs.sleeps(thread) > 199 for thread in procs.threads(run.pid)[1:]))
    run.send_signal(signal.SIGSTOP)
    bench.let_pass(1)
    run.send_signal(signal.SIGCONT)
    woken = bench.result(run).run["cpus"][0]["wakeup"]
    late = sum(count for low, _, count in woken["histogram"]["counts"] if low >= 50_000_000)
    assert woken["samples"] == 4000
    assert woken["late_ns"]["max"] >= 990_000_000
    assert woken["skipping_ns"]["p99"] < woken["late_ns"]["p99"]
    assert woken["skipping_ns"]["max"] == woken["late_ns"]["max"]
    assert late >= 900, "950 moments or more waited for 50 ms"


def test_under_emulation_there_is_none(bench: Bench) -> None:
    done = bench.call(*SHORT, "--wakeup", "--emulated")
    assert [cpu["wakeup"] for cpu in done.run["cpus"]] == [None] * len(done.run["cpus"])
    assert done.said("--wakeup was left out")


@pytest.mark.root
@needs_root
def test_cyclictest_gets_the_same_policy(bench: Bench) -> None:
    bench.play("cyclictest", PLAYED)
    done = bench.call(*SHORT, "--cpus", "1", "--policy", "rr:3", "--second-opinion", "cyclictest")
    command = done.run["second_opinions"][0]["command"]
    assert {"--policy=rr", "--priority=3", "--default-system"} <= set(command)
    assert option(command, "--duration") is None, "joined"


def test_mixed_work_has_every_kind_on_every_cpu_beside_another(bench: Bench) -> None:
    words = ("--cpus", "0-1", "--work", "memory,kill,registers", "--work-mixed")
    work = bench.call(*SHORT, *words).run["work"]
    kinds = ["memory", "kill", "registers"]
    each = [(one["cpus"], one["kind"]) for one in work]
    assert sorted(each) == sorted((cpu, kind) for cpu in ("0", "1") for kind in kinds)
    pairs = [(work[at]["kind"], work[at + 1]["kind"]) for at in range(0, 6, 2)]
    assert all(first != second for first, second in pairs)
    assert all(one["mixed"] and one["beside"] == "0-1" for one in work)


# cyclictest's histogram


@pytest.mark.parametrize("release", ["2.4", "2.6", "2.10"])
def test_the_percentiles_of_cyclictest(release: str) -> None:
    document = json.loads((TOOLS / f"cyclictest-{release}-json.json").read_text())
    found = cyclictest.read_json(document).result.times
    for one, thread in zip(found, document["thread"].values()):
        # Wake-ups beyond the histogram were later than all in it.
        values = sorted(int(us) for us, n in thread["histogram"].items() for _ in range(n))
        middle = values[-(-thread["cycles"] // 2) - 1] + 0.5
        assert one.percentile_us(0.5) == pytest.approx(middle)
        assert isinstance(one.percentile_us(0.9999), MoreThan), "it lies above the histogram"


def test_a_tools_json_is_read_before_its_text() -> None:
    written = (TOOLS / "cyclictest-2.4-json.json").read_text()
    printed = (TOOLS / "cyclictest-2.4-text.txt").read_text()
    for part, most in (({"output": printed, "json": written}, 40979), ({"output": printed}, 5107)):
        opinion: dict[str, Any] = {"tool": "cyclictest", "cpus": "2-3", **part}
        run: dict[str, Any] = {"second_opinions": [opinion]}
        results.add(run)
        times = opinion["parsed"]["times"]
        assert max(one["max_us"] for one in times) == most
        assert [one["cpu"] for one in times] == ([0, 1] if "json" in part else [2, 3])


# The latest wake-up and the trace


def test_the_latest_wakeup_has_its_causes(tmp_path: Path) -> None:
    hog = ("hog", 9)
    lines = [
        switch(500, SPIN, hog),
        line(1200, "local_timer_entry: vector=236", 9, "hog"),
        line(1300, "local_timer_exit: vector=236", 9, "hog"),
        switch(3000, hog, ("lowlat-measure", SPIN[1] + 1)),
    ]
    sleeper = SPIN[1] + 1
    capture = {
        "schema": "lowlat.run-capture/1", "observer": "trace", "clock": "x86-tsc",
        "first": [0, 0], "last": [10**9, 10**9], "begin_raw_ns": 0, "end_raw_ns": 10**9,
        "counted_ns": 0,
        "cpus": [{"cpu": 1, "thread": SPIN[1], "begin": 0, "end": 400, "lost": 0}],
    }  # fmt: skip
    (tmp_path / "capture.json").write_text(json.dumps(capture))
    (tmp_path / "trace.1").write_text("\n".join(lines) + "\n")
    (tmp_path / "trace.senders").write_text("\n")
    (tmp_path / "gaps.csv").write_text("cpu,begin,end\n")
    woken: dict[str, object] = {"max_ticks": [1000, 3100], "thread": sleeper}
    document: dict[str, object] = {"cpus": [{"cpu": 1, "wakeup": woken}]}
    attach(document, tmp_path, tmp_path / "gaps.csv")
    found = woken["longest"]
    assert isinstance(found, list)
    (longest,) = found
    told = [(link["cause"], link["time_ns"]) for link in longest["chain"]]
    assert told == [("hog", 2000), ("local_timer", 100)]
    assert longest["length_ns"] == 2100
