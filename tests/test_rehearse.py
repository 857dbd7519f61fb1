# SPDX-License-Identifier: GPL-2.0-or-later
"""Rehearsals without a boot: which kernel, which guest, which command, and what is refused."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Optional

import pytest

from lowlat import cli, process
from lowlat.catalogue import CATALOGUE
from lowlat.cpuset import CpuSet
from lowlat.errors import LowlatError, Refused
from lowlat.machine import Core, Cpus, Machine, Processor
from lowlat.planner import Options
from lowlat.rehearse import complaints, kernel, outcome, packages, stage, stream, tuning, vm
from lowlat.rehearse.guest import harness_argv
from lowlat.rehearse.kernel import Kernel, Wanted
from lowlat.rehearse.options import RehearseOptions, result_folder
from lowlat.rehearse.shape import Shape, shape
from lowlat.rehearse.task import Facts, Task
from lowlat.root import Root
from lowlat.wishes import Wishes
from trees import lowlat

RELEASES = (
    "6.1.0-50-amd64",
    "6.1.0-9-amd64",
    "6.1.0-50-rt-amd64",
    "6.12.107+deb13-amd64",
    "6.12.107+deb13-cloud-amd64",
    "7.2.13+deb14-amd64",
)


# ------------------------------------------------------------------ kernels


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("6.1", "6.1.0-50-amd64"),
        ("6.1-rt", "6.1.0-50-rt-amd64"),
        ("6.1.0", "6.1.0-50-amd64"),
        ("6.1.0-9-amd64", "6.1.0-9-amd64"),
        ("6.12", "6.12.107+deb13-amd64"),
        ("6.12-cloud", "6.12.107+deb13-cloud-amd64"),
        ("6.12.107+deb13-amd64", "6.12.107+deb13-amd64"),
        ("7", "7.2.13+deb14-amd64"),
        ("", "7.2.13+deb14-amd64"),
        ("6.12-rt", None),
        ("6.2", None),
        ("6.1.0-50", None),
    ],
)
def test_a_wish_names_the_newest_kernel_it_begins(text: str, release: str) -> None:
    assert Wanted.parse(text).best(RELEASES) == release


@pytest.mark.parametrize("text", ["rt", "6.1 rt", "-6", "6;reboot", "6.1\n", "x" * 200])
def test_what_is_no_release_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="neither a file nor a kernel release"):
        Wanted.parse(text)


def test_only_images_that_boot_are_offered() -> None:
    shown = (
        "Package: linux-image-rt-amd64\n"
        "Depends: linux-image-6.12.107+deb13-rt-amd64 (= 6.12.107-1)\n\n"
        "Package: linux-image-6.12.107+deb13-rt-amd64-dbg\n\n"
        "Package: linux-image-6.12.107+deb13-rt-amd64-unsigned\n\n"
        "Package: linux-image-6.12.107+deb13-rt-amd64-dbg\n"
        "Depends: linux-image-6.12.108-rt-amd64-dbg, libc6\n"
    )
    assert packages.offers(shown) == ["6.12.107+deb13-rt-amd64"]
    assert Wanted.parse("6.12-rt").best(packages.offers(shown)) == "6.12.107+deb13-rt-amd64"


def _bzimage(path: Path, release: str) -> Path:
    """The part of an x86 image that tells its release."""
    path.parent.mkdir(parents=True, exist_ok=True)
    head = bytearray(0x600)
    head[0x202:0x206] = b"HdrS"
    head[0x20E:0x210] = (0x300).to_bytes(2, "little")
    head[0x500:0x500] = f"{release} (someone@host) #1 SMP\0".encode()
    path.write_bytes(head)
    return path


def test_a_file_tells_its_own_release(tmp_path: Path) -> None:
    image = _bzimage(tmp_path / "image", "6.9.1-custom")
    assert kernel.find(str(image)) == Kernel("6.9.1-custom", image)


def test_a_file_of_another_format_is_named_by_its_name(tmp_path: Path) -> None:
    image = tmp_path / "vmlinuz-6.12.1-arm64"
    image.write_bytes(b"MZ")
    assert kernel.find(str(image)) == Kernel("6.12.1-arm64", image)


def test_the_hosts_kernels_come_before_the_cache(tmp_path: Path) -> None:
    boot, cache = tmp_path / "boot", tmp_path / "cache"
    older = _bzimage(boot / "vmlinuz-6.1.0-9-amd64", "6.1.0-9-amd64")
    newer = _bzimage(cache / "6.1.0-50-amd64/boot/vmlinuz-6.1.0-50-amd64", "6.1.0-50-amd64")
    assert kernel.find("6.1", boot=boot, cache=cache) == Kernel("6.1.0-9-amd64", older)
    assert kernel.find("6.1", boot=tmp_path, cache=cache) == Kernel("6.1.0-50-amd64", newer)
    assert kernel.find("6.9", boot=boot, cache=cache) is None


def test_the_cache_follows_the_xdg_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert kernel.cache_folder() == Path("/somewhere/lowlat/kernels")


# ----------------------------------------------------------------- packages


DEBIAN = packages.Distribution(
    name="debian",
    codename="bookworm",
    mirror="http://mirror/debian",
    security="http://mirror/debian-security",
    keyring=Path("/nonexistent"),
    arch="amd64",
)


def test_the_hosts_own_suite_is_asked_first() -> None:
    own, every = DEBIAN.rounds()
    assert own == (
        "deb [arch=amd64] http://mirror/debian bookworm main",
        "deb [arch=amd64] http://mirror/debian-security bookworm-security main",
    )
    assert every[:2] == own
    assert [line.split()[-2] for line in every if "security" not in line] == [
        "bookworm",
        "trixie",
        "trixie-backports",
        "sid",
    ]


def test_each_flavour_has_a_package_that_leads_to_it() -> None:
    assert DEBIAN.leads == (
        "linux-image-amd64",
        "linux-image-rt-amd64",
        "linux-image-cloud-amd64",
    )


def test_other_distributions_are_told_to_name_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: {"ID": "fedora"})
    with pytest.raises(Refused, match=r"does not work on fedora .*give --kernel PATH"):
        packages.detect()


# -------------------------------------------------------------------- guest


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
    assert shape(_machine(8), 16, "2G", emulated=True).cpus == 16
    with pytest.raises(Refused, match="--cpus 16: a rehearsal takes 4 to 8 CPUs"):
        shape(_machine(8), 16, "2G", emulated=False)


def test_emulation_gets_this_machines_clock() -> None:
    trusted = _machine(4, flags="constant_tsc nonstop_tsc tsc_adjust")
    assert list(stage.clock_words(trusted)) == ["tsc=nowatchdog"]
    assert list(stage.clock_words(_machine(4, flags="constant_tsc"))) == []


def _boot(folder: Path, limit: float = 60, kvm: bool = False) -> vm.Boot:
    return vm.Boot(
        kernel=Kernel("6.12.1", Path("/boot/vmlinuz-6.12.1")),
        line="isolcpus=2-3 nohz_full=2-3",
        shape=Shape(4),
        kvm=kvm,
        folder=folder,
        command=("true", "two words"),
        limit=limit,
    )


def test_the_command_shares_only_the_result_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vm, "_runner", lambda: "virtme-run")
    monkeypatch.setattr(vm, "_qemu", lambda: "/usr/bin/qemu")
    argv = vm.argv(_boot(tmp_path))
    assert argv[0] == "virtme-run"
    assert [word for word in argv if word.startswith("--rwdir")] == [f"--rwdir={tmp_path}"]
    assert "--rw" not in argv
    assert {"--overlay-rwdir=/etc", "--overlay-rwdir=/usr", "--overlay-rwdir=/var"} <= set(argv)
    assert [word for word in argv if word.startswith("--kopt")] == [
        "--kopt=isolcpus=2-3",
        "--kopt=nohz_full=2-3",
    ]
    assert "--script-sh=true 'two words'" in argv
    assert argv[-3:] == ["--qemu-opts", "-accel", "tcg,thread=multi"]
    assert "--disable-kvm" in argv
    with_kvm = vm.argv(_boot(tmp_path, kvm=True))
    assert "--disable-kvm" not in with_kvm and "--qemu-opts" not in with_kvm


def _runner(path: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for virtme-run."""
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setattr(vm, "_runner", lambda: str(path))
    monkeypatch.setattr(vm, "_qemu", lambda: "/usr/bin/qemu")


