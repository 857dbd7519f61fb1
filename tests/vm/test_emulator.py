# SPDX-License-Identifier: GPL-2.0-or-later
"""Which boots begin again, and how each is ended; by a stand-in for QEMU, a script whose words are
the console's."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lowlat import cli
from lowlat.base import process
from lowlat.base.errors import LowlatError
from lowlat.rehearse import exchange, vm
from lowlat.rehearse.kernel import BootableKernel
from lowlat.rehearse.vm_size import VmSize
from support import procs, waits
from support.guest import emulator

_INT3 = "Oops: int3: 0000 [#1]"
_LATE = "..MP-BIOS bug: IO-APIC + timer doesn't work!"
_PANIC = "Kernel panic - not syncing: no init"

#: No limit that a test reaches by chance.
_LONG_S = 10 * waits.GUARD_S

#: The outcome and the sign of each boot.
Told = list[tuple[str, str]]


class StandInMachine:
    """A machine whose emulator runs these shell lines, a list for each boot; it counts its boots in
    ``boots``."""

    def __init__(self, folder: Path, *scripts: str) -> None:
        self.folder, self.log, self.told = folder, folder / "console", folder / "told"
        self.count = folder / "boots"
        path = folder / "qemu-system-stand-in"
        cases = "".join(f"{at})\n{text}\n;;\n" for at, text in enumerate(scripts, 1))
        path.write_text(
            f"#!/bin/sh\necho boot >>{self.count}\ncase $(wc -l <{self.count}) in\n{cases}esac\n"
        )
        path.chmod(0o755)
        self.argv = [str(path), "-kernel", "/boot/vmlinuz-6.12.1-test", *self.more(folder)]

    def more(self, folder: Path) -> Sequence[str]:
        return ("-m", "1", str(folder))

    def run(self, limit: float = _LONG_S, cut_at: str = "") -> str:
        return emulator.run(self.argv, limit=limit, log=self.log, cut_at=cut_at)

    def boots(self) -> int:
        return len(self.count.read_text().split())

    def outcomes(self) -> Told:
        rows = [json.loads(line) for line in self.told.read_text().splitlines()]
        assert {row["kernel"] for row in rows} == {"6.12.1-test"}
        return [(row["outcome"], row["sign"]) for row in rows]


class Machines:
    """Makes them, and lets QEMU have another version."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self._folder, self._patch = folder, patch
        self.version((7, 2))

    def version(self, version: tuple[int, ...]) -> None:
        self._patch.setattr(emulator, "version", lambda: version)

    def still_for(self, seconds: float) -> None:
        self._patch.setattr(emulator, "_STILL_S", seconds)

    def wall(self, seconds: float, limit: float) -> None:
        self._patch.setattr(emulator, "WALL", seconds / limit)

    def __call__(self, *scripts: str) -> StandInMachine:
        made = StandInMachine(self._folder, *scripts)
        self._patch.setenv("LOWLAT_SPOILT", str(made.told))
        return made


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machines:
    monkeypatch.setattr(emulator, "_LOOK_S", 0.02)
    return Machines(tmp_path, monkeypatch)


def _gone(machine: StandInMachine) -> bool:
    """Whether no process of this machine is left."""
    texts = (Path(f"/proc/{pid}/cmdline") for pid in procs.children(os.getpid()))
    return not any(str(machine.folder) in path.read_text() for path in texts)


def test_a_boot_that_ends_by_itself_passes(machine: Machines) -> None:
    made = machine("echo '[    0.000500] up'")
    assert "[    0.000500] up" in made.run()
    assert made.outcomes() == [("pass", "")]


@pytest.mark.parametrize(
    ("said", "sign"),
    [
        pytest.param(_INT3, "Oops: int3:", id="int3"),
        pytest.param(_LATE, "IO-APIC + timer doesn't work", id="late timer"),
        pytest.param("[  900.000000] it is late", "the guest's clock is fast", id="fast clock"),
    ],
)
@pytest.mark.parametrize("end", ["sleep 1000", "exit 1", "exit 0"])
def test_a_spoilt_boot_begins_again(machine: Machines, said: str, sign: str, end: str) -> None:
    made = machine(f'echo "{said}"\n{end}', "echo up")
    assert made.run().splitlines()[-1] == "up"
    assert made.outcomes() == [("spoilt", sign), ("pass", "")]
    assert _gone(made)


def test_each_try_begins_from_what_is_prepared(machine: Machines) -> None:
    made = machine(f'echo dirty >{{}}; echo "{_INT3}"', "cat {}", "")
    disk = made.folder / "disk"
    Path(made.argv[0]).write_text(Path(made.argv[0]).read_text().replace("{}", str(disk)))

    def prepare() -> None:
        disk.write_text("clean\n")

    text = emulator.run(made.argv, limit=_LONG_S, log=made.log, prepare=prepare)
    assert text.splitlines()[-1] == "clean"


