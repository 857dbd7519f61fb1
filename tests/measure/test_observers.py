# SPDX-License-Identifier: GPL-2.0-or-later
"""Interruptions of the measured CPUs, recorded on this host by the kernel's trace and by the
detectors' own context switches; the cost and the leftovers of both."""

from __future__ import annotations

import errno
import json
import mmap
import os
import shlex
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lowlat.measure.causes.attribution import attach
from lowlat.measure.causes.capture import read_capture, read_switches
from lowlat.trace.ftrace import parse, parse_switch
from support import needs, procs, waits
from support.harness import SHORT, Bench, Run, needs_root, needs_two_cpus, online, without
from support.ordinary_user import AS_NOBODY, OrdinaryUser
from support.waits import GUARD_S

pytest_plugins = ["support.harness", "support.ordinary_user"]


#: How long the waking thread sleeps.
NAP_S = 0.001


def measured(program: str, folder: Path, *args: str, **more: Any) -> dict[str, Any]:
    """A run on the highest CPU with its capture joined."""
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    argv = [
        program, f"--cpus={online()[-1]}", "--warmup=300ms", "--no-oslat", "--json=-",
        f"--capture={folder}", f"--events={folder}/gaps.csv", *args,
    ]  # fmt: skip
    done = subprocess.run(
        argv, capture_output=True, text=True, timeout=GUARD_S, check=False, **more
    )
    assert done.returncode in (0, 1), done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    attach(document, folder, folder / "gaps.csv")
    return document


@contextmanager
def tracefs(folder: Path) -> Iterator[Path]:
    """A readable tracefs, whether or not this host has it mounted."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tracefs", "none", str(folder)], check=True, timeout=GUARD_S)
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True, timeout=GUARD_S)


@contextmanager
def waking(cpu: int) -> Iterator[threading.Thread]:
    """A thread that wakes up and faults on the CPU about a thousand times a second."""
    stop = threading.Event()

    def work() -> None:
        os.sched_setaffinity(threading.get_native_id(), {cpu})
        while not stop.wait(NAP_S):
            with mmap.mmap(-1, mmap.PAGESIZE) as page:
                page[0] = 1

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield thread
    finally:
        stop.set()
        thread.join()


def traced(bench: Bench) -> Run:
    """A long run that records the kernel's trace."""
    folder = bench.folder / "traced"
    folder.mkdir()
    run = bench.start("--duration=60s", *SHORT[2:], f"--capture={folder}", "--observer=trace")
    waits.phase(run.phases, "measuring")
    return run


def keepers(pid: int) -> list[int]:
    """The processes that remove the instances of a run."""
    return [child for child in procs.children(pid) if procs.name(child) == "lowlat-keeper"]


def instances(root: Path, pid: int) -> list[str]:
    return [path.name for path in (root / "instances").glob(f"lowlat-measure-{pid}-*")]


@needs_root
@needs_two_cpus
@pytest.mark.root
def test_kernel_events_are_in_gaps_and_entries_have_names(program: str, tmp_path: Path) -> None:
    cpu = online()[-1]
    with waking(cpu) as thread:
        document = measured(program, tmp_path / "capture", "--duration=3s", "--observer=trace")
    (found,) = document["cpus"]
    sums = found["attribution"]
    assert document["attribution"]["observer"] == "trace"
    assert 0 < sums["kernel_events_in_gaps"] <= sums["kernel_events"]
    irq = sums["classes"]["irq"]
    assert 0 < irq["recorded"] <= irq["counted"]
    assert 0 <= sums["ipis_with_sender"] <= sums["ipis"]
    # The trace has no room for the faults of another thread. Its number tells it: another
    # program on this CPU may have the name of this one for a while.
    trace = (tmp_path / f"capture/trace.{cpu}").read_text(errors="replace").splitlines()
    own = [line for line in trace if f"-{thread.native_id} " in line]
    assert own
    assert [line for line in own if ": page_fault_" in line] == []
    total = sum(one["time_ns"] for one in found["causes"])
    assert total == pytest.approx(found["noise_ns"], rel=1e-3)
    assert any(one["cause"].startswith("local_timer") for one in found["causes"])