def test_a_boot_tells_its_lines_and_keeps_the_console(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _runner(tmp_path / "run", "echo one; echo console >&2; printf two", monkeypatch)
    told: list[str] = []
    vm.run(_boot(tmp_path), told.append)
    assert told == ["one", "two"]
    assert (tmp_path / "serial.log").read_text().splitlines()[1:] == ["console"]


def test_a_panic_is_named_with_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    panic = "[ 1.0] Kernel panic - not syncing: VFS: Unable to mount root fs"
    _runner(tmp_path / "run", f"echo '{panic}' >&2; exit 255", monkeypatch)
    with pytest.raises(LowlatError) as error:
        vm.run(_boot(tmp_path), print)
    assert "boot of 6.12.1 panicked: Kernel panic - not syncing: VFS" in str(error.value)
    assert str(tmp_path / "serial.log") in str(error.value)


INT3 = "[ 2.1] Oops: int3: 0000 [#1] PREEMPT SMP\n[ 2.2] Kernel panic - not syncing: Fatal"


@pytest.mark.parametrize(("good_at", "kvm", "boots"), [(2, False, 2), (9, False, 3), (2, True, 1)])
def test_what_only_the_emulation_spoils_is_booted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, good_at: int, kvm: bool, boots: int
) -> None:
    count = tmp_path / "count"
    script = (
        f"echo x >>{count}; [ $(wc -l <{count}) -ge {good_at} ] && echo done && exit 0\n"
        f"echo '{INT3}' >&2; exit 255"
    )
    _runner(tmp_path / "run", script, monkeypatch)
    told: list[str] = []
    if boots == good_at:
        vm.run(_boot(tmp_path, kvm=kvm), told.append)
        assert "booting again" in told[0] and told[-1] == "done"
    else:
        with pytest.raises(LowlatError, match="panicked"):
            vm.run(_boot(tmp_path, kvm=kvm), told.append)
    assert len(count.read_text().split()) == boots


