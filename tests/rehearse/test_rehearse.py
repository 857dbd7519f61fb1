# SPDX-License-Identifier: GPL-2.0-or-later
"""Rehearsals without a boot: the choice of the guest, its command, the results and the refusals."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Optional, cast

import pytest

from lowlat import cli
from lowlat.base import process
from lowlat.base.errors import LowlatError, Refused
from lowlat.base.typed_json import read_value, write_value
from lowlat.catalogue import CATALOGUE
from lowlat.host.root import Root
from lowlat.measure.options import MeasureOptions
from lowlat.measure.run_file import read_run
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Core, Cpus, Machine, Processor
from lowlat.model.plan import Plan
from lowlat.plan import profile
from lowlat.plan.cpu_request import CpuRequest
from lowlat.plan.planner import Options, make_plan
from lowlat.rehearse import (
    boots,
    enclosure,
    guest_measure,
    guest_tuned,
    jobs,
    qemu,
    results,
    store,
    vm,
)
from lowlat.rehearse.arm import PlannedArm
from lowlat.rehearse.exchange import TASK, Facts, GuestTask, read_facts
from lowlat.rehearse.kernel import BootableKernel
from lowlat.rehearse.options import GuestPlanOptions, RehearseOptions
from lowlat.rehearse.vm_size import VmSize, shape
from support import needs, procs, waits
from support.cli import lowlat_process as lowlat
from support.waits import GUARD_S

pytestmark = pytest.mark.slow

HARNESS = Path(sys.executable).with_name("lowlat-measure")


def _machine(cpus: int, threads: int = 1, flags: str = "") -> Machine:
    online = CpuSet.of(range(cpus))
    cores = tuple(
        Core(CpuSet.of(range(first, first + threads))) for first in range(0, cpus, threads)
    )
    return Machine(
        arch="x86_64",
        cpus=Cpus(online=online, offline=CpuSet(), possible=online, boot=0),
        cores=cores,
        processor=Processor(flags=frozenset(flags.split()), flags_known=True),
    )


@pytest.mark.parametrize(
    ("machine", "cpus", "emulated", "smp"),
    [
        (_machine(1), None, True, "4"),
        (_machine(2), None, True, "4"),
        (_machine(2, threads=2), None, True, "4,sockets=1,cores=2,threads=2"),
        (_machine(64), None, True, "4"),
        (_machine(64), None, False, "4"),
        (_machine(4, threads=4), None, False, "4"),
    ],
)
def test_the_guest_has_this_machines_shape_and_four_cpus(
    machine: Machine, cpus: int, emulated: bool, smp: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    assert shape(machine, cpus, "2G", emulated=emulated).smp == smp


def test_a_larger_host_carries_a_larger_guest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    assert shape(_machine(8), None, "2G", emulated=False).cpus == 8
    with pytest.raises(Refused, match="--cpus 16: a rehearsal takes 4 to 8 CPUs"):
        shape(_machine(8), 16, "2G", emulated=False)


@pytest.mark.parametrize(("host", "known", "most"), [(64, True, 8), (64, None, 64), (2, None, 8)])
def test_the_cpus_of_an_emulated_guest_share_one_and_are_few(
    host: int, known: Optional[bool], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: host)
    assert shape(_machine(host), None, "2G", emulated=True).cpus == 4
    assert shape(_machine(host), most, "2G", emulated=known).cpus == most
    with pytest.raises(Refused, match=f"--cpus {most + 1}: a rehearsal takes 4 to {most} CPUs"):
        shape(_machine(host), most + 1, "2G", emulated=known)


def test_emulation_gets_this_machines_clock() -> None:
    trusted = _machine(4, flags="constant_tsc nonstop_tsc tsc_adjust")
    assert list(boots.clock_words(trusted)) == ["tsc=nowatchdog"]
    assert list(boots.clock_words(_machine(4, flags="constant_tsc"))) == []


def _boot(folder: Path, limit: float = 60, kvm: bool = False, cpus: int = 4) -> vm.GuestBoot:
    return vm.GuestBoot(
        kernel=BootableKernel("6.12.1", Path("/boot/vmlinuz-6.12.1")),
        line="isolcpus=2-3 nohz_full=2-3",
        shape=VmSize(cpus),
        kvm=kvm,
        folder=folder / "guest",
        command=("true", "two words"),
        limit=limit,
    )


def test_the_command_shares_only_the_result_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vm, "runner", lambda: "virtme-run")
    monkeypatch.setattr(qemu, "program", lambda: "/bin/true")
    argv = vm.argv(_boot(tmp_path))
    assert argv[0] == "virtme-run"
    assert not any(word.startswith("--rw") for word in argv)
    assert {"--overlay-rwdir=/etc", "--overlay-rwdir=/usr", "--overlay-rwdir=/var"} <= set(argv)
    assert [word for word in argv if word.startswith("--kopt")] == [
        "--kopt=isolcpus=2-3",
        "--kopt=nohz_full=2-3",
    ]
    (script,) = (word for word in argv if word.startswith("--script-sh="))
    assert script.endswith(f" lowlat.share {tmp_path}/guest && true 'two words'")
    options = argv[argv.index("--qemu-opts") :]
    if platform.machine() == "x86_64":
        # QEMU 7.2 loses the flags there, and the guest panics.
        assert options[options.index("-cpu") + 1] == "max,-cx16"
    # Guest time follows executed instructions, so host load drops no ticks.
    assert "-accel tcg,thread=single -icount shift=3,sleep=on" in " ".join(options)
    # Every CPU runs within each millisecond.
    assert any(word.endswith("interval=250") for word in options)
    assert any(word.endswith("interval=125") for word in vm.argv(_boot(tmp_path, cpus=8)))
    assert "--disable-kvm" in argv
    # Before 8.1, QEMU lets such a kernel's first CPU wait for the second one forever.
    old = replace(_boot(tmp_path), kernel=BootableKernel("6.1.0-50-amd64", Path("/boot/vmlinuz")))
    for version, threads in (("7.2.22", "multi"), ("8.1.0", "single"), ("10.0.2", "single")):
        monkeypatch.setattr(qemu, "_version", lambda version=version: version)
        assert f"tcg,thread={threads}" in vm.argv(old)
    with_kvm = vm.argv(_boot(tmp_path, kvm=True))
    assert "--disable-kvm" not in with_kvm and "-accel" not in with_kvm


def _runner(path: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a stand-in for virtme-run."""
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setattr(vm, "runner", lambda: str(path))
    monkeypatch.setattr(qemu, "program", lambda: "/bin/true")
    monkeypatch.setattr(enclosure, "closed", lambda path: None)


