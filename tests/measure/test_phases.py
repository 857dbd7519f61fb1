# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``--phases`` tells, and that neither its reader nor other programs notice more."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support import procs, waits
from support.harness import (
    SHORT,
    WAITS,
    Bench,
    metrics,
    needs_two_cpus,
)

pytest_plugins = ["support.harness"]
pytestmark = needs_two_cpus


def test_each_phase_has_a_line_in_its_order(bench: Bench) -> None:
    bench.play("stress-ng", metrics("matrix"))
    bench.play("cyclictest", "echo '# Max Latencies: 00012'")
    bench.play("oslat", "echo 'Core: 1'")
    words = ("--cpus", "1", *SHORT[:2], "--warmup", "1ms", "--wakeup", "--work", "usleep")
    run = bench.start(*words, "--oslat", "--throughput", "1", "--json", str(bench.json))
    assert run.phases.read().split() == [
        *("ready", "warm-up", "measuring", "measured", "wakeup", "oslat", "cyclictest"),
        *("work", "throughput", "writing"),
    ]
    assert bench.result(run).status == 0
    assert bench.start(*SHORT).phases.read().split() == [
        "ready",
        "measuring",
        "measured",
        "writing",
    ]


@pytest.mark.parametrize("phase", ["ready", "warm-up", "measuring", "wakeup", "work"])
def test_a_reader_that_goes_away_ends_the_run(bench: Bench, phase: str) -> None:
    after = {"wakeup": ["--wakeup"], "work": ["--work", "all"]}.get(phase, [])
    words = ["--duration", "2s" if after else "60s", "--warmup", "60s" if "m-up" in phase else "0s"]
    run = bench.start(*words, *after, "--no-oslat", "--json", str(bench.json))
    waits.phase(run.phases, phase)
    run.phases.close()
    done = bench.result(run)
    assert (done.status, done.err, done.run["complete"]) == (141, "", False)
    assert done.said("interrupted by signal 13")


def test_a_file_has_no_reader_that_goes_away(bench: Bench) -> None:
    with (bench.folder / "phases").open("w") as file:
        words = (*SHORT, "--phases", str(file.fileno()), "--json", str(bench.json))
        done = subprocess.run([bench.program, *words], pass_fds=[file.fileno()], check=False)
    assert done.returncode == 0
    assert (bench.folder / "phases").read_text().split()[-1] == "writing"


def test_no_other_program_gets_the_descriptor(bench: Bench) -> None:
    bench.play("stress-ng", WAITS)
    run = bench.lingering("--load", "timers")
    pipe = Path(f"/proc/self/fd/{run.phases.fileno()}").readlink()
    names = {pid: procs.name(pid) for pid in (run.pid, *procs.children(run.pid))}
    assert {"stress-ng", "oslat"} <= set(names.values())
    # Its own children that watch over these keep what it has.
    having = {name for pid, name in names.items() if pipe in procs.opened(pid)}
    assert having == {"lowlat-measure"}