def test_a_hanging_boot_is_ended_with_all_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The leader goes at the first signal, its child ignores it: what QEMU does when it hangs.
    hang = f"(trap '' TERM; exec sleep 300) & echo $! >{tmp_path}/child; wait"
    _runner(tmp_path / "run", hang, monkeypatch)
    begin = time.monotonic()
    with pytest.raises(LowlatError, match="did not end within 1 s"):
        vm.run(_boot(tmp_path, limit=1), print)
    assert time.monotonic() - begin < 15
    child = int((tmp_path / "child").read_text())
    assert not Path(f"/proc/{child}").exists() or _zombie(child)


def test_a_polite_end_ends_the_boot_too(tmp_path: Path) -> None:
    script = (
        "import pathlib, sys, lowlat.rehearse.verb as verb\n"
        "from lowlat.rehearse import stream\n"
        "run = ['sh', '-c', 'echo $$; exec sleep 300']\n"
        f"log = pathlib.Path({str(tmp_path / 'log')!r})\n"
        "tell = lambda line: print(line, flush=True)\n"
        "verb.rehearse = lambda _: stream.follow(run, {'PATH': '/bin:/usr/bin'}, log, tell, 60)\n"
        "from lowlat import cli\n"
        "sys.exit(cli.main(['rehearse']))\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        sleeping = int(child.stdout.readline())
        child.terminate()
        assert child.wait(30) == 143
    assert not Path(f"/proc/{sleeping}").exists() or _zombie(sleeping)


def _zombie(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat").read_text()
    return stat.rpartition(")")[2].split()[0] == "Z"


def test_a_program_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(LowlatError, match="cannot run /nonexistent"):
        stream.follow(["/nonexistent"], {}, tmp_path / "log", print, 5)


def test_a_task_comes_back_as_it_went(tmp_path: Path) -> None:
    task = Task("stock", None, ("--isolate=2-3",), None, "/bin/measure", "10s", "5s", 60.0, True)
    task.write(tmp_path)
    assert Task.read(tmp_path) == task
    assert not task.tuned


@pytest.mark.parametrize(("emulated", "words"), [(True, ["--emulated", "--no-oslat"]), (False, [])])
def test_the_harness_is_told_of_emulation(emulated: bool, words: list[str]) -> None:
    task = Task("stock", None, (), None, "/bin/measure", "10s", "5s", 60.0, emulated)
    plan: Any = type("Plan", (), {"isolated": "2-3", "housekeeping": "0-1"})
    argv = harness_argv(task, plan, Path("/out/stock.json"))
    assert argv[:3] == ["/bin/measure", "--cpus", "2-3"]
    assert [word for word in argv if word in ("--emulated", "--no-oslat")] == words


@pytest.mark.parametrize("line", ["quiet", "notvirtme_hostname=x", None])
def test_nothing_is_applied_outside_a_guest(tmp_path: Path, line: Optional[str]) -> None:
    (tmp_path / "proc").mkdir()
    if line is not None:
        (tmp_path / "proc/cmdline").write_text(f"{line}\n")
    root = Root(str(tmp_path))
    with pytest.raises(Refused, match="in its guest only"):
        tuning.apply(root, tmp_path / "files", tmp_path / "tuned.log")
    assert not (tmp_path / "tuned.log").exists()


def test_a_guest_that_left_nothing_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(LowlatError, match="the guest left no result"):
        Facts.read(tmp_path)


# ----------------------------------------------------------------- findings


MESSAGES = """\
Kernel command line: virtme_console=ttyS0 isolcpus=2-3 lowlat.plan=12
Unknown kernel command line parameters "virtme_x=1 nr_open=1048576", will be passed
rcu: \tOffload RCU callbacks from CPUs: 2-3.
watchdog: Disabling watchdog on nohz_full cores by default
"""

SIGNS = [entry.name for entry in CATALOGUE if entry.sign.contradiction]


def test_ordinary_messages_are_no_complaints() -> None:
    assert list(complaints.of(MESSAGES, SIGNS)) == []


def test_an_emulated_clock_is_no_complaint_unless_it_was_planned() -> None:
    line = "tsc: Marking TSC unstable due to TSCs unsynchronized"
    assert list(complaints.of(line, ["isolcpus", "nohz_full"])) == []
    assert list(complaints.of(line, ["tsc"])) == [line]


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
    assert list(complaints.of(f"{MESSAGES}{line}\n", SIGNS)) == [line]


def test_an_unknown_parameter_is_named_without_the_guests_own() -> None:
    line = 'Unknown kernel command line parameters "virtme_x=1 kthread_cpus=0", will be passed'
    assert list(complaints.of(line, ())) == ["unknown to the kernel: kthread_cpus=0"]


def _facts(**fields: Any) -> Facts:
    whole = Facts("", "6.12.1", "2-3", "2-3", (), "TuneD", (), {"boot": 30.0}, "")
    return replace(whole, **fields)


def _booted(folder: Path, label: str, line: str, facts: Facts) -> stage.Booted:
    folder = folder / f"1-{label}"
    folder.mkdir()
    (folder / "verify.json").write_text(
        json.dumps(
            {
                "schema": "lowlat.verify/1",
                "settings": [
                    {"name": "a", "state": "effective", "evidence": ""},
                    {"name": "b", "state": "not-applied", "evidence": "/b is 0"},
                ],
            }
        )
    )
    return stage.Booted(label, line, folder, facts)


def test_findings_are_what_is_not_as_planned(tmp_path: Path) -> None:
    line = "isolcpus=managed_irq,domain,2-3 nohz_full=2-3"
    stock = _booted(tmp_path, "stock", "", _facts())
    tuned = _booted(tmp_path, "tuned", line, _facts(nohz_full="", problems=("TuneD: no",)))
    done: Any = type("Done", (), {"stock": (stock,), "tuned": (tuned,)})
    done.plan = type("Plan", (), {"isolated": "2-3"})
    assert list(outcome.findings(done)) == [
        "1-stock: isolcpus: '2-3' in sysfs, '' expected",
        "1-stock: nohz_full: '2-3' in sysfs, '' expected",
        "1-tuned: nohz_full: '' in sysfs, '2-3' expected",
        "1-tuned: b: not-applied (/b is 0)",
        "1-tuned: TuneD: no",
    ]


# ----------------------------------------------------------------- refusals


def test_the_guest_plans_with_the_users_options() -> None:
    wishes = Wishes(isolate="2-3", housekeeping_cores=2, keep_efficiency_cores=True)
    options = RehearseOptions(
        plan=Options(wishes=wishes, enable=("fair_server",), disable=("skew_tick",))
    )
    assert list(options.plan_arguments()) == [
        "--profile=lowlat",
        "--isolate=2-3",
        "--housekeeping-cores=2",
        "--keep-efficiency-cores",
        "--enable=fair_server",
        "--disable=skew_tick",
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--kernel", "9.99"], "--kernel 9.99: no such kernel in /boot or the cache"),
        (["--kernel", "/nonexistent/vmlinuz"], "/nonexistent/vmlinuz: no such file"),
        (["--kernel", "rt;x"], "neither a file nor a kernel release"),
        (["--profile", "nosuch"], "nosuch"),
        (["--enable", "nosuch"], "there is no tunable 'nosuch'"),
        (["--disable", "nosuch"], "there is no tunable 'nosuch'"),
        (["--isolate", "2-x"], "--isolate 2-x: '2-x' is not a CPU number or range"),
        (["--isolate", ""], "--isolate '': names no CPU"),
        (["--isolate", "0"], "--isolate 0: would isolate CPU 0, which boots the system"),
        (["--housekeeping", "1"], "--housekeeping 1: would isolate CPU 0"),
        (["--housekeeping-cores", "64"], "leaves nothing to isolate"),
        (["--isolate", "99"], "--isolate 99: there is no CPU 99 (online here: 0-"),
        (["--for-device", "eth0"], "--for-device eth0: the guest has other devices"),
        (["--cpus", "2"], "--cpus 2: a rehearsal takes 4 to"),
        (["--cpus", "none"], "--cpus"),
        (["--boots", "0"], "--boots"),
        (["--memory", "lots"], "--memory 'lots': not a size"),
        (["--duration", "10"], "--duration '10': not a time with its unit"),
    ],
)
def test_wrong_input_is_refused_before_any_boot(
    arguments: list[str], words: str, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    answer = lowlat(
        "rehearse", "--out", folder, *arguments, env={"XDG_CACHE_HOME": str(tmp_path / "cache")}
    )
    assert words in answer.refused()
    assert not folder.exists()


def test_a_folder_that_cannot_be_shared_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="only letters, digits"):
        result_folder(tmp_path / "a,b")
    (tmp_path / "file").touch()
    with pytest.raises(Refused, match="name a writable folder"):
        result_folder(tmp_path / "file" / "below")


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        ("virtme-run", "virtme-ng is not installed (pip install 'lowlat[rehearse]')"),
        (f"qemu-system-{platform.machine()}", f"qemu-system-{platform.machine()} is not installed"),
        ("busybox", "busybox is not installed (apt install busybox-static)"),
        ("file", "file is not installed (apt install file)"),
    ],
)
def test_a_missing_tool_is_one_line(
    missing: str,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # No program beside this Python, and none of that name elsewhere.
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(
        process, "find", lambda program: None if program == missing else f"/usr/bin/{program}"
    )
    assert cli.main(["rehearse"]) == 2
    captured = capsys.readouterr()
    assert words in captured.err and captured.err.count("\n") == 1
    assert captured.out == ""
