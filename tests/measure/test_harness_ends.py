# SPDX-License-Identifier: GPL-2.0-or-later
"""The end of lowlat-measure on request or when killed, and its leftovers."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import resource
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from measuring import (
    HELP,
    OPTIONS,
    VERSION,
    WAITS,
    Bench,
    alive,
    children,
    names,
    needs_root,
    needs_stress,
    needs_two_cpus,
    threads,
    wait_until,
    without,
)

pytest_plugins = ["measuring"]
pytestmark = needs_two_cpus

QUICK = ("--duration", "300ms", "--warmup", "0s")


@pytest.fixture
def running(program: str, tmp_path: Path) -> Any:
    """A run under load that has begun to measure; its children and its private folder."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    process = subprocess.Popen(
        [program, "--duration", "30s", "--warmup", "0s", "--no-oslat", "--load", "timers",
         "--json", str(tmp_path / "run.json")],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(scratch)},
    )  # fmt: skip
    assert wait_until(lambda: len(children(process.pid)) >= 4)
    time.sleep(0.3)
    yield process
    process.kill()
    process.communicate()


@needs_stress
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted(
    running: subprocess.Popen[str], tmp_path: Path, number: signal.Signals, status: int
) -> None:
    left = children(running.pid)
    running.send_signal(number)
    assert running.wait(15) == status
    assert not any(map(alive, left))
    assert names(tmp_path / "scratch") == []
    run = json.loads((tmp_path / "run.json").read_text())
    assert run["complete"] is False
    assert any("interrupted" in problem for problem in run["problems"])
    for cpu in run["cpus"]:
        assert 0 < cpu["runtime_ns"] < 20e9


@needs_stress
def test_killed_harness_leaves_nothing(running: subprocess.Popen[str], tmp_path: Path) -> None:
    left = children(running.pid)
    running.kill()
    running.wait(5)
    assert wait_until(lambda: not any(map(alive, left)))
    assert wait_until(lambda: names(tmp_path / "scratch") == [])
    assert not (tmp_path / "run.json").exists()