def test_three_of_three_spoilt_are_a_failure(machine: Machines) -> None:
    made = machine(*[f'echo "{_INT3}"'] * 4)
    with pytest.raises(LowlatError, match="spoilt 3 boots of 3: Oops: int3:"):
        made.run()
    assert made.boots() == 3
    assert made.outcomes() == [("spoilt", "Oops: int3:")] * 3


def test_a_bug_counts_only_for_the_versions_that_have_it(machine: Machines) -> None:
    machine.version((8, 1))
    made = machine(f'echo "{_INT3}"\nexit 1', "echo up")
    with pytest.raises(LowlatError, match="the boot failed: Oops: int3:"):
        made.run()
    assert made.boots() == 1


def test_a_clock_by_instructions_may_be_fast(machine: Machines) -> None:
    made = machine("sleep 0.3\necho '[  900.000000] it is late'\nsleep 0.3")
    made.argv += ["-icount", "shift=3"]
    assert "it is late" in made.run()
    assert made.outcomes() == [("pass", "")]


@pytest.mark.parametrize("said", [_PANIC, "init: an assertion failed", ""])
def test_an_error_is_never_repeated(machine: Machines, said: str) -> None:
    made = machine(f"echo '{said}'\nexit 3", "echo up")
    with pytest.raises(LowlatError, match=f"the boot failed: {said}"):
        made.run()
    assert made.boots() == 1
    assert [outcome for outcome, _ in made.outcomes()] == ["fail"]


def test_a_silent_and_still_guest_is_told_early(machine: Machines) -> None:
    machine.still_for(0.5)
    made = machine("echo begun\nsleep 1000", "echo up")
    with pytest.raises(LowlatError, match="it hangs: silent and still"):
        made.run()
    assert made.boots() == 1
    assert _gone(made)


@pytest.mark.parametrize(
    ("word", "used_s", "hangs"),
    [
        pytest.param("", 0.0, True, id="silent and still"),
        pytest.param("a word\n", 0.0, False, id="talks"),
        pytest.param("", 0.02, False, id="works"),
    ],
)
def test_only_a_silent_and_still_guest_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str, used_s: float, hangs: bool
) -> None:
    """Looked at each ten seconds, for three times the limit."""
    at = 1000.0
    monkeypatch.setattr("time.monotonic", lambda: at)
    monkeypatch.setattr(emulator, "_emulator", lambda words: 1)
    monkeypatch.setattr(emulator, "_cpu_s", lambda pid: used_s * (at - 1000))
    running = emulator.RunningBoot(tmp_path / "console", _LONG_S, "")
    for _ in range(36):
        with running.log.open("a") as console:
            console.write(word)
        running.look()
        at += 10
    assert running.hung is hangs


def test_the_limit_is_in_the_emulators_own_cpu_time(machine: Machines) -> None:
    made = machine("while :; do :; done", "echo up")
    with pytest.raises(LowlatError, match=r"it did not end within 0 CPU seconds"):
        made.run(limit=0.2)
    assert made.boots() == 1
    assert _gone(made)


def test_wall_time_is_only_a_guard(machine: Machines) -> None:
    machine.wall(0.5, _LONG_S)
    made = machine("sleep 1000", "echo up")
    with pytest.raises(LowlatError, match=r"it did not end within 0 s|within 1 s"):
        made.run()
    assert made.boots() == 1
    assert _gone(made)


def test_the_power_is_cut_at_a_word(machine: Machines) -> None:
    made = machine("echo 'all of it'\necho '=== end'\nsleep 1000")
    assert "all of it\n" in made.run(cut_at="=== end")
    assert made.outcomes() == [("pass", "")]
    assert _gone(made)


def test_nothing_is_kept_without_a_file(machine: Machines, monkeypatch: pytest.MonkeyPatch) -> None:
    made = machine("echo up")
    monkeypatch.delenv("LOWLAT_SPOILT")
    made.run()
    assert not made.told.exists()


# ------------------------------------------------------ guests by lowlat itself


def _virtme(machine: StandInMachine, patch: pytest.MonkeyPatch) -> vm.GuestBoot:
    """A guest on the host's files, whose emulator virtme-ng would have started."""
    share = machine.folder / "boot" / exchange.SHARE
    share.mkdir(parents=True)
    argv = [machine.argv[0], f"local,id=share,path={share},x"]
    patch.setattr(vm, "argv", lambda boot: ["sh", "-c", '"$@"; exit $?', "sh", *argv])
    patch.setattr(vm, "runs_on", lambda kernel: [machine.folder])
    kernel = BootableKernel("6.12.1-test", Path("/boot/vmlinuz"))
    return vm.GuestBoot(kernel, "", VmSize(4), False, share, (), _LONG_S)