def _run(boot: vm.GuestBoot) -> None:
    boot.folder.mkdir()
    vm.run(boot, threading.Event())


def test_a_boot_keeps_the_console_and_what_the_guest_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _runner(tmp_path / "run", "echo one; echo console >&2; printf two", monkeypatch)
    _run(_boot(tmp_path))
    assert (tmp_path / "serial.log").read_text().splitlines()[1:] == ["one", "console", "two"]


def test_what_opens_the_console_anew_writes_over_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # QEMU reopens the file of the script's output in the same way.
    _runner(tmp_path / "run", "echo one; sleep 0.3; echo two >/proc/self/fd/1", monkeypatch)
    _run(_boot(tmp_path))
    assert (tmp_path / "serial.log").read_text().splitlines()[1:] == ["one", "two"]


def test_what_a_boot_leaves_running_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _runner(tmp_path / "run", f"sleep 300 & echo $! >{tmp_path}/child", monkeypatch)
    _run(_boot(tmp_path))
    child = int((tmp_path / "child").read_text())
    assert not procs.alive(child)


def test_a_panic_is_named_with_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    panic = "[ 1.0] Kernel panic - not syncing: VFS: Unable to mount root fs"
    _runner(tmp_path / "run", f"echo '{panic}' >&2; exit 255", monkeypatch)
    with pytest.raises(LowlatError) as error:
        _run(_boot(tmp_path))
    assert "boot of 6.12.1 panicked: Kernel panic - not syncing: VFS" in str(error.value)
    assert str(tmp_path / "serial.log") in str(error.value)