@dataclass(frozen=True)
class Switches:
    """The times at which the detector was switched out, by root's trace and by the detector's own
    record, in ticks."""

    truth: list[int]
    told: list[int]
    ns_per_tick: float
    #: Of threads, in gaps.
    named: int
    lost: int


def switched(ordinary_user: OrdinaryUser, tmp_path: Path) -> Switches:
    if int(Path("/proc/sys/kernel/perf_event_paranoid").read_text()) > 2:
        needs.absent("kernel.perf_event_paranoid is above 2: perf is for root only here")
    cpu = online()[-1]
    folder = ordinary_user.folder / tmp_path.name
    with tracefs(tmp_path / "tracefs") as root, waking(cpu):
        instance = root / "instances" / f"truth-{os.getpid()}"
        instance.mkdir()
        try:
            (instance / "trace_clock").write_text("x86-tsc")
            (instance / "tracing_cpumask").write_text(f"{1 << cpu:x}")
            (instance / "buffer_size_kb").write_text("16384")
            (instance / "events/sched/sched_switch/enable").write_text("1")
            document = measured(ordinary_user.measure, folder, "--duration=4s", **AS_NOBODY)
            (instance / "tracing_on").write_text("0")
            text = (instance / f"per_cpu/cpu{cpu}/trace").read_text(errors="replace")
        finally:
            instance.rmdir()
    assert document["attribution"]["observer"] == "switches"
    assert "the kernel's trace could not be used" in document["attribution"]["notes"][0]
    capture = read_capture(folder)
    (one,) = capture.cpus
    truth = [
        event.time
        for event in parse(text.splitlines(), capture.clock)
        if (found := parse_switch(event.text))
        and found.before == one.thread
        and one.begin < event.time < one.end
    ]
    told = [time for time in read_switches(capture)[cpu] if one.begin < time < one.end]
    causes = [one for one in document["cpus"][0]["causes"] if one["class"] == "thread"]
    return Switches(
        truth, told, capture.clock.ns(1), sum(one["events"] for one in causes), one.lost
    )


@needs_root
@needs_two_cpus
@pytest.mark.root
def test_switches_without_root_are_those_of_the_trace(
    ordinary_user: OrdinaryUser, tmp_path: Path
) -> None:
    """root's trace instance is the reference."""
    found = switched(ordinary_user, tmp_path)
    assert found.lost == 0 and len(found.truth) > 100
    # The first and the last may lie beyond the run by one of the two clocks.
    assert abs(len(found.truth) - len(found.told)) <= 2
    assert found.told == sorted(found.told)
    assert found.named > 0


@needs_root
@needs_two_cpus
@pytest.mark.root
@pytest.mark.security
def test_nothing_is_left_even_of_a_run_that_was_killed(bench: Bench, tmp_path: Path) -> None:
    with tracefs(tmp_path / "tracefs") as root:
        killed = traced(bench)
        assert len(instances(root, killed.pid)) == 2
        # Another run does not touch an instance in use, with a capture or without.
        measured(bench.program, tmp_path / "beside", "--duration=200ms", "--observer=trace")
        assert bench.call(*SHORT).run["cpus"]
        assert len(instances(root, killed.pid)) == 2
        killed.kill()
        killed.ended()
        # The keeper of the killed run removes the instances; this needs no other run.
        waits.until(lambda: instances(root, killed.pid) == [])


@needs_root
@needs_two_cpus
@pytest.mark.root
def test_what_a_killed_keeper_leaves_the_next_run_removes(bench: Bench, tmp_path: Path) -> None:
    with tracefs(tmp_path / "tracefs") as root:
        killed = traced(bench)
        waits.until(lambda: keepers(killed.pid))
        (keeper,) = keepers(killed.pid)
        # Stopped, the harness cannot hear of the keeper's end.
        killed.send_signal(signal.SIGSTOP)
        os.kill(keeper, signal.SIGKILL)
        killed.kill()
        killed.ended()
        assert len(instances(root, killed.pid)) == 2
        assert bench.call(*SHORT).run["cpus"]
        assert instances(root, killed.pid) == []


