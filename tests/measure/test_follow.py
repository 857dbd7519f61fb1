# SPDX-License-Identifier: GPL-2.0-or-later
"""The live view: its output for the harness's lines, and how it ends."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lowlat.base.errors import LowlatError
from lowlat.catalogue.remedies import Remedies, Thread
from lowlat.host.root import Root
from lowlat.measure.follow import parse_line
from lowlat.measure.occupants import Look, Occupant, Occupants
from lowlat.model.cpuset import CpuSet
from lowlat.verbs.top import table
from support import procs, waits
from support.harness import Bench, needs_two_cpus, online
from support.ordinary_user import AS_NOBODY, OrdinaryUser

pytest_plugins = ["support.harness", "support.ordinary_user"]


def told(**more: Any) -> str:
    cpu = {
        "cpu": 3, "gaps": 20, "noise_ns": 20_000_000, "noise_ppm": 1e4, "max_ns": 90, "switches": 4,
        "interrupts": {"LOC": 500, "TLB": 4, "CAL": 4, "36:virtio1-req.0": 2},
        "softirqs": {"TIMER": 40},
    }  # fmt: skip
    line = {"schema": "lowlat.follow/1", "time_s": 4.0, "interval_s": 2.0, "cpus": [cpu]}
    return json.dumps({**line, **more})


def test_a_line_names_who_and_the_remedy() -> None:
    occupants = (
        Occupant(3, "kworker/3:1", 6_000_000, 44, Thread.BOUND),
        Occupant(2, "elsewhere", 10**9, 45, Thread.USER),
    )
    second = parse_line(told(), Look(occupants, {3: 8_000_000}, started=9))
    (cpu,) = second.accounted(Remedies()).cpus
    assert (cpu.cpu, cpu.gaps_per_s, cpu.max_ns, cpu.lost_us_per_s) == (3, 10.0, 90, 1e4)
    found = [(one.kind, one.name, one.times_per_s, one.us_per_s, one.remedy) for one in cpu.sources]
    assert found == [
        ("thread", "kworker/3:1", None, 3000.0, None),
        ("irq", "local_timer", 250.0, 1250.0, "nohz_full"),
        ("thread", "gone or moved on, 9 started on all CPUs", None, 1000.0, None),
        ("softirq", "TIMER", 20.0, 100.0, "nohz_full"),
        ("ipi", "IPI function call", 2.0, 10.0, None),
        ("irq", "irq 36 virtio1-req.0", 1.0, 5.0, "isolcpus"),
    ]


@pytest.mark.parametrize("lost_ns", [0, 1000, 5_000_000, 7_000_000, 30_000_000])
@pytest.mark.parametrize("waited", [{}, {3: 0}, {3: 4_000_000}, {3: 10**10}])
def test_the_rows_of_a_second_add_up_to_the_time_lost(lost_ns: int, waited: dict[int, int]) -> None:
    """No row, and not all of them, exceeds it; the last one has the rest."""
    cpu = {**json.loads(told())["cpus"][0], "noise_ns": lost_ns}
    occupants = (Occupant(3, "one", 6_000_000, 44, Thread.USER),)
    second = parse_line(told(cpus=[cpu]), Look(occupants, waited, started=9))
    account = second.accounted(Remedies())
    _, _, *rows = table(account, 2).splitlines()
    took = [float(re.search(r"  [~+-]?(\d+)( |$)", row[40:])[1]) for row in rows]  # type: ignore[index]
    assert sum(took) == pytest.approx(lost_ns / 2000, abs=len(rows))
    assert "not explained" in rows[-1]
    (told_cpu,) = account.cpus
    known = sum(one.us_per_s for one in told_cpu.sources)
    assert told_cpu.lost_us_per_s == pytest.approx(lost_ns / 2000, abs=1e-3)
    assert known + told_cpu.not_explained_us_per_s == pytest.approx(told_cpu.lost_us_per_s)
    share = told_cpu.explained
    assert share == (pytest.approx(known / told_cpu.lost_us_per_s, abs=1e-3) if lost_ns else None)


def test_the_table_ranks_by_time_and_recommends_what_can_be_had(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ending = {"cpu": 3, "gaps": 1, "noise_ns": 3, "noise_ppm": 1.2e6, "max_ns": 9, "switches": 0}
    whole = parse_line(told(cpus=[{**ending, "interrupts": {}, "softirqs": {}}]))
    # A gap that began in the second before counts here too.
    assert " 1000000.0 " in table(whole.accounted(Remedies()), 8)
    second = parse_line(
        told(), Look((Occupant(3, "a-thread-of-a-long-name", 6_000_000, 44, Thread.USER),))
    )
    title, head, *rows = table(second.accounted(Remedies(frozenset({"nohz_full"}))), 8).splitlines()
    assert head.split()[-3:] == ["us/s", "times/s", "remedy"]
    assert "thread 44: a-t" in rows[0] and "3000" in rows[0].split()
    assert {"~1250", "250"} <= set(rows[1].split())
    assert not any("nohz_full" in row for row in rows)
    assert "nohz_full" in table(second.accounted(Remedies()), 8)
    assert max(map(len, (title, head, *rows))) <= 80


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "null", told(schema="x/1"), told(cpus=[{}]), told(interval_s=0)]
)
def test_another_line_is_refused(text: str) -> None:
    with pytest.raises(LowlatError, match="cannot be read"):
        parse_line(text)


def test_threads_are_seen_by_what_they_ran_between_two_looks(tmp_path: Path) -> None:
    def task(pid: int, cpu: int, ran: int, waited: int = 5, started: int = 7) -> None:
        folder = tmp_path / f"proc/{pid}/task/{pid}"
        folder.mkdir(parents=True, exist_ok=True)
        fields = ["S", *["0"] * 35, str(cpu), "0", "0"]
        (folder / "stat").write_text(f"{pid} (a) b) {' '.join(fields)}\n")
        (folder / "schedstat").write_text(f"{ran} {waited} 6\n")
        (tmp_path / "proc/stat").write_text(f"cpu  1 2 3\nprocesses {started}\n")

    task(10, 1, 1000)
    task(11, 0, 5000)
    task(12, 1, 7000)
    seen = Occupants(Root(str(tmp_path)), CpuSet.of([1]), harness=12)
    task(10, 1, 1500)
    task(11, 1, 9000)  # came from CPU 0
    task(12, 1, 9000, waited=605, started=30)  # the detector
    task(13, 1, 30, started=30)  # is new
    assert seen.look() == Look(
        (
            Occupant(1, "a) b", 4000, 11, Thread.USER),
            Occupant(1, "a) b", 500, 10, Thread.USER),
            Occupant(1, "a) b", 30, 13, Thread.USER),
        ),
        {1: 600},
        23,
    )
    assert seen.look() == Look((), {1: 0}, 0)


# --------------------------------------------------------------------- live


def top(program: str, *args: str) -> list[str]:
    """The command line, with the tested harness beside it."""
    code = (
        "import sys; sys.argv[0] = sys.argv.pop(1); from lowlat.cli import main; sys.exit(main())"
    )
    beside = str(Path(program).parent / "lowlat-gen")
    return [sys.executable, "-c", code, beside, "top", f"--cpus={online()[-1]}", *args]


def told_by(program: str, *args: str) -> str:
    """The output of a live view that ends by itself."""
    done = subprocess.run(
        top(program, *args), capture_output=True, text=True, timeout=waits.GUARD_S, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@needs_two_cpus
def test_once_shows_a_second_and_ends(program: str) -> None:
    title, head, first, *_ = told_by(program, "--once").splitlines()
    assert title.startswith(f"lowlat-gen top: CPU {online()[-1]}, ")
    assert head.split("  ")[0].strip() == "CPU" and head.endswith("remedy")
    assert first.split()[0] == str(online()[-1])


@needs_two_cpus
def test_each_second_is_a_line_of_json_that_adds_up(program: str) -> None:
    lines = [json.loads(line) for line in told_by(program, "--json", "--once").splitlines()]
    (second,) = lines
    assert (second["schema"], [cpu["cpu"] for cpu in second["cpus"]]) == (
        "lowlat.top/1",
        [online()[-1]],
    )
    (cpu,) = second["cpus"]
    known = sum(one["us_per_s"] for one in cpu["sources"])
    assert cpu["sources"] and 0 <= cpu["explained"] <= 1
    assert known + cpu["not_explained_us_per_s"] == pytest.approx(cpu["lost_us_per_s"])
    assert cpu["lost_us_per_s"] == pytest.approx(cpu["noise_ppm"], rel=1e-3, abs=1)


@pytest.mark.place
@needs_two_cpus
def test_it_works_without_root(ordinary_user: OrdinaryUser) -> None:
    done = subprocess.run(
        [ordinary_user.gen, "top", f"--cpus={online()[-1]}", "--once", "--lines=100"],
        capture_output=True, text=True, timeout=waits.GUARD_S, check=False, **AS_NOBODY,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "irq: local_timer" in done.stdout or "irq: irq" in done.stdout


@needs_two_cpus
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_and_the_harness(program: str, number: signal.Signals) -> None:
    child = subprocess.Popen(top(program), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()  # the first second is there
    started = procs.children(child.pid)
    assert started
    child.send_signal(number)
    _, errors = child.communicate(timeout=waits.GUARD_S)
    assert (child.returncode, errors) == (0, b"")
    assert not any(map(procs.alive, started))


@needs_two_cpus
def test_the_harness_ends_when_nobody_reads_any_more(program: str) -> None:
    argv = [program, f"--cpus={online()[-1]}", "--duration=60s", "--warmup=0s", "--no-oslat"]
    child = subprocess.Popen([*argv, "--follow"], stdout=subprocess.PIPE)
    assert child.stdout is not None
    line = json.loads(child.stdout.readline())
    assert line["schema"] == "lowlat.follow/1"
    assert line["cpus"][0]["gaps"] > 0
    child.stdout.close()
    assert child.wait(waits.GUARD_S) == 1  # partial


@needs_two_cpus
def test_lines_add_up_to_the_run(bench: Bench) -> None:
    words = (f"--cpus={online()[-1]}", "--duration=60s", "--warmup=0s", "--no-oslat", "--follow")
    running = bench.start(*words, f"--json={bench.json}")
    lines = []
    for line in running.lines():
        lines.append(line)
        if len(lines) == 3:
            running.send_signal(signal.SIGINT)
    done = bench.result(running)
    assert (done.status, done.err) == (130, "")
    run = done.run["cpus"][0]
    seconds = [int(line["time_s"]) for line in lines]
    assert len(seconds) >= 3 and seconds == sorted(set(seconds)) and seconds[0] >= 1
    assert 0 < sum(line["cpus"][0]["gaps"] for line in lines) <= run["events"]
    assert max(line["cpus"][0]["max_ns"] for line in lines) <= run["max_ns"] * 1.001
    assert sum(line["cpus"][0]["noise_ns"] for line in lines) <= run["noise_ns"] * 1.001


@needs_two_cpus
def test_bad_input_is_one_line(program: str) -> None:
    for args in (["--cpus=9999"], ["--lines=0"], ["--duration=5"], ["--duration=10ms"]):
        done = subprocess.run(
            top(program, *args), capture_output=True, text=True, timeout=waits.GUARD_S, check=False
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.count("\n") == 1, done.stderr


@needs_two_cpus
def test_a_terminal_is_drawn_in_place(program: str) -> None:
    master, slave = pty.openpty()
    child = subprocess.Popen(top(program), stdout=slave, stderr=slave, stdin=slave)
    os.close(slave)
    shown = b""
    while b"remedy" not in shown:
        shown += os.read(master, 65536)
    child.send_signal(signal.SIGINT)
    try:
        while block := os.read(master, 65536):
            shown += block
    except OSError:
        pass  # the other end is closed
    os.close(master)
    assert child.wait(waits.GUARD_S) == 0
    assert b"remedy" in shown and b"\x1b[" in shown
    assert b"Traceback" not in shown