def test_a_hanging_boot_is_ended_with_all_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The leader ends at the first signal and its child ignores the signal, like a hanging QEMU.
    hang = f"(trap '' TERM; exec sleep 300) & echo $! >{tmp_path}/child; wait"
    _runner(tmp_path / "run", hang, monkeypatch)
    with pytest.raises(LowlatError, match="did not end within 3 s"):
        _run(_boot(tmp_path, limit=3))
    child = int((tmp_path / "child").read_text())
    assert not procs.alive(child)


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)]
)
def test_an_end_asked_for_ends_the_boots_and_tells_how_to_go_on(
    tmp_path: Path, number: int, status: int
) -> None:
    # Two guests run at once; each would take minutes.
    script = (
        "import pathlib, sys, lowlat.verbs.rehearse as verb\n"
        "from functools import partial\n"
        "from lowlat.rehearse import jobs as queue, store\n"
        "from lowlat.base import process\n"
        "def boot(name, stop):\n"
        "    run = ['sh', '-c', f'echo $$ >{name}.new; mv {name}.new {name}.pid; exec sleep 300']\n"
        "    log = pathlib.Path(f'{name}.log')\n"
        "    process.follow(run, {'PATH': '/bin:/usr/bin'}, log, 60, stop)\n"
        "def rehearse(options, results, jobs, begun):\n"
        "    store.Request(options, (), {}).make(results)\n"
        "    queue.work({n: partial(boot, results / n) for n in 'abc'}, jobs)\n"
        "verb.rehearse = rehearse\n"
        "from lowlat import cli\n"
        f"sys.exit(cli.main(['rehearse', '--jobs', '2', '--out', {str(tmp_path)!r}]))\n"
    )
    argv = [sys.executable, "-c", script]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        sleeping = [_number(tmp_path / f"{name}.pid") for name in "ab"]
        child.send_signal(number)
        out, _ = child.communicate(timeout=GUARD_S)
        assert child.returncode == status
    assert f"'lowlat-gen rehearse --resume {tmp_path}' goes on" in out.decode()
    assert not any(map(procs.alive, sleeping))
    assert not (tmp_path / "c.pid").exists()


class Interrupted(Mapping[str, jobs.Work]):
    """Two jobs; a signal comes when the first has begun and the second has not."""

    def __init__(self, job: jobs.Work) -> None:
        self._job = job

    def __getitem__(self, title: str) -> jobs.Work:
        return self._job

    def __iter__(self) -> Iterator[str]:
        yield "a"
        raise KeyboardInterrupt

    def __len__(self) -> int:
        return 2


def test_an_end_asked_for_while_boots_begin_ends_those_that_have() -> None:
    told: list[bool] = []
    with pytest.raises(KeyboardInterrupt):
        jobs.work(Interrupted(lambda stop: told.append(stop.wait(GUARD_S))), 2)
    assert told == [True]


def _number(path: Path) -> int:
    waits.until(path.exists)
    return int(path.read_text())


def test_a_program_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(LowlatError, match="cannot run /nonexistent"):
        process.follow(["/nonexistent"], {}, tmp_path / "log", 5, threading.Event())


def _task(**fields: Any) -> GuestTask:
    asked = MeasureOptions(
        label="stock", out=Path("stock-1.json"), policy="other,fifo:1", causes=True
    )
    whole = GuestTask(PlannedArm("stock"), CpuSet.of([2, 3]), "/bin/measure", asked)
    return replace(whole, **fields)