@needs_root
@needs_two_cpus
@pytest.mark.root
def test_tracefs_need_not_be_mounted(program: str, tmp_path: Path) -> None:
    """The run mounts tracefs privately in a mount namespace without it."""
    hide = 'umount -a -t tracefs 2>/dev/null; umount -a -t debugfs 2>/dev/null; exec "$@"'
    wrapper = ["unshare", "-m", "sh", "-c", hide, "sh"]
    script = tmp_path / "hidden"
    script.write_text(f'#!/bin/sh\nexec {shlex.join([*wrapper, program])} "$@"\n')
    script.chmod(0o755)
    document = measured(str(script), tmp_path / "capture", "--duration=200ms", "--observer=trace")
    assert document["attribution"]["observer"] == "trace"
    assert document["complete"], document["problems"]


@needs_two_cpus
def test_switches_that_are_not_permitted_are_said_and_done_without(bench: Bench) -> None:
    """The switches are the default of `lowlat-gen measure`."""
    folder = bench.folder / "capture"
    folder.mkdir()
    done = bench.call(
        *SHORT, "--capture", str(folder), "--observer", "switches",
        preexec_fn=without("perf_event_open", errno.EACCES),
    )  # fmt: skip
    assert (done.status, done.run["complete"]) == (0, True)
    assert done.said("the detectors' switches can't be recorded (Permission denied)")
    assert json.loads((folder / "capture.json").read_text())["observer"] == "none"


@needs_root
@needs_two_cpus
@pytest.mark.root
@pytest.mark.proof
def test_what_the_observers_cost(program: str, tmp_path: Path) -> None:
    """The observers take turns. The trace's own records lengthen a gap; neither observer may cause
    kernel entries. The host is noisy, so only more than a doubling fails."""
    observers = ("off", "switches", "trace")
    gaps: dict[str, list[float]] = {name: [] for name in observers}
    entries: dict[str, list[float]] = {name: [] for name in observers}
    for turn in range(7):
        for name in observers:
            folder = tmp_path / f"{name}{turn}"
            folder.mkdir()
            observed = [] if name == "off" else [f"--capture={folder}", f"--observer={name}"]
            argv = [program, f"--cpus={online()[-1]}", "--warmup=200ms", "--duration=1s"]
            # FIFO priority puts the loop before all ordinary tasks, so that only interrupts are
            # compared.
            argv += ["--policy=fifo:1", "--no-oslat", "--json=-", *observed]
            done = subprocess.run(
                argv, capture_output=True, text=True, timeout=GUARD_S, check=False
            )
            (cpu,) = json.loads(done.stdout)["cpus"]
            gaps[name].append(_median_gap(cpu["histogram"]["counts"]))
            entries[name].append(cpu["interrupts_per_s"]["total"])
    for name in observers[1:]:
        cost = _ratio(gaps[name], gaps["off"])
        more = _ratio(entries[name], entries["off"])
        print(f"{name}: a gap of 5 us or more x{cost:.2f}, interrupts x{more:.2f}")
        assert cost < 2
        assert more < 2


def _median_gap(counts: list[list[int]]) -> float:
    """Gaps of 5 us and more: on this kind of host, shorter ones come from the hypervisor."""
    longer = [(lower, count) for lower, _, count in counts if lower >= 5000]
    left = sum(count for _, count in longer) / 2
    for lower, count in longer:
        left -= count
        if left <= 0:
            return float(lower)
    return 0.0


def _ratio(these: list[float], those: list[float]) -> float:
    """The median of the ratios of neighbours."""
    ratios = sorted(a / b for a, b in zip(these, those) if b > 0)
    return ratios[len(ratios) // 2] if ratios else 1.0
