# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that lowlat-measure starts are missing, fail, hang or talk too much: the run is measured
nevertheless, its JSON says what was wrong, and nothing is left of them."""

from __future__ import annotations

import pytest

from support import procs, waits
from support.harness import (
    QUICK,
    READY,
    SHORT,
    Bench,
    Result,
    metrics,
    names,
    needs_two_cpus,
    ran_for,
)

pytest_plugins = ["support.harness"]
pytestmark = needs_two_cpus

MUTE = "#!/bin/sh\nexit 0"
HANGS = "trap '' INT TERM; while :; do sleep 0.1; done"
LEAVES = "(trap '' INT TERM; exec setsid sleep 300) & exit 0"
NO_TRACER = "echo 'Tracer osnoise not found!' >&2; exit 1"
NEEDED = "Tracer osnoise not found!); it needs root and a kernel with CONFIG_OSNOISE"

#: The options, the program, what it does, and what the run says.
FAULTS = [
    ("--oslat", "oslat", "kill -ABRT $$", "oslat was killed by signal 6"),
    ("--oslat", "oslat", "kill -KILL $$", "oslat was killed by signal 9"),
    ("--oslat", "oslat", "echo 'ERROR: errno=1 (no)'; exit 3", "with status 3 (errno=1 (no))"),
    ("--oslat", "oslat", "exit 0", "oslat ended without a result"),
    pytest.param("--oslat", "oslat", HANGS, "oslat did not end in time", marks=pytest.mark.proof),
    ("--oslat", "oslat", "exec yes lots", "oslat was killed by signal 25: it wrote too much"),
    ("--oslat", "oslat", "yes lots | head -c 6000000", "oslat wrote more than 4 MiB"),
    ("--oslat", "oslat", LEAVES, "without a result"),
    ("--load timers", "stress-ng", MUTE, "--load timers: stress-ng could not be started"),
    ("--throughput 2", "stress-ng", MUTE, "--throughput: stress-ng gave no figure"),
    ("--second-opinion osnoise", "rtla", NO_TRACER, NEEDED),
]

#: The options, whether the run is complete without the program, and what it says.
MISSING = [
    ("", True, "oslat is not installed"),
    ("--oslat", False, "oslat is not installed"),
    ("--load vm", False, "stress-ng is not installed"),
    ("--wakeup", True, "cyclictest is not installed"),
    ("--second-opinion cyclictest", False, "cyclictest is not installed"),
    ("--second-opinion osnoise", False, "osnoise is not installed"),
    ("--second-opinion timerlat", False, "timerlat is not installed"),
]

TALKS = f"{metrics('timer')}trap 'yes | head -c 5000000; exit 0' INT\n{READY}"

#: What a load does beside a run, and what the run says.
LOADS = [
    ("exit 3", "ended before the run did (status 3)"),
    ("kill -SEGV $$", "ended before the run did (status 139)"),
    ("exec yes", "ended before the run did (status 153)"),
    (f"trap 'exit 0' INT\n{READY}", "without metrics"),
    (TALKS, "stress-ng wrote more than 4 MiB"),
]


def check(bench: Bench, done: Result, said: str, *, complete: bool = False) -> None:
    assert (done.status == 0, done.run["complete"], done.run["valid"]) == (complete, complete, True)
    assert done.said(said), done.run["problems"]
    assert ran_for(done.run, 0.3)
    assert names(bench.scratch) == []


@pytest.mark.parametrize(("options", "tool", "script", "said"), FAULTS)
def test_a_program_at_fault(bench: Bench, options: str, tool: str, script: str, said: str) -> None:
    bench.play(tool, script)
    length = QUICK if tool == "oslat" else SHORT
    check(bench, bench.call(*length, *options.split()), said)


@pytest.mark.parametrize(("options", "complete", "said"), MISSING)
def test_a_missing_program(bench: Bench, options: str, complete: bool, said: str) -> None:
    bench.env["PATH"] = str(bench.folder)
    check(bench, bench.call(*QUICK, *options.split()), said, complete=complete)


@pytest.mark.parametrize(("script", "said"), LOADS)
def test_a_load_at_fault(bench: Bench, script: str, said: str) -> None:
    bench.play("stress-ng", script)
    run = bench.lingering("--load", "timers")
    reaper = procs.children(run.pid)[0]
    waits.until(lambda: (bench.folder / "ready").exists() or not procs.alive(reaper))
    bench.go()
    check(bench, bench.result(run), said)