def test_a_guest_on_the_hosts_files_begins_again(
    machine: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = machine(f'echo "{_INT3}"\nsleep 1000', "echo up")
    emulator.run_on_host_files(_virtme(made, monkeypatch))
    assert made.outcomes() == [("spoilt", "Oops: int3:"), ("pass", "")]
    assert _gone(made)


def test_a_panic_on_the_hosts_files_does_not(
    machine: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = machine(f"echo '{_PANIC}'\nexit 1", "echo up")
    with pytest.raises(LowlatError, match="panicked: Kernel panic"):
        emulator.run_on_host_files(_virtme(made, monkeypatch))
    assert made.outcomes()[0][0] == "fail" and made.boots() == 1


def test_a_result_and_an_assertion_are_the_boots_own(machine: Machines) -> None:
    made = machine()

    def fails(stop: threading.Event) -> int:
        raise AssertionError("of the test")

    def attempt() -> emulator.RunningBoot:
        return emulator.RunningBoot(made.log, _LONG_S, "nothing")

    assert emulator.repeated(lambda stop: 5, attempt, "6.12.1-test") == 5
    with pytest.raises(AssertionError, match="of the test"):
        emulator.repeated(fails, attempt, "6.12.1-test")
    assert made.outcomes() == [("pass", ""), ("fail", "")]


# ------------------------------------------------------------------ rehearsals


class Rehearsal:
    """Takes the place of lowlat-gen: a rehearsal of one boot, each time as the next row says: what
    its console shows, whether it counts instructions, and whether the boot leaves facts."""

    def __init__(self, machine: StandInMachine, *rows: tuple[str, bool, bool]) -> None:
        self.machine, self.rows, self.calls = machine, iter(rows), list[Sequence[str]]()
        self.out = machine.folder / "out"
        self.boot = self.out / "6.12.1-test" / "lowlat-1"

    def main(self, words: Sequence[str]) -> int:
        self.calls.append(words)
        says, counts, passes = next(self.rows)
        self.boot.mkdir(parents=True, exist_ok=True)
        log = self.boot / vm.LOG
        share = f"local,id=share,path={self.boot / exchange.SHARE},x"
        more = ["-icount", "shift=3"] if counts else ["-smp", "4"]
        argv = [self.machine.argv[0], share, *more, "-end"]
        Path(argv[0]).write_text(f"#!/bin/sh\n{says}\n")
        status = process.follow(argv, os.environ, log, waits.GUARD_S, threading.Event())
        if passes and status == 0:
            (self.boot / exchange.FACTS).touch()
        return 0 if passes and status == 0 else 1


@pytest.fixture
def rehearsed(machine: Machines, monkeypatch: pytest.MonkeyPatch) -> Any:
    def rehearse(*rows: tuple[str, bool, bool]) -> tuple[int, Rehearsal]:
        made = Rehearsal(machine(), *rows)
        monkeypatch.setattr(cli, "main", made.main)
        return emulator.rehearse(["rehearse", "--begin"], made.out, _LONG_S), made

    machine.still_for(0.5)
    return rehearse


_UP = ("sleep 0.2; echo up", False, True)
_OF_INT3 = (f'sleep 0.2; echo "{_INT3}"; sleep 1000', False, False)
_HANGS = ("echo begun; sleep 1000", True, False)
_PANICS = (f"sleep 0.2; echo '{_PANIC}'; exit 1", False, False)


def test_what_the_emulator_spoilt_is_resumed(rehearsed: Any) -> None:
    status, made = rehearsed(_OF_INT3, _OF_INT3, _UP)
    assert status == 0
    assert made.calls == [["rehearse", "--begin"], *[["rehearse", "--resume", str(made.out)]] * 2]
    spoilt = ("spoilt", "Oops: int3:")
    assert made.machine.outcomes() == [spoilt, spoilt, ("pass", "")]


def test_a_rehearsal_is_resumed_twice_at_most(rehearsed: Any) -> None:
    status, made = rehearsed(_OF_INT3, _OF_INT3, _OF_INT3, _UP)
    assert (status, len(made.calls)) == (1, 3)


def test_the_known_hang_by_instructions_is_resumed_once(rehearsed: Any) -> None:
    status, made = rehearsed(_HANGS, ("sleep 0.2; echo up", True, True))
    assert status == 0
    assert made.machine.outcomes() == [("spoilt", "a hang of -icount"), ("pass", "")]


def test_it_is_resumed_no_second_time(rehearsed: Any) -> None:
    status, made = rehearsed(_HANGS, _HANGS, _UP)
    assert (status, len(made.calls)) == (1, 2)


def test_a_hang_of_a_newer_qemu_is_a_failure(machine: Machines, rehearsed: Any) -> None:
    machine.version((8, 1))
    status, made = rehearsed(_HANGS, _UP)
    assert (status, len(made.calls)) == (1, 1)
    assert made.machine.outcomes()[0][0] == "fail"


@pytest.mark.parametrize("row", [_PANICS, ("echo begun; sleep 1000", False, False)])
def test_another_failure_of_a_rehearsal_is_not_resumed(
    rehearsed: Any, row: tuple[str, bool, bool]
) -> None:
    status, made = rehearsed(row, _UP)
    assert (status, len(made.calls)) == (1, 1)
