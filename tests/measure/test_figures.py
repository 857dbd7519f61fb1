# SPDX-License-Identifier: GPL-2.0-or-later
"""What lowlat-measure finds on this machine, whose load and hypervisor decide how it comes out; the
identities behind each figure are in the other files."""

from __future__ import annotations

import bisect
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from test_loads import READS_AGAIN
from test_observers import measured, switched, waking

from lowlat import cli
from lowlat.measure.causes.attribution import attach
from lowlat.verbs import measure
from support import needs, waits
from support.figures import figure
from support.harness import (
    SHORT,
    SOURCE,
    Bench,
    Harness,
    needs_root,
    needs_stress,
    needs_two_cpus,
    online,
)
from support.ordinary_user import OrdinaryUser

pytest_plugins = ["support.harness", "support.ordinary_user"]
pytestmark = [pytest.mark.figure, needs_two_cpus]


def test_the_pace_of_the_loop(harness: Harness) -> None:
    ratios, medians, fastest = [], [], []
    for _ in range(3):
        run = harness(*SHORT, "--duration", "1s", "--json").run
        if run["emulated"]:
            needs.absent("durations mean nothing under emulation")
        clock = run["clock"]
        ratios.append(clock["loop_period_ns"] / clock["floor_ns"])
        for cpu in run["cpus"]:
            window = cpu["pace"]["window_ns"]
            medians.append(cpu["pace"]["work"]["p50"] * clock["loop_period_ns"] / window)
            fastest.append(cpu["pace"]["work"]["max"] * clock["floor_ns"] / window)
    figure("loop_period_by_floor", min(ratios), "ratio")
    figure("window_p50_by_mean", max(medians, key=lambda ratio: abs(ratio - 1)), "ratio")
    figure("window_max_by_floor", max(fastest), "ratio")


def test_the_time_that_is_in_no_reading(harness: Harness) -> None:
    run = harness(*SHORT, "--json").run
    most = max(abs(cpu["unaccounted_ppm"]) for cpu in run["cpus"])
    if run["emulated"]:
        needs.absent("durations mean nothing under emulation")
    figure("unaccounted", most, "ppm")


def test_a_spinning_cpu_does_not_sleep(harness: Harness) -> None:
    shares = [sum(cpu["power"]["idle_us"].values()) * 1000 / cpu["runtime_ns"]
              for cpu in harness(*SHORT, "--json").run["cpus"]]  # fmt: skip
    figure("idle_while_spinning", max(shares), "ratio")


@pytest.mark.root
@needs_root
def test_what_the_kernel_takes_from_a_real_time_loop(harness: Harness) -> None:
    """If an ordinary task is waiting, the kernel takes time from the loop, by default 50 ms a
    second: through the fair server, or before Linux 6.12 through sched_rt_runtime_us."""
    if Path("/proc/sys/kernel/sched_rt_runtime_us").read_text().strip() != "950000":
        needs.absent("sched_rt_runtime_us is not the kernel's default")
    cpu = online()[-1]
    words = ("--cpus", str(cpu), "--policy", "fifo:1", *SHORT, "--duration", "4s", "--json")
    with subprocess.Popen(["taskset", "-c", str(cpu), "sh", "-c", "while :; do :; done"]) as hungry:
        run = harness(*words).run
        hungry.kill()
    named = re.compile(
        rf"CPU {cpu}: (\d+) gaps of about ([\d.]+) ms, one each 1s, are the kernel's own "
        r"\((fair server|sched_rt_runtime_us)\) and count as noise"
    )
    (found,) = filter(None, map(named.fullmatch, run["problems"]))
    events, each_ms = int(found[1]), float(found[2])
    figure("throttled", each_ms, "ms")
    figure("throttled_times", events, "times")
    assert events * (each_ms - 0.05) * 1e6 <= 1.01 * run["cpus"][0]["noise_ns"]


@needs_root
@pytest.mark.root
def test_kernel_events_in_gaps(program: str, tmp_path: Path) -> None:
    with waking(online()[-1]):
        document = measured(program, tmp_path / "capture", "--duration=3s", "--observer=trace")
    sums = document["cpus"][0]["attribution"]
    inside = sums["kernel_events_in_gaps"] / sums["kernel_events"]
    irq = sums["classes"]["irq"]
    named = irq["recorded"] / irq["counted"]
    figure("kernel_events_in_gaps", inside, "ratio")
    figure("interrupts_named", named, "ratio")
    assert sums["kernel_events"] > 100


#: Sends to a port of loopback where nobody listens, in a network of its own.
SENDS = """
import socket
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    try:
        one.sendto(bytes(1000), ("127.0.0.1", 9))
    except OSError:
        pass
"""


#: Of each softirq so much lies outside of its entry and its exit: the kernel's loop
#: (kernel/softirq.c, handle_softirqs()) and the writing of these two events.
OUTSIDE_S = 0.5e-6


def softirq_ticks(cpu: int) -> int:
    """The time in softirqs by /proc/stat (proc_stat(5)), in clock ticks."""
    (row,) = re.findall(rf"^cpu{cpu} (.*)$", Path("/proc/stat").read_text(), re.MULTILINE)
    return int(row.split()[6])


