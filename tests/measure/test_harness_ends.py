# SPDX-License-Identifier: GPL-2.0-or-later
"""The end of lowlat-measure on request or when killed, and its leftovers."""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import signal
import subprocess

import pytest

from support import needs, procs, waits
from support.cli import GEN
from support.harness import (
    QUICK,
    SHORT,
    WAITS,
    Bench,
    Run,
    names,
    needs_root,
    needs_stress,
    needs_two_cpus,
    without,
)

pytest_plugins = ["support.harness"]
pytestmark = needs_two_cpus


LONG = ("--duration", "60s", "--warmup", "0s", "--no-oslat")


@pytest.fixture
def running(bench: Bench) -> Run:
    """A run under load that has measured, and whose load has begun."""
    words = (*LONG, "--load", "timers", "--follow", "--json", str(bench.json))
    run = bench.start(*words)
    next(line for line in run.lines() if all(cpu["gaps"] for cpu in line["cpus"]))
    waits.until(lambda: len(procs.children(run.pid)) >= 4)
    return run


def test_a_run_that_was_stopped_is_not_valid(bench: Bench) -> None:
    run = bench.start(*LONG, "--json", str(bench.json))
    waits.phase(run.phases, "measuring")
    run.send_signal(signal.SIGSTOP)
    waits.until(lambda: procs.state(run.pid) == "T")
    run.send_signal(signal.SIGCONT)
    waits.until(lambda: procs.state(run.pid) != "T")
    run.send_signal(signal.SIGINT)
    done = bench.result(run)
    assert (done.status, done.run["valid"]) == (130, False)
    assert done.said("stopped meanwhile")


@needs_stress
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted(bench: Bench, running: Run, number: signal.Signals, status: int) -> None:
    left = procs.children(running.pid)
    running.send_signal(number)
    done = bench.result(running)
    assert done.status == status
    assert not any(map(procs.alive, left))
    assert names(bench.scratch) == []
    assert done.run["complete"] is False and done.said("interrupted")
    assert done.run["cpus"]
    for cpu in done.run["cpus"]:
        assert 0 < cpu["runtime_ns"] < 60e9


@needs_stress
def test_killed_harness_leaves_nothing(bench: Bench, running: Run) -> None:
    left = procs.children(running.pid)
    running.kill()
    running.ended()
    waits.until(lambda: not any(map(procs.alive, left)))
    waits.until(lambda: names(bench.scratch) == [])
    assert not bench.json.exists()


def test_a_killed_lowlat_gen_takes_the_run_and_its_load_along(bench: Bench) -> None:
    bench.play("stress-ng", WAITS)
    words = ("--label", "killed", "--out", str(bench.json), *LONG, "--load", "timers")
    env = {**os.environ, "PATH": f"{bench.folder / 'bin'}:{os.environ['PATH']}"}
    env.update(TMPDIR=str(bench.scratch), XDG_STATE_HOME=str(bench.folder))
    argv = [*GEN, "measure", *words, "--warmup", "60s"]
    with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE) as gen:
        needed = {"lowlat-measure", "stress-ng"}
        waits.until(lambda: needed <= set(map(procs.name, procs.children(gen.pid))))
        left = procs.children(gen.pid)
        gen.kill()
    waits.until(lambda: not any(map(procs.alive, left)))
    assert not bench.json.exists()


@needs_stress
def test_killed_load_is_said(bench: Bench) -> None:
    run = bench.lingering("--load", "timers")
    reaper = procs.children(run.pid)[0]
    os.kill(procs.children(reaper)[0], signal.SIGKILL)
    waits.until(lambda: not procs.alive(reaper))
    bench.go()
    done = bench.result(run)
    assert (done.status, done.err, done.run["complete"]) == (1, "", False)
    assert done.said("stress-ng ended before the run did")


@needs_stress
@needs_root
@pytest.mark.root
def test_a_killed_harness_takes_its_memory_group_along(bench: Bench) -> None:
    run = bench.start(*LONG, "--load", "vm")
    waits.until(lambda: len(procs.children(run.pid)) >= 4)
    left, name = procs.children(run.pid), f"lowlat-measure.{run.pid}"
    run.kill()
    run.ended()
    waits.until(lambda: not any(map(procs.alive, left)))
    waits.until(lambda: procs.groups(name) == [])
    waits.until(lambda: names(bench.scratch) == [])


def test_the_folder_of_a_run_killed_without_a_child_goes_with_the_next(bench: Bench) -> None:
    # A run that times work or asks oslat has a folder before it has a child.
    bench.play("oslat", "")
    killed, living = bench.start(*LONG[:4]), bench.start(*LONG[:4])
    for run in (killed, living):
        waits.phase(run.phases, "ready")
    assert len(names(bench.scratch)) == 2
    killed.kill()
    killed.ended()
    (bench.scratch / "lowlat-measure-mine").mkdir()
    assert bench.call(*QUICK).run["cpus"]
    assert len(names(bench.scratch)) == 2, "the one of the run that lives, and one not ours"
    assert "lowlat-measure-mine" in names(bench.scratch)
    living.send_signal(signal.SIGINT)
    living.ended()
    assert names(bench.scratch) == ["lowlat-measure-mine"]


# Inherited state