@needs_stress
def test_killed_load_is_said(program: str) -> None:
    process = subprocess.Popen(
        [program, "--duration", "1s", "--warmup", "0s", "--no-oslat", "--load", "timers", "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert wait_until(lambda: len(children(process.pid)) >= 4)
    keeper = children(process.pid)[0]
    os.kill(children(keeper)[0], signal.SIGKILL)
    out, err = process.communicate(timeout=30)
    run = json.loads(out)
    assert (process.returncode, err) == (1, "")
    assert run["complete"] is False
    assert any("stress-ng ended before the run did" in problem for problem in run["problems"])


@needs_stress
@needs_root
@pytest.mark.root
def test_a_killed_harness_takes_its_memory_group_along(bench: Bench) -> None:
    process = bench.start("--duration", "30s", "--warmup", "0s", "--no-oslat", "--load", "vm")
    assert wait_until(lambda: len(children(process.pid)) >= 4)
    group = list(Path("/sys/fs/cgroup").rglob(f"lowlat-measure.{process.pid}"))
    left = children(process.pid)
    process.kill()
    process.communicate()
    assert wait_until(lambda: not any(map(alive, left)))
    assert wait_until(lambda: not any(path.exists() for path in group))
    assert wait_until(lambda: list(bench.scratch.iterdir()) == [])


def test_the_folder_of_a_run_killed_without_a_child_goes_with_the_next(bench: Bench) -> None:
    # A run that times work or asks oslat has a folder before it has a child.
    bench.play("oslat", HELP)
    words = ("--duration", "30s", "--warmup", "0s")
    killed, living = bench.start(*words), bench.start(*words)
    try:
        assert wait_until(lambda: len(names(bench.scratch)) == 2)
        killed.kill()
        killed.communicate()
        (bench.scratch / "lowlat-measure-mine").mkdir()
        assert bench.call(*QUICK).run["cpus"]
        assert len(names(bench.scratch)) == 2, "the one of the run that lives, and one not ours"
        assert "lowlat-measure-mine" in names(bench.scratch)
    finally:
        for process in (killed, living):
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=30)
    assert names(bench.scratch) == ["lowlat-measure-mine"]


# Inherited state


@pytest.mark.parametrize(("number", "status"), [(signal.SIGHUP, 0), (signal.SIGINT, 130)])
def test_an_ignored_signal_is_nohup_s_or_a_script_s(
    bench: Bench, number: signal.Signals, status: int
) -> None:
    """A SIGHUP ignored by nohup stays ignored; a script's background job ends nevertheless."""
    process = bench.start(
        *QUICK[2:], "--duration", "2s", "--no-oslat", "--json", str(bench.json),
        preexec_fn=lambda: signal.signal(number, signal.SIG_IGN),
    )  # fmt: skip
    assert wait_until(lambda: threads(process.pid) > 1)
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (status, "")
    assert json.loads(bench.json.read_text())["complete"] is (status == 0)


def test_ignored_children_are_waited_for(bench: Bench) -> None:
    bench.play("oslat", HELP + "echo 'Core: 1'\n")
    done = bench.call(
        *QUICK, "--oslat", preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    )
    assert (done.status, done.run["complete"]) == (0, True), done.run["problems"]


def test_a_child_that_could_not_be_watched_is_not_started(bench: Bench) -> None:
    bench.play("oslat", HELP + "echo 'Core: 1'\n")
    done = bench.call(*QUICK, "--oslat", preexec_fn=without("signalfd4", errno.EMFILE))
    assert (done.status, done.run["complete"]) == (1, False)
    assert done.said("oslat could not be started (Too many open files)"), done.run["problems"]


def test_a_lower_limit_of_files_is_kept(bench: Bench) -> None:
    def limit() -> None:
        ctypes.CDLL(None).prctl(24, 24, 0, 0, 0)  # without CAP_SYS_RESOURCE, as a user
        resource.setrlimit(resource.RLIMIT_FSIZE, (8 << 20, 8 << 20))

    bench.play("oslat", HELP + "ulimit -f\n")
    done = bench.call(*QUICK, "--oslat", preexec_fn=limit)
    assert done.status == 0, done.run["problems"]
    assert int(done.run["oslat"]["output"]) * 512 == 8 << 20


def test_a_program_that_cannot_be_killed_costs_no_run(bench: Bench) -> None:
    """A tracer that does not wait for the process keeps it from ending, as a broken disk would."""
    bench.env["HOME"] = str(bench.folder)
    bench.play("oslat", HELP + "echo $$ >$HOME/pid; mv $HOME/pid $HOME/mark; exec sleep 60\n")
    process = bench.start(*QUICK, "--oslat", "--json", str(bench.json))
    assert wait_until((bench.folder / "mark").exists)
    stuck = int((bench.folder / "mark").read_text())
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(0x4206, ctypes.c_long(stuck), None, None):  # PTRACE_SEIZE
        process.kill()
        process.communicate()
        pytest.skip(f"no process can be traced here ({os.strerror(ctypes.get_errno())})")
    try:
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
        os.kill(stuck, signal.SIGKILL)
        os.waitpid(stuck, 0x40000000)  # __WALL
    assert (process.returncode, err) == (130, "")
    assert json.loads(bench.json.read_text())["complete"] is False


# SIGINT in every phase: (the options, which program is played, "": stress-ng, and what it does)

MARK = "touch $HOME/mark\n"
DEAF = "trap 'touch $HOME/mark' INT; trap '' TERM; while :; do sleep 0.05; done\n"
SLEEPS = MARK + "exec sleep 60\n"
LONG = ("--duration", "60s", "--warmup", "0s", "--no-oslat")
PHASES: dict[str, tuple[tuple[str, ...], str, str]] = {
    "asking stress-ng": ((*LONG, "--load", "timers"), "stress-ng", MARK + "sleep 1; exit 1\n"),
    "warm-up": (("--warmup", "60s", "--no-oslat", "--load", "timers"), "", MARK + WAITS),
    "measuring": ((*LONG, "--load", "timers"), "", MARK + WAITS),
    "work": (("--duration", "1s", "--warmup", "0s", "--no-oslat", "--work", "all"), "", ""),
    "oslat": ((*QUICK, "--oslat"), "oslat", HELP + SLEEPS),
    "deaf oslat": ((*QUICK, "--oslat"), "oslat", HELP + MARK + DEAF),
    "cyclictest": ((*QUICK, "--no-oslat", "--second-opinion", "cyclictest"), "cyclictest",
                   HELP + SLEEPS),
    "ending a deaf load": ((*QUICK, "--no-oslat", "--load", "timers"), "", DEAF),
    "throughput": ((*QUICK, "--no-oslat", "--throughput"), "", SLEEPS),
}  # fmt: skip


@pytest.mark.parametrize("phase", PHASES)
def test_a_signal_in_any_phase_leaves_a_result(bench: Bench, phase: str) -> None:
    words, name, script = PHASES[phase]
    bench.env["HOME"] = str(bench.folder)
    if script:
        head = "" if name else VERSION.format(options=OPTIONS)
        bench.play(name or "stress-ng", head + script)
    process = bench.start(*words, "--json", str(bench.json))
    if script:
        assert wait_until((bench.folder / "mark").exists)
    else:
        time.sleep(2)
    left = children(process.pid)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "")
    run = json.loads(bench.json.read_text())
    assert run["complete"] is False
    assert any("interrupted" in problem for problem in run["problems"])
    assert not any(map(alive, left))
    assert list(bench.scratch.iterdir()) == []
