# SPDX-License-Identifier: GPL-2.0-or-later
"""The loads of lowlat-measure."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lowlat.claim.description import describe
from lowlat.figures.measured_arm import Arm
from lowlat.measure.run_file import read_run
from support import needs, procs, waits
from support.harness import (
    ANSWERS,
    OPTIONS,
    READY,
    SHORT,
    WAITS,
    Bench,
    Run,
    metrics,
    needs_root,
    needs_stress,
    needs_two_cpus,
    online,
    option,
    ran_for,
)

pytest_plugins = ["support.harness", "support.ordinary_user"]
pytestmark = needs_two_cpus


#: stress-ng's, with metrics: 2 and 7 doubt them, where the end came while it counted.
ENDS = (0, 2, 7)


# Scenarios


@needs_stress
@pytest.mark.parametrize("scenario", ["ipi", "files", "network"])
def test_scenarios_run_to_the_end(bench: Bench, scenario: str) -> None:
    done = bench.loaded("--load", scenario)
    (load,) = done.run["loads"]
    assert done.run["complete"], done.run["problems"]
    assert load["scenario"] == scenario and load["exit"] in ENDS
    assert "stressor:" in load["output"]
    assert list(bench.scratch.iterdir()) == []


@needs_stress
def test_files_are_bounded_and_on_the_disk_named(bench: Bench) -> None:
    done = bench.call(*SHORT, "--load", "files")
    command = done.run["loads"][0]["command"]
    assert 0 < int(option(command, "--hdd-bytes") or 0) <= 256 << 20
    in_memory = subprocess.run(
        ["stat", "-f", "-c", "%T", str(bench.scratch)], capture_output=True, text=True, check=True
    ).stdout.strip() in ("tmpfs", "ramfs")
    assert done.said("lie in memory") == in_memory


@needs_stress
def test_an_idle_load_is_none(bench: Bench) -> None:
    assert bench.call(*SHORT, "--load", "idle").run["loads"] == []


@needs_stress
def test_the_load_may_run_everywhere(bench: Bench) -> None:
    done = bench.call(*SHORT, "--load", "timers", "--load-cpus", "all")
    online = Path("/sys/devices/system/cpu/online").read_text().strip()
    assert [load["cpus"] for load in done.run["loads"]] == [online]
    assert done.said("is measured and carries the load")


def test_the_load_stays_outside_of_the_group_that_owns_the_cpus(bench: Bench) -> None:
    """A partition lets no task of another group onto its CPUs, nor its own tasks elsewhere."""
    first, cpu = online()[0], online()[-1]
    group = bench.folder / "group"
    group.mkdir()
    (group / "cpuset.cpus.effective").write_text(f"{cpu}\n")
    # The harness cannot write to it before somebody reads: the load, which has to be there first.
    os.mkfifo(group / "cgroup.procs")
    seen = f"cat {group}/cgroup.procs >{bench.folder}/seen\n"
    bench.play("stress-ng", f"{seen}{metrics('timer')}{WAITS}")
    words = ("--load", "timers", "--group", str(group), "--cpus", str(cpu))
    done = bench.loaded(*words, preexec_fn=lambda: os.sched_setaffinity(0, {first}))
    assert done.status == 0, done
    assert (bench.folder / "seen").read_text() == "0"
    assert [load["cpus"] for load in done.run["loads"]] == [str(first)]
    assert done.said("every allowed CPU is measured")
    (group / "cgroup.procs").unlink()
    left = bench.call(*SHORT, *words)
    assert left.said("can't be entered (No such file or directory)") and not left.run["complete"]


@needs_stress
@needs_root
@pytest.mark.root
def test_oom_stays_in_its_own_memory_group(bench: Bench) -> None:
    begin = Path("/proc/vmstat").read_text()
    others = _left_groups()
    run = _in_a_group(bench, "oom")
    waits.until(lambda: _counted(run, "oom_kill"), "nothing is killed")
    bench.go()
    done = bench.result(run)
    (load,) = done.run["loads"]
    group = load["memory_group"]
    assert done.run["complete"], done.run["problems"]
    assert group["cgroup_version"] in (1, 2)
    assert group["oom_kills"] > 0
    asked = int(option(load["command"], "--vm-bytes") or 0)
    assert asked > group["limit_bytes"]
    assert "--oom-avoid" not in load["command"]
    kills = [int(line.split()[1]) for text in (begin, Path("/proc/vmstat").read_text())
             for line in text.splitlines() if line.startswith("oom_kill ")]  # fmt: skip
    assert kills[1] - kills[0] >= group["oom_kills"]
    assert _left_groups() <= others


def _in_a_group(bench: Bench, scenario: str) -> Run:
    """A lingering run whose load has a memory group."""
    try:
        return bench.lingering("--load", scenario)
    except AssertionError:
        status, _, err = bench.started[-1].ended()
        if status == 2:
            needs.absent(err.strip())
        raise


def _counted(run: Run, name: str) -> int:
    """A count of the memory group of a run's load (cgroup-v2.rst, memory.events and memory.stat;
    cgroup-v1/memory.rst)."""
    groups = procs.groups(f"lowlat-measure.{run.pid}")
    files = ("memory.events", "memory.oom_control", "memory.stat")
    paths = (group / file for group in groups for file in files)
    lines = (line.split() for path in paths if path.exists() for line in path.open())
    return sum(int(words[1]) for words in lines if words[0] == name)


def _left_groups() -> set[Path]:
    """The memory groups of harnesses that have ended: another test's harness may run at the same
    time."""
    found = (Path(folder, name) for folder, names, _ in os.walk("/sys/fs/cgroup") for name in names)
    ours = (group for group in found if group.name.startswith("lowlat-measure."))
    return {group for group in ours if not procs.state(int(group.suffix[1:]))}


@needs_stress
@needs_root
@pytest.mark.root
def test_files_larger_than_their_group_are_read_again(bench: Bench) -> None:
    run = _in_a_group(bench, "major-faults")
    waits.until(lambda: _counted(run, "pgmajfault"), "nothing is read again")
    bench.go()
    done = bench.result(run)
    (load,) = done.run["loads"]
    assert done.run["complete"], done.run["problems"]
    assert (
        int(option(load["command"], "--msync-bytes") or 0) > 3 * load["memory_group"]["limit_bytes"]
    )
    assert load["memory_group"]["major_faults_per_s"] > 0


#: Causes 250 read faults a second, each of a page that nothing else holds, and prints the kernel's
#: count for this process.
READS_AGAIN = f"""#!{sys.executable}
import mmap, os, resource, signal, sys, time
if sys.argv[1] == "--version": sys.exit(print("stress-ng, version 0.15.06 (gcc 12)"))
if sys.argv[1] == "--help": sys.exit(print("--msync"))
ended = []
signal.signal(signal.SIGINT, lambda *_: ended.append(True))
fd = os.open("file", os.O_RDWR | os.O_CREAT)
os.write(fd, bytes(1 << 20)), os.fsync(fd)
pages = mmap.mmap(fd, 1 << 20)
pages.madvise(mmap.MADV_RANDOM)
begin, faults = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_majflt
touched = 0
while not ended:
    touched += 1
    time.sleep(max(0, begin + touched / 250 - time.monotonic()))
    pages[touched % 256 * 4096]
    pages.madvise(mmap.MADV_DONTNEED), os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