@needs_root
@pytest.mark.root
def test_the_time_in_softirqs_beside_the_kernel(bench: Bench) -> None:
    """Without CONFIG_IRQ_TIME_ACCOUNTING the kernel looks once a tick whether a softirq runs, so
    that its share is a sample of as many looks as there were ticks (kernel/sched/cputime.c). So
    many softirqs fill the trace's buffer: its share is that of the time that it holds."""
    cpu, folder = online()[-1], bench.folder / "capture"
    folder.mkdir()
    sender = ["nice", "-n", "-20", "taskset", "-c", str(cpu), sys.executable, "-c", SENDS]
    script = f"ip link set lo up && exec {shlex.join(sender)}"
    with subprocess.Popen(["unshare", "-n", "sh", "-c", script]) as sending:
        run = bench.start(
            *(f"--cpus={cpu}", "--warmup=1s", "--duration=8s", "--no-oslat", "--observer=trace"),
            *(f"--capture={folder}", f"--events={folder}/gaps.csv", f"--json={bench.json}"),
        )
        waits.phase(run.phases, "measuring")
        before = softirq_ticks(cpu)
        waits.phase(run.phases, "measured")
        ticks = softirq_ticks(cpu) - before
        document = bench.result(run).run
        sending.kill()
    attach(document, folder, folder / "gaps.csv")
    (found,) = document["cpus"]
    seconds = found["runtime_ns"] / 1e9
    traced, lost = (
        sum(one["time_ns"] for one in found["causes"] if one["class"] == name) / 1e9
        for name in ("softirq", "not-recorded")
    )
    share, kernels = traced / (seconds - lost), ticks / os.sysconf("SC_CLK_TCK") / seconds
    looks = found["interrupts_per_s"]["LOC"] * (seconds - lost)
    print(f"softirqs: {share:.2%} by the trace, {kernels:.2%} by /proc/stat in {looks:.0f} ticks")
    outside = OUTSIDE_S * sum(found["softirqs_per_s"].values())
    bound = 3 * (share * (1 - share) / looks) ** 0.5 + outside
    figure("softirq_beside_proc_stat", abs(share - kernels) / bound, "ratio")


@needs_root
@pytest.mark.root
def test_switches_at_the_times_of_the_trace(ordinary_user: OrdinaryUser, tmp_path: Path) -> None:
    found = switched(ordinary_user, tmp_path)
    reach = int(20_000 / found.ns_per_tick)

    def near(times: list[int], others: list[int]) -> float:
        """The share of the times that are within 20 us of another one."""
        places = [bisect.bisect_left(others, time - reach) for time in times]
        hits = [at < len(others) and others[at] <= time + reach for at, time in zip(places, times)]
        return sum(hits) / len(hits)

    hit, right = near(found.truth, found.told), near(found.told, found.truth)
    figure("switches_within_20us", min(hit, right), "ratio")
    figure("switches_named", found.named / len(found.told), "ratio")


@needs_root
@pytest.mark.root
def test_major_faults_of_a_known_rate(bench: Bench) -> None:
    bench.play("stress-ng", READS_AGAIN)
    done = bench.call("--duration", "2s", "--warmup", "1s", "--no-oslat", "--load", "major-faults")
    if done.status == 2:
        needs.absent(done.err.strip())
    (load,) = done.run["loads"]
    planted = float(load["log"].split()[1])
    found = load["memory_group"]["major_faults_per_s"]
    figure("major_faults_by_planted", found / planted, "ratio")
    assert planted > 0


@needs_stress
def test_the_share_of_a_busy_sibling(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", [str(Path(program).with_name("lowlat-gen")), "measure"])
    other, cpu = online()[:2]
    out = tmp_path / "run.json"
    words = ["--label=busy", f"--out={out}", f"--cpus={cpu}", "--duration=1s", "--warmup=0s"]
    words += ["--no-oslat", "--no-causes", "--load=cpu", f"--load-cpus={other}"]
    assert measure.main(cli.arguments("measure", words), {}) == 0
    busy = json.loads(out.read_text())["host"]["busy"][str(other)]
    figure("busy_sibling", busy, "ratio")


def test_a_flood_of_gaps(program: str) -> None:
    """`make soak`, shortly: its own bounds are the rate and the memory."""
    build = Path(program).parent.name
    argv = ["make", "-s", "-C", str(SOURCE), f"BUILD={build}", "soak", "SOAK_SECONDS=5"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    found = re.search(
        r"(\d+) stalls per own second.* resident (\d+) then at most (\d+)", done.stdout
    )
    assert found, done.stdout + done.stderr
    per_s, first, most = map(int, found.groups())
    figure("soak_gaps", per_s, "1/s")
    figure("soak_memory", most - first, "pages")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_memory_of_a_run(bench: Bench) -> None:
    """The log and the histogram exist from the start."""
    words = (*SHORT, "--duration", "60s", "--threshold", "50ns", "--follow")
    run = bench.start(*words, f"--events={bench.folder}/events", f"--json={bench.json}")
    sizes = []
    for _ in zip(range(4), run.lines()):
        status = Path(f"/proc/{run.pid}/status").read_text()
        (resident,) = re.findall(r"VmRSS:\s+(\d+) kB", status)
        sizes.append(int(resident))
    figure("resident_growth", max(sizes) - min(sizes), "KiB")