def test_a_task_comes_back_as_it_went(tmp_path: Path) -> None:
    for arm in (
        PlannedArm("stock"),
        PlannedArm("cpu-partitioning", "nohz=on", tuned="cpu-partitioning"),
    ):
        task = _task(arm=arm)
        write_value(tmp_path / TASK, task)
        assert read_value(tmp_path / TASK, GuestTask) == task


@pytest.mark.parametrize(("emulated", "words"), [(True, ["--no-oslat", "--emulated"]), (False, [])])
def test_the_harness_is_told_of_emulation(emulated: bool, words: list[str]) -> None:
    plan, cpus = cast(Plan, SimpleNamespace(housekeeping="0-1")), CpuSet.of([2, 3])
    asked = boots.measure_options(RehearseOptions(), "stock", plan, cpus, emulated=emulated)
    argv = asked.argv("measure")
    assert {"--cpus=2-3", "--load-cpus=0-1", "--load=mixed"} < set(argv)
    assert [word for word in argv if word in ("--emulated", "--no-oslat")] == words


@pytest.mark.parametrize("line", ["quiet", "notvirtme_hostname=x", None])
def test_nothing_is_applied_outside_a_guest(tmp_path: Path, line: Optional[str]) -> None:
    (tmp_path / "proc").mkdir()
    if line is not None:
        (tmp_path / "proc/cmdline").write_text(f"{line}\n")
    root = Root(str(tmp_path))
    with pytest.raises(Refused, match="run-time settings are applied in its guest only"):
        guest_tuned.apply(root, tmp_path / "files", tmp_path / "tuned.log")
    assert not (tmp_path / "tuned.log").exists()


@needs.file(HARNESS, "make harness")
@pytest.mark.harness
def test_what_is_measured_in_a_boot_is_a_run_of_measure(tmp_path: Path) -> None:
    """A stock boot sets nothing, so its steps can run on this machine."""
    cpu = str(max(os.sched_getaffinity(0)))
    asked = MeasureOptions(label="stock", out=Path("stock-1.json"), cpus=cpu, duration="100ms",
                           warmup="0s", load="idle", oslat=False, work="registers",
                           causes=False, emulated=True)  # fmt: skip
    task = _task(isolated=CpuSet.parse_list(cpu), harness=str(HARNESS), measure=asked)
    write_value(tmp_path / TASK, task)
    program = [sys.executable, "-m", "lowlat.rehearse.guest_measure", str(tmp_path)]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    assert read_facts(tmp_path).refused == "", done
    run = read_run(tmp_path / "stock-1.json")
    assert (run.label, run.emulated, run.host.arch) == ("stock", True, platform.machine())
    assert [work.kind for work in run.work] == ["registers"]


def test_a_guest_that_left_nothing_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(LowlatError, match="the guest left no result"):
        read_facts(tmp_path)


# ----------------------------------------------------------------- findings


MESSAGES = """\
Kernel command line: virtme_console=ttyS0 isolcpus=2-3 lowlat.plan=12
Unknown kernel command line parameters "virtme_x=1 nr_open=1048576", will be passed
rcu: \tOffload RCU callbacks from CPUs: 2-3.
watchdog: Disabling watchdog on nohz_full cores by default
"""

SIGNS = [entry.name for entry in CATALOGUE if entry.sign.contradiction]


def test_ordinary_messages_are_no_complaints() -> None:
    assert list(guest_measure.complaints(MESSAGES, SIGNS)) == []


def test_an_emulated_clock_is_no_complaint_unless_it_was_planned() -> None:
    line = "tsc: Marking TSC unstable due to TSCs unsynchronized"
    assert list(guest_measure.complaints(line, ["isolcpus", "nohz_full"])) == []
    assert list(guest_measure.complaints(line, ["tsc"])) == [line]