@pytest.mark.parametrize(("number", "status"), [(signal.SIGHUP, 0), (signal.SIGINT, 130)])
def test_an_ignored_signal_is_nohup_s_or_a_script_s(
    bench: Bench, number: signal.Signals, status: int
) -> None:
    """A SIGHUP ignored by nohup stays ignored; a script's background job ends nevertheless."""
    run = bench.lingering(preexec_fn=lambda: signal.signal(number, signal.SIG_IGN))
    slept = procs.sleeps(run.pid)
    run.send_signal(number)
    if status == 0:
        # It looks for signals each time it wakes up.
        waits.until(lambda: procs.sleeps(run.pid) >= slept + 2)
        bench.go()
    done = bench.result(run)
    assert (done.status, done.err, done.run["complete"]) == (status, "", status == 0)


def test_ignored_children_are_waited_for(bench: Bench) -> None:
    bench.play("oslat", "echo 'Core: 1'")
    done = bench.call(
        *QUICK, "--oslat", preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    )
    assert (done.status, done.run["complete"]) == (0, True), done.run["problems"]


def test_a_child_that_could_not_be_watched_is_not_started(bench: Bench) -> None:
    bench.play("oslat", "echo 'Core: 1'")
    done = bench.call(*QUICK, "--oslat", preexec_fn=without("signalfd4", errno.EMFILE))
    assert (done.status, done.run["complete"]) == (1, False)
    assert done.said("oslat could not be started (Too many open files)"), done.run["problems"]


def test_a_lower_limit_of_files_is_kept(bench: Bench) -> None:
    def limit() -> None:
        ctypes.CDLL(None).prctl(24, 24, 0, 0, 0)  # without CAP_SYS_RESOURCE, as a user
        resource.setrlimit(resource.RLIMIT_FSIZE, (8 << 20, 8 << 20))

    bench.play("oslat", "ulimit -f")
    done = bench.call(*QUICK, "--oslat", preexec_fn=limit)
    assert done.status == 0, done.run["problems"]
    assert int(done.run["oslat"]["output"]) * 512 == 8 << 20


@pytest.mark.proof
def test_a_program_that_cannot_be_killed_costs_no_run(bench: Bench) -> None:
    """A tracer that does not wait for the process keeps it from ending, as a broken disk would."""
    bench.play("oslat", "echo $$ >$HOME/pid; mv $HOME/pid $HOME/mark; exec sleep 60")
    run = bench.start(*QUICK, "--oslat", "--json", str(bench.json))
    waits.until((bench.folder / "mark").exists)
    stuck = int((bench.folder / "mark").read_text())
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(0x4206, ctypes.c_long(stuck), None, None):  # PTRACE_SEIZE
        needs.absent(f"no process can be traced here ({os.strerror(ctypes.get_errno())})")
    try:
        run.send_signal(signal.SIGINT)
        done = bench.result(run)
    finally:
        os.kill(stuck, signal.SIGKILL)
        os.waitpid(stuck, 0x40000000)  # __WALL
    assert (done.status, done.err, done.run["complete"]) == (130, "", False)


# SIGINT in every phase: the options, what is played, and the phase

MARK = "touch $HOME/mark\n"
DEAF = "trap 'touch $HOME/mark' INT; trap '' TERM; touch $HOME/deaf; while :; do sleep 0.05; done\n"
SLEEPS = MARK + "exec sleep 60\n"
WARM = ("--warmup", "60s", "--no-oslat", "--load", "timers")
WORK = ("--duration", "2s", "--warmup", "0s", "--no-oslat", "--work", "all")
CROSSED = (*SHORT, "--second-opinion", "cyclictest")
LOADED = (*LONG, "--load", "timers")
PHASES: dict[str, tuple[tuple[str, ...], dict[str, str], str]] = {
    "asking stress-ng": (LOADED, {"stress-ng": f"#!/bin/sh\n{MARK}sleep 1; exit 1"}, "ready"),
    "warm-up": (WARM, {"stress-ng": WAITS}, "warm-up"),
    "measuring": (LOADED, {"stress-ng": WAITS}, "measuring"),
    "work": (WORK, {}, "work"),
    "oslat": ((*QUICK, "--oslat"), {"oslat": SLEEPS}, "oslat"),
    "deaf oslat": ((*QUICK, "--oslat"), {"oslat": MARK + DEAF}, "oslat"),
    "cyclictest": (CROSSED, {"cyclictest": SLEEPS}, "cyclictest"),
    "throughput": ((*SHORT, "--throughput"), {"stress-ng": SLEEPS}, "throughput"),
}


@pytest.mark.parametrize("phase", PHASES)
def test_a_signal_in_any_phase_leaves_a_result(bench: Bench, phase: str) -> None:
    words, played, told = PHASES[phase]
    for program, script in played.items():
        bench.play(program, script)
    run = bench.start(*words, "--json", str(bench.json))
    waits.phase(run.phases, told)
    if any(MARK in script for script in played.values()):
        waits.until((bench.folder / "mark").exists)
    interrupt(bench, run)


def test_a_signal_while_a_deaf_load_is_ended_leaves_a_result(bench: Bench) -> None:
    bench.play("stress-ng", DEAF)
    run = bench.lingering("--load", "timers")
    waits.until((bench.folder / "deaf").exists)
    bench.go()
    waits.until((bench.folder / "mark").exists)
    interrupt(bench, run)


def interrupt(bench: Bench, run: Run) -> None:
    """The result says so, and nothing is left."""
    left = procs.children(run.pid)
    run.send_signal(signal.SIGINT)
    done = bench.result(run)
    assert (done.status, done.err) == (130, "")
    assert done.run["complete"] is False and done.said("interrupted")
    assert not any(map(procs.alive, left))
    assert names(bench.scratch) == []