faults = resource.getrusage(resource.RUSAGE_SELF).ru_majflt - faults
print("rate", faults / (time.monotonic() - begin), flush=True)
open("load-0.yaml", "w").write("metrics:")
"""


@needs_root
@pytest.mark.root
def test_major_faults_are_found(bench: Bench) -> None:
    """The rate is in the run and in the output of ``report``."""
    bench.play("stress-ng", READS_AGAIN)
    done = bench.call("--duration", "2s", "--warmup", "1s", "--no-oslat", "--load", "major-faults")
    if done.status == 2:
        needs.absent(done.err.strip())
    assert done.run["complete"], done.run["problems"]
    (load,) = done.run["loads"]
    found = load["memory_group"]["major_faults_per_s"]
    assert float(load["log"].split()[1]) > 0 and found > 0
    (shown,) = (f.value for f in describe(Arm("x", (read_run(bench.json),))).figures
                if f.key.name == "major_faults_per_s")  # fmt: skip
    assert shown == pytest.approx(found)


@needs.program("taskset", "util-linux")
def test_a_load_cannot_move_onto_a_measured_cpu(bench: Bench) -> None:
    """tlb-shootdown of stress-ng 0.19 attempts this."""
    script = "taskset -p -c 1 $$\n" + metrics("timer") + WAITS
    bench.play("stress-ng", script)
    words = (*SHORT, "--cpus", "1", "--load", "timers")
    assert "failed to set" in bench.call(*words).run["loads"][0]["log"]
    everywhere = bench.call(*words, "--load-cpus", "all").run["loads"][0]["log"]
    assert "new affinity list: 1" in everywhere


def test_ports_in_use_are_left_alone(bench: Bench) -> None:
    bench.play("stress-ng", metrics("sock") + WAITS)

    def ports() -> tuple[int, int]:
        command = bench.call(*SHORT, "--load", "network").run["loads"][0]["command"]
        return int(option(command, "--sock-port") or 0), int(option(command, "--udp-port") or 0)

    def beside_a_server() -> tuple[int, tuple[int, int]]:
        _enter_own_network()
        first, _ = ports()
        with socket.create_server(("127.0.0.1", first)):
            return first, ports()

    with ThreadPoolExecutor() as pool:
        taken, (first, second) = pool.submit(beside_a_server).result()
    assert taken < first < first + 8 <= second < 32768


def _enter_own_network() -> None:
    """For the calling thread, where permitted: nobody else takes a port there."""
    if ctypes.CDLL(None).unshare(0x40000000) == 0:  # CLONE_NEWNET
        with socket.socket() as any_socket:
            fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 1))  # SIOCSIFFLAGS


# Versions of stress-ng


def test_options_that_a_version_lacks_are_not_given(bench: Bench) -> None:
    bench.play("stress-ng", metrics("sock") + WAITS)
    command = bench.call(*SHORT, "--load", "network").run["loads"][0]["command"]
    assert "--oom-avoid" in command
    assert "--udp" in command
    older = ANSWERS["stress-ng"].replace(OPTIONS, "--sock --udp-flood --oom-avoid-bytes")
    bench.play("stress-ng", f"#!/bin/sh\n{older}{metrics('sock')}{WAITS}")
    done = bench.call(*SHORT, "--load", "network")
    command = done.run["loads"][0]["command"]
    assert "--oom-avoid" not in command
    assert "--udp" not in command
    assert done.said("stress-ng (0.15.06) has no --udp")


@needs_stress
def test_the_same_seed_makes_the_same_command(bench: Bench) -> None:
    words = (*SHORT, "--load", "vm", "--seed", "5")
    commands = [bench.call(*words).run["loads"][0]["command"] for _ in range(2)]
    assert commands[0] == commands[1]
    assert commands[0][:3] == ["stress-ng", "--seed", "5"]


@needs_root
@pytest.mark.root
@pytest.mark.parametrize(
    ("scenario", "why"),
    [("major-faults", "its files would lie in memory"), ("files", "too little room")],
)
def test_a_small_file_system_in_memory_is_refused(
    bench: Bench, small: Path, scenario: str, why: str
) -> None:
    bench.env["TMPDIR"] = str(small)
    done = bench.call(*SHORT, "--load", scenario)
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert why in done.err


@needs_root
@pytest.mark.root
def test_a_load_that_fills_the_disk_costs_no_run(bench: Bench, small: Path) -> None:
    bench.env["TMPDIR"] = str(small)
    script = "yes >filler 2>/dev/null; " + metrics("timer") + WAITS
    bench.play("stress-ng", script)
    bench.play("oslat", "echo 'Core: 1' 2>/dev/null; exit 0")
    done = bench.call("--duration", "1s", "--warmup", "0s", "--oslat", "--load", "timers")
    assert (done.status, done.run["complete"]) == (1, False)
    assert done.said("oslat ended without a result"), done.run["problems"]
    assert ran_for(done.run, 1)
    assert list(small.iterdir()) == []


@needs_stress
@pytest.mark.parametrize("scenario", ["faults", "vm", "memory", "timers", "mixed"])
def test_loads(bench: Bench, scenario: str) -> None:
    run = bench.loaded("--load", scenario, "--seed", "3").run
    (load,) = run["loads"]
    assert run["complete"], run["problems"]
    assert (load["tool"], load["scenario"]) == ("stress-ng", scenario) and load["exit"] in ENDS
    assert load["version"] in load["output"]
    assert load["command"][:3] == ["stress-ng", "--seed", "3"]
    assert "stressor:" in load["output"]
    for name, value in zip(load["command"], load["command"][1:]):
        if name.endswith("-bytes"):
            assert int(value) <= 256 << 20


#: A stress-ng 0.15 that doubts its own count.
DOUBTS = (
    "trap 'echo \"stress-ng: fail:  [77] switch: metrics corrupted, ops 9\"; exit {status}' INT\n"
)


@pytest.mark.parametrize(("status", "complete"), [(2, True), (7, True), (3, False)])
def test_a_load_that_doubts_its_counts_is_said(bench: Bench, status: int, complete: bool) -> None:
    bench.play("stress-ng", metrics("timer") + DOUBTS.format(status=status) + READY)
    done = bench.loaded("--load", "timers")
    run = done.run
    assert (done.status == 0, run["complete"], run["valid"]) == (complete, complete, True)
    assert run["loads"][0]["exit"] == status
    words = "switch: metrics corrupted, ops 9" if complete else "failed at its end"
    (said,) = (problem for problem in run["problems"] if f"status {status}" in problem)
    assert words in said