@pytest.mark.parametrize(
    "line",
    [
        "Housekeeping: nohz unsupported. Build with CONFIG_NO_HZ_FULL",
        "isolcpus: Skipped unknown flag foo",
        "rcu_nocbs= bad CPU range, all CPUs set",
        "Housekeeping: nohz_full= or isolcpus= incorrect CPU range",
        "NO_HZ: Clearing 0 from nohz_full range for timekeeping",
        "Dynamic Preempt: unsupported mode: none",
        "Malformed early option 'isolcpus'",
    ],
)
def test_the_kernels_complaints_are_found(line: str) -> None:
    assert list(guest_measure.complaints(f"{MESSAGES}{line}\n", SIGNS)) == [line]


def test_an_unknown_parameter_is_named_without_the_guests_own() -> None:
    line = 'Unknown kernel command line parameters "virtme_x=1 kthread_cpus=0", will be passed'
    assert list(guest_measure.complaints(line, ())) == ["unknown to the kernel: kthread_cpus=0"]


def _facts(**fields: Any) -> Facts:
    whole = Facts("", CpuSet.of([2, 3]), CpuSet.of([2, 3]), (), "TuneD", (), {"boot": 30.0}, "")
    return replace(whole, **fields)


def _booted(folder: Path, arm: PlannedArm, facts: Facts) -> boots.Booted:
    folder = folder / f"{arm.name}-1"
    folder.mkdir()
    row = {"where": "boot", "planned": "1", "effective": "0", "by": None}
    (folder / "verify.json").write_text(
        json.dumps(
            {
                "schema": "lowlat.verify/1",
                "settings": [
                    {**row, "name": "a", "state": "effective", "evidence": ""},
                    {**row, "name": "b", "state": "not-applied", "evidence": "/b is 0"},
                    {**row, "name": "skew_tick", "state": "not-applied", "evidence": "left out"},
                ],
            }
        )
    )
    return boots.Booted(arm, 1, arm.line, folder, facts, ())


def _planned_here(name: str) -> Plan:
    request = CpuRequest(isolate="2-3")
    host = _machine(4)
    options = Options(request=request, disable=("skew_tick",))
    return make_plan(host, host.kernel, profile.load(name), options)


def test_findings_are_what_is_not_as_planned(tmp_path: Path) -> None:
    line = "isolcpus=managed_irq,domain,2-3 nohz_full=2-3"
    tuned = PlannedArm("lowlat", line, plan=_planned_here("lowlat"))
    theirs = PlannedArm("cpu-partitioning", "", tuned="cpu-partitioning")
    booted = (
        _booted(tmp_path, PlannedArm("stock"), _facts()),
        _booted(tmp_path, tuned, _facts(nohz_full="", problems=("TuneD: no",))),
        _booted(
            tmp_path,
            theirs,
            _facts(problems=("TuneD did not apply cpu-partitioning", "TuneD: no such file")),
        ),
    )
    outcome: Any = type("Outcome", (), {"booted": booted, "plan": tuned.plan})
    failed = {"lowlat 2 on 6.12.1": LowlatError("panicked")}
    done: Any = type("Done", (), {"outcomes": (outcome,), "failed": failed})
    assert list(results.findings(done)) == [
        "lowlat 2 on 6.12.1: panicked",
        "stock-1: isolcpus: '2-3' in sysfs, '' expected",
        "stock-1: nohz_full: '2-3' in sysfs, '' expected",
        "lowlat-1: nohz_full: '' in sysfs, '2-3' expected",
        "lowlat-1: b: not-applied (/b is 0)",
        "lowlat-1: TuneD: no",
        "cpu-partitioning-1: TuneD did not apply cpu-partitioning",
    ]


# ----------------------------------------------------------------- refusals


@pytest.mark.parametrize(("program", "results"), [("run", "an out"), ("a run", "out")])
def test_no_space_may_stand_in_what_the_guests_kernel_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, results: str
) -> None:
    _runner(tmp_path / program, "exit", monkeypatch)
    with pytest.raises(Refused, match=r"/an? \w+: virtme-ng takes no space in a path"):
        vm.check_paths(tmp_path / results)


def _request() -> store.Request:
    kernels = (BootableKernel("6.12.1", Path("/boot/vmlinuz-6.12.1")),)
    return store.Request(RehearseOptions(), kernels, {"lowlat": "1"})


