# SPDX-License-Identifier: GPL-2.0-or-later
"""lowlat-measure from outside: its contract and its refusals."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support import needs, waits
from support.cli import lowlat
from support.harness import (
    ISOLATING_KERNEL,
    SHORT,
    WAITS,
    Bench,
    Harness,
    Result,
    metrics,
    names,
    needs_notification,
    needs_root,
    needs_two_cpus,
    online,
    ran_for,
    without,
)
from support.ordinary_user import AS_NOBODY, OrdinaryUser
from support.refusals import Refusal, contents, rows

pytest_plugins = ["support.harness", "support.ordinary_user"]
pytestmark = needs_two_cpus

TOP_KEYS = [
    "schema", "label", "started", "boot_id", "kernel", "cmdline", "duration_s", "threshold_ns",
    "policy", "seed", "emulated", "complete", "valid", "problems", "isolated", "clock", "series",
    "cpus",
    "loads", "oslat", "second_opinions", "work",
]  # fmt: skip
CPU_KEYS = {
    "cpu", "runtime_ns", "noise_ns", "noise_ppm", "dead_ns", "events", "lost_events", "max_ns",
    "rates_per_s", "time_weighted_ns", "histogram", "series", "page_faults", "causes",
    "interrupts_per_s", "softirqs_per_s", "switches_per_s", "pace",
    "begin_ticks", "end_ticks", "unaccounted_ppm", "power", "wakeup",
}  # fmt: skip

EMPTY_PACE = {"window_ns": 0, "windows": 0, "work": {}}


def test_a_long_gap_ends_the_run_and_is_in_it(harness: Harness) -> None:
    """Another process takes the CPU for longer than this time, within a minute at the latest."""
    cpu = online()[-1]
    code = f"import os\nos.sched_setaffinity(0, {{{cpu}}})\nwhile True:\n    pass"
    words = ("--cpus", str(cpu), "--duration", "60s", "--warmup", "0s", "--no-oslat", "--json")
    with subprocess.Popen([sys.executable, "-c", code]) as other:
        try:
            done = harness(*words, "--stop-on", "1ms")
        finally:
            other.kill()
    (found,) = done.run["cpus"]
    assert (done.status, done.run["complete"], done.run["valid"]) == (1, False, True)
    assert found["max_ns"] >= 1_000_000 and found["runtime_ns"] < 60e9
    (told,) = (text for text in done.run["problems"] if "--stop-on" in text)
    assert told.startswith("ended by --stop-on: a gap of ") and told.endswith(f" us on CPU {cpu}")


def test_without_such_a_gap_the_run_takes_its_time(harness: Harness) -> None:
    done = harness(*SHORT, "--stop-on", "1h", "--json")
    assert (done.status, done.run["complete"]) == (0, True)


# The contract


def test_json_holds_the_contract(harness: Harness) -> None:
    done = harness(*SHORT, "--label", "a b", "--seed", "7", "--json")
    run = done.run
    assert done.status == 0, run["problems"]
    assert done.err == ""
    assert [key for key in run if key in TOP_KEYS] == TOP_KEYS
    assert run["schema"] == "lowlat.run/1"
    assert (run["label"], run["seed"], run["policy"]) == ("a b", 7, "other")
    assert (run["duration_s"], run["complete"], run["valid"]) == (0.3, True, True)
    assert (run["loads"], run["oslat"], run["work"]) == ([], None, [])
    assert run["kernel"] == os.uname().release
    assert run["boot_id"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert run["cmdline"] == Path("/proc/cmdline").read_text().strip()
    assert set(run["clock"]) == {"source", "hz", "floor_ns", "loop_period_ns", "invariant"}
    assert run["task_isolation"] == "not offered"
    assert run["host"] == {"name": os.uname().nodename}
    for cpu in run["cpus"]:
        assert set(cpu) == CPU_KEYS
        assert set(cpu["rates_per_s"]) == {"100ns", "1us", "10us", "100us"}
        assert set(cpu["time_weighted_ns"]) == {"p99", "p99.9", "p99.99", "p99.9999"}
        assert (cpu["causes"], cpu["page_faults"], cpu["wakeup"]) == ([], 0, None)
        assert set(cpu["pace"] or EMPTY_PACE) == set(EMPTY_PACE)
        assert set(cpu["power"]) == {"smi", "aperf_mperf", "khz", "governor", "idle_us"}
        assert not any("the kernel's own" in problem for problem in run["problems"])


def test_files_of_the_harness_alone_are_compared(harness: Harness, tmp_path: Path) -> None:
    needs.module("scipy", "the extra `report` is not installed")
    files = [tmp_path / name for name in ("a.json", "b.json")]
    for path in files:
        done = harness(*SHORT, "--cpus", str(online()[-1]), "--label", path.stem, "--json")
        path.write_text(json.dumps(done.run))
    told = lowlat("report", files[0], "--against", files[1], "--json").json()
    assert told["verdict"] == "descriptive-only", told["why"]


@needs_notification
@pytest.mark.parametrize(
    ("features", "error", "word"), [(1, 0, "used"), (1, 1, "refused"), (2, 0, "not offered")]
)
def test_the_loop_runs_under_task_isolation_where_the_kernel_has_it(
    bench: Bench, features: int, error: int, word: str
) -> None:
    words = ("--cpus", str(online()[-1]), *SHORT, "--json", str(bench.json))
    done = subprocess.run(
        [*ISOLATING_KERNEL, str(features), str(error), bench.program, *words],
        capture_output=True, text=True, timeout=waits.GUARD_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    run = json.loads(bench.json.read_text())
    assert run["task_isolation"] == word
    asked = [row for row in done.stdout.splitlines() if re.match(r"6[3-7] ", row)]
    # PR_ISOL_*: read the features, configure the VM statistics, activate, and deactivate after the
    # loop.
    calls = ["63 0 pointer", "65 1 1 1 pointer 0 1", "67 pointer 0 0 0 1 ", "67 pointer 0 0 0 0 "]
    assert len(asked) == (4 if features & 1 else 1)
    assert all(row.startswith(call) for row, call in zip(asked, calls))
    refused = [text for text in run["problems"] if "task isolation" in text]
    assert len(refused) == (word == "refused")
    assert all("refused it (Operation not permitted)" in text for text in refused)


def test_the_steps_of_a_run_add_up_to_it(harness: Harness) -> None:
    run = harness("--cpus", "1", *SHORT, "--duration", "2600ms", "--json").run
    ends = run["series"]["ends_s"]
    assert run["series"]["step_s"] == 1
    seconds = [0, *(int(end) for end in ends[:-1])]
    # At most one of each; on a busy host one of them may come too late.
    assert len(ends) > 1 and seconds == sorted(set(seconds)) and ends[-1] >= 2.6
    (cpu,) = run["cpus"]
    khz = cpu["series"].pop("khz")  # None where there is no cpufreq
    assert set(cpu["series"]) == {"noise_ns", "gaps", "interrupts", "readings_per_ms"}
    assert {len(values) for values in (*cpu["series"].values(), khz or ends)} == {len(ends)}
    assert sum(cpu["series"]["gaps"]) == cpu["events"]
    paces = [pace for pace in cpu["series"]["readings_per_ms"] if pace]
    assert paces and cpu["pace"]["work"]["min"] * 0.9 <= min(paces)
    assert max(paces) <= cpu["pace"]["work"]["max"] * 1.1
    assert sum(cpu["series"]["noise_ns"]) == pytest.approx(cpu["noise_ns"], rel=1e-4)
    assert sum(cpu["series"]["interrupts"]) == pytest.approx(
        cpu["interrupts_per_s"]["total"] * ends[-1], rel=1e-3
    )


def test_a_short_run_is_one_step(harness: Harness) -> None:
    run = harness("--cpus", "1", *SHORT, "--json").run
    assert len(run["series"]["ends_s"]) == 1
    assert run["cpus"][0]["series"]["gaps"] == [run["cpus"][0]["events"]]


def test_noise_is_in_the_step_in_which_it_came(bench: Bench) -> None:
    """A rival takes part of the measured CPU; the gaps themselves tell when."""
    capture, events = bench.folder / "capture", bench.folder / "events.csv"
    capture.mkdir()
    words = ("--cpus", "1", *SHORT, "--duration", "3500ms", "--threshold", "5us")
    with subprocess.Popen(["taskset", "-c", "1", "sh", "-c", "while :; do :; done"]) as rival:
        run = bench.call(*words, "--capture", str(capture), "--events", str(events)).run
        rival.kill()
    clock = json.loads((capture / "capture.json").read_text())
    (ticks, raw), (last_ticks, last_raw) = clock["first"], clock["last"]
    rate = (last_raw - raw) / (last_ticks - ticks)
    gaps = [tuple(map(int, row.split(","))) for row in events.read_text().splitlines()[1:]]
    ended = [(raw + (end - ticks) * rate, (end - begin) * rate) for _, begin, end in gaps]
    # The first step begins between these two.
    earliest, latest = clock["begin_raw_ns"], clock["end_raw_ns"] - clock["counted_ns"]
    ends = [1e9 * end for end in run["series"]["ends_s"]]
    lost = run["cpus"][0]["series"]["noise_ns"]
    assert sum(lost) > 0
    for step, end in enumerate(ends[:-1]):
        found = sum(lost[: step + 1])
        # A step is read after its end and before the next one ends.
        least = sum(length for at, length in ended if at < earliest + end - 1000)
        most = sum(length for at, length in ended if at < latest + ends[step + 1] + 1000)
        assert 0.999 * least <= found <= 1.001 * most, (step, least, found, most)


def test_without_a_cpu_to_spare_interrupts_are_not_counted_by_steps(harness: Harness) -> None:
    every = ",".join(map(str, online()))
    run = harness("--cpus", every, *SHORT, "--json").run
    for cpu in run["cpus"]:
        assert cpu["series"]["interrupts"] is None
        assert cpu["series"]["gaps"] == [cpu["events"]]


def test_default_cpus(harness: Harness) -> None:
    run = harness(*SHORT, "--json").run
    isolated = Path("/sys/devices/system/cpu/isolated").read_text().strip()
    if not isolated:
        assert [cpu["cpu"] for cpu in run["cpus"]] == online()[1:]
    assert run["isolated"] == isolated


def test_figures_agree_with_each_other(harness: Harness) -> None:
    run = harness(*SHORT, "--json").run
    assert ran_for(run, 0.3)
    for cpu in run["cpus"]:
        counts = cpu["histogram"]["counts"]
        observed = cpu["runtime_ns"] - cpu["dead_ns"]
        assert cpu["noise_ppm"] == pytest.approx(1e6 * cpu["noise_ns"] / observed, rel=1e-4)
        assert sum(count for _, _, count in counts) == cpu["events"]
        assert all(a[1] <= b[0] for a, b in zip(counts, counts[1:]))
        assert all((upper - lower - 1) <= lower / 1000 for lower, upper, _ in counts)
        assert counts[-1][0] <= cpu["max_ns"] <= counts[-1][1]
        middle = sum((lower + upper - 1) / 2 * count for lower, upper, count in counts)
        assert middle == pytest.approx(cpu["noise_ns"], rel=0.005)
        rates = list(cpu["rates_per_s"].values())
        assert rates == sorted(rates, reverse=True)
        assert rates[0] == pytest.approx(cpu["events"] * 1e9 / cpu["runtime_ns"], rel=1e-6)
        delays = list(cpu["time_weighted_ns"].values())
        assert delays == sorted(delays)
        # The histogram has the clock's rate of the start, the maximum that of the whole run.
        assert delays[-1] <= cpu["max_ns"] * (1 + 1e-6)


def test_interrupts_are_those_of_proc_interrupts(harness: Harness) -> None:
    run = harness(*SHORT, "--json").run
    interrupts = Path("/proc/interrupts").read_text()
    labels = [line.split(":")[0].strip() for line in interrupts.splitlines()]
    for cpu in run["cpus"]:
        entries = cpu["interrupts_per_s"]
        rows = {name: rate for name, rate in entries.items() if name != "total"}
        assert sum(rows.values()) == pytest.approx(entries["total"])
        assert all(rate > 0 for rate in rows.values())
        assert {name.split(":")[0] for name in rows} <= set(labels) - {"ERR", "MIS"}
        assert all(":" in name or not name.isdigit() for name in rows)


def test_rates_below_the_threshold_are_unknown(harness: Harness) -> None:
    run = harness(*SHORT, "--threshold", "5us", "--json").run
    assert run["threshold_ns"] == 5000
    for cpu in run["cpus"]:
        assert cpu["rates_per_s"]["100ns"] is None
        assert cpu["rates_per_s"]["1us"] is None
        assert cpu["rates_per_s"]["10us"] is not None
        assert all(lower >= 4995 for lower, _, _ in cpu["histogram"]["counts"])


def test_all_time_is_accounted_for(harness: Harness) -> None:
    run = harness(*SHORT, "--json").run
    per_tick = 1e9 / run["clock"]["hz"]
    for cpu in run["cpus"]:
        ticks = cpu["end_ticks"] - cpu["begin_ticks"]
        assert ticks * per_tick == pytest.approx(cpu["runtime_ns"], abs=1)
        much = abs(cpu["unaccounted_ppm"]) > 10_000 and not run["emulated"]
        told = f"CPU {cpu['cpu']}: {cpu['unaccounted_ppm'] / 1e4:.2f} % of the runtime is in no"
        assert any(text.startswith(told) for text in run["problems"]) is much
        assert not (much and run["valid"])


def test_work_per_window(harness: Harness) -> None:
    run = harness("--duration", "1s", "--warmup", "0s", "--no-oslat", "--json").run
    for cpu in run["cpus"]:
        pace = cpu["pace"]
        work = [pace["work"][name] for name in ("min", "p1", "p50", "p99", "max")]
        assert pace["window_ns"] == 1_000_000
        assert 0 < pace["windows"] <= 1000
        assert work == sorted(work) and work[0] > 0


def test_idle_states_are_those_of_the_kernel(harness: Harness) -> None:
    run = harness(*SHORT, "--json").run
    for cpu in run["cpus"]:
        states = Path(f"/sys/devices/system/cpu/cpu{cpu['cpu']}/cpuidle").glob("state*/name")
        assert set(cpu["power"]["idle_us"]) == {path.read_text().strip() for path in states}


def test_events_are_the_noise(harness: Harness, tmp_path: Path) -> None:
    table = tmp_path / "events.csv"
    cpus = ",".join(map(str, online()[:2]))
    run = harness(*SHORT, "--cpus", cpus, "--events", str(table), "--json").run
    header, *rows = table.read_text().splitlines()
    events = [tuple(map(int, row.split(","))) for row in rows]
    assert header == "cpu,begin,end"
    assert [begin for _, begin, _ in events] == sorted(begin for _, begin, _ in events)
    per_tick = 1e9 / run["clock"]["hz"]
    for cpu in run["cpus"]:
        lengths = [end - begin for number, begin, end in events if number == cpu["cpu"]]
        assert len(lengths) == cpu["events"] - cpu["lost_events"]
        assert min(lengths) * per_tick > run["threshold_ns"]
        assert sum(lengths) * per_tick == pytest.approx(cpu["noise_ns"], rel=1e-6)
        assert max(lengths) * per_tick == pytest.approx(cpu["max_ns"], abs=1)


def test_summary_prints_period_and_floor(harness: Harness) -> None:
    done = harness(*SHORT)
    assert done.status == 0
    assert "complete, valid" in done.out
    for words in ("loop period", "own clock reading", "interrupts", "longest"):
        assert words in done.out or "emulated" in done.out


def test_help_names_every_option(harness: Harness) -> None:
    done = harness("--help")
    assert (done.status, done.err) == (0, "")
    for name in ("cpus", "duration", "warmup", "threshold", "policy", "load", "load-cpus", "oslat",
                 "no-oslat", "emulated", "label", "seed", "json", "events"):  # fmt: skip
        assert f"--{name} " in done.out


def test_a_run_names_the_build_that_made_it(harness: Harness) -> None:
    version = harness("--version").out.split()[1]
    made_by = harness(*SHORT, "--json").run["harness"]
    assert re.fullmatch(rf"{re.escape(version)}\+[0-9a-f]{{8}}", made_by)


def test_help_and_refusal_name_the_same_scenarios(harness: Harness) -> None:
    (line,) = (line for line in harness("--help").out.splitlines() if "--load " in line)
    named = line.partition("idle): ")[2]
    assert named.startswith("idle, ")
    assert f"use one of {named}\n" in harness("--load", "heavy").err


def test_a_guest_that_is_told_of_its_emulation_says_so(harness: Harness) -> None:
    run = harness(*SHORT, "--emulated", "--json").run
    assert run["emulated"] is True
    assert any("durations mean nothing" in problem for problem in run["problems"])
    assert "noise" not in harness(*SHORT, "--emulated").out


def test_a_kernel_without_sched_setattr_has_the_default_policy(bench: Bench) -> None:
    forbid = without("sched_setattr", errno.ENOSYS)

    def start() -> None:
        os.setpriority(os.PRIO_PROCESS, 0, 0)  # the tests may run under nice
        forbid()

    done = bench.call(*SHORT, preexec_fn=start)
    assert done.status == 0, done.err or done.run["problems"]


def test_a_cpuset_is_all_there_is(bench: Bench, cpuset: tuple[int, Path]) -> None:
    cpu, processes = cpuset
    bench.play("stress-ng", metrics("timer") + WAITS)

    def call(*words: str) -> Result:
        return bench.call(*SHORT, *words, preexec_fn=lambda: processes.write_text("0") and None)

    done = call("--cpus", str(cpu), "--load", "timers", "--load-cpus", "all")
    assert done.said("every allowed CPU is measured: the harness itself"), done.err
    assert [load["cpus"] for load in done.run["loads"]] == [str(cpu)]
    done = call()
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert f"--cpus: only CPU {cpu} is allowed" in done.err
    done = call("--cpus", "0")
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert "--cpus: CPU 0 is not allowed here" in done.err


def test_a_detector_that_was_moved_measured_another_cpu(
    bench: Bench, cpuset: tuple[int, Path]
) -> None:
    cpu, processes = cpuset
    words = ("--warmup", "0s", "--no-oslat", "--cpus", str(cpu), "--follow")
    run = bench.start(*words, "--duration", "60s", "--json", str(bench.json),
                      preexec_fn=lambda: processes.write_text("0") and None)  # fmt: skip
    next(line for line in run.lines() if line["cpus"][0]["gaps"])
    (processes.parent / "cpuset.cpus").write_text(str(next(x for x in online() if x != cpu)))
    run.send_signal(signal.SIGINT)
    done = bench.result(run)
    assert (done.run["complete"], done.run["valid"], done.err) == (False, False, "")
    assert done.said(f"CPU {cpu}: went offline, or left the cpuset, during the run"), done.run


# Refusals: exit 2, one line, nothing else

REFUSED = [
    *rows(Path(__file__).with_name("harness_refusals.txt")),
    Refusal("measure", f"--cpus {'x' * 5000}", (), "not a CPU list"),
]


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row.command[:30])
def test_refused(harness: Harness, tmp_path: Path, row: Refusal) -> None:
    row.make(tmp_path)
    before = contents(tmp_path)
    done = harness(*SHORT, *row.argv, cwd=tmp_path)
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.endswith("\n")
    assert row.is_said_in(done.err), done.err
    assert ";" in done.err, "says what to do"
    assert contents(tmp_path) == before
    assert harness(*SHORT, *row.argv, "--check", cwd=tmp_path) == done


def test_check_prints_the_cpus_of_a_run_and_starts_nothing(bench: Bench) -> None:
    bench.play("stress-ng", "touch started")
    first, *others = map(str, online())
    words = ("--cpus", others[-1], "--load", "vm", "--load-cpus", first, "--oslat")
    run = bench.start(*words, "--json", str(bench.json), "--check")
    status, out, err = run.ended()
    measured, load, rest = out.splitlines()
    assert (status, err, run.phases.read()) == (0, "", "")
    assert (measured, load) == (f"measured: {others[-1]}", f"load: {first}")
    assert rest.startswith(f"rest: {first}")
    assert not bench.json.exists()
    assert names(bench.scratch) == []


def test_no_cpu_left(harness: Harness) -> None:
    everything = Path("/sys/devices/system/cpu/online").read_text().strip()
    done = harness(*SHORT, "--cpus", everything, "--load", "vm")
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert "none is left for the load" in done.err
    done = harness(*SHORT, "--cpus", everything, "--policy", "fifo:1")
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert "no CPU for the system" in done.err


@pytest.mark.root
@needs_root
def test_a_deadline_bound_to_one_cpu_of_a_domain_is_refused(harness: Harness) -> None:
    if Path("/proc/sys/kernel/sched_rt_runtime_us").read_text().strip() == "-1":
        needs.absent("the kernel's admission control is off")
    done = harness(*SHORT, "--policy", "deadline:5ms/10ms", "--json")
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert "only in a cpuset partition of that CPU; run inside one" in done.err


@pytest.mark.root
@needs_root
@pytest.mark.parametrize(
    ("before", "words", "why"),
    [
        ([], ["--policy", "fifo:1"], "LimitRTPRIO"),
        ([], ["--policy", "deadline:5ms/10ms"], "not permitted"),
        ([], ["--json", "/run.json"], "Permission denied"),
        ([], ["--load", "oom"], "use --load vm"),
        ([], ["--load", "major-faults"], "use --load files"),
        (["nice", "-n", "5"], [], "may not leave nice 5"),
    ],
)
def test_no_permission(
    ordinary_user: OrdinaryUser, before: list[str], words: list[str], why: str
) -> None:
    done = subprocess.run(
        [*before, ordinary_user.measure, *SHORT, *words],
        capture_output=True, text=True, timeout=waits.GUARD_S, check=False, **AS_NOBODY,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert why in done.stderr