def test_a_folder_that_cannot_be_shared_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="only letters, digits"):
        store.name(tmp_path / "a,b")
    (tmp_path / "file").touch()
    with pytest.raises(Refused, match="not a folder"):
        store.name(tmp_path / "file")
    with pytest.raises(Refused, match="name a writable folder"):
        _request().make(tmp_path / "file" / "below")


def test_a_rehearsal_goes_on_as_it_was_asked_for(tmp_path: Path) -> None:
    cpus = CpuRequest(isolate="2-3", housekeeping_cores=2, keep_efficiency_cores=True)
    asked = RehearseOptions(
        kernels=("6.12", "6.1-rt"),
        profiles=("lowlat", "lowlat-poll"),
        tuned=("cpu-partitioning",),
        ablate=True,
        plan=GuestPlanOptions(request=cpus, enable=("fair_server",), disable=("skew_tick",)),
        boots=5,
    )
    request = replace(_request(), options=asked)
    request.make(store.name(tmp_path / "out"))
    assert store.resumed(tmp_path / "out") == (tmp_path / "out", request)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--out", "{made}"], "--out {made}: holds a rehearsal already (--resume {made} goes on"),
        (["--resume", "{made}", "--boots", "3"], "--resume {made}: continues with its own options"),
        (["--resume", "{made}", "--out", "{other}"], "continues with its own options"),
    ],
)
def test_a_folder_is_not_taken_for_another(
    arguments: list[str], words: str, tmp_path: Path
) -> None:
    names = {name: str(tmp_path / name) for name in ("made", "other")}
    _request().make(Path(names["made"]))
    answer = lowlat("rehearse", *(word.format(**names) for word in arguments))
    assert words.format(**names) in answer.refused()
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        *(((name,), value) for name in ("kernels", "profiles") for value in ([], [5], None, "6")),
        *((("boots",), value) for value in (0, -1, "x", 1.5, None, True)),
        *((("plan", "request", "isolate"), value) for value in (5, [2, 3])),
        *(((name,), 5) for name in ("duration", "memory", "tuned", "plan")),
        (("cpus",), "4"),
        (("plan", "enable"), [1]),
    ],
)
def test_a_damaged_request_is_one_line(path: tuple[str, ...], value: Any, tmp_path: Path) -> None:
    _request().make(tmp_path / "out")
    file = tmp_path / "out/request.json"
    document = json.loads(file.read_text())
    at = document["options"]
    for name in path[:-1]:
        at = at[name]
    at[path[-1]] = value
    file.write_text(json.dumps(document))
    with pytest.raises(Refused, match="no rehearsal was begun there"):
        store.resumed(tmp_path / "out")


def test_what_is_no_request_at_all_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "request.json").write_text("[" * 100000)
    with pytest.raises(Refused, match="no rehearsal was begun there"):
        store.resumed(tmp_path)
    (tmp_path / "request.json").unlink()
    os.mkfifo(tmp_path / "request.json")
    with pytest.raises(Refused, match="no rehearsal was begun there"):
        store.resumed(tmp_path)
    with pytest.raises(Refused, match="only letters, digits"):
        store.resumed(tmp_path / "a b")


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        ("virtme-run", "virtme-ng is not installed (pip install 'lowlat[rehearse]')"),
        (f"qemu-system-{platform.machine()}", f"qemu-system-{platform.machine()} is not installed"),
        ("busybox", "busybox is not installed (install the package busybox-static)"),
        ("file", "file is not installed (install the package file)"),
    ],
)
def test_a_missing_tool_is_one_line(
    missing: str,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # The program is missing beside this Python and everywhere else.
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(
        process, "find", lambda program: None if program == missing else f"/usr/bin/{program}"
    )
    assert cli.main(["rehearse"]) == 2
    captured = capsys.readouterr()
    assert words in captured.err and captured.err.count("\n") == 1
    assert captured.out == ""
