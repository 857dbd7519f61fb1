# SPDX-License-Identifier: GPL-2.0-or-later
"""The loop over a reboot with a power cut or a killed process: the loop continues to its end."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Callable

import pytest
from tunebed import LoopMachine, at_rest, stock_is_default

from support.hosttree import NEEDS, STOCK
from support.powercut import ALL, NEEDS_CC, sample

pytest_plugins = ["support.powercut", "tunebed"]
pytestmark = [*NEEDS, NEEDS_CC]

#: The power is cut in every call that writes, or in a sample of them.
STRIDE = 1 if ALL else 28


class Kept:
    """A machine, and the stored state of its disk, which is restored before each cut."""

    def __init__(self, machine: LoopMachine, folder: Path) -> None:
        self.machine = machine
        self._folder = folder
        for name in _DISK:
            shutil.copytree(machine.host.path / name, folder / name, symlinks=True)

    def again(self) -> LoopMachine:
        path = self.machine.host.path
        for name in _DISK:
            shutil.rmtree(path / name)
            shutil.copytree(self._folder / name, path / name, symlinks=True)
        return self.machine

    def cut(self, at: int) -> dict[str, str]:
        """The environment in which lowlat-gen dies in its call of that number."""
        (self._folder / "count").unlink(missing_ok=True)
        return {
            "LOWLAT_CUT_DEV": str(self.machine.host.path.stat().st_dev),
            "LOWLAT_CUT_COUNT": str(self._folder / "count"),
            "LOWLAT_CUT_AT": str(at),
        }

    def calls(self) -> int:
        return int.from_bytes((self._folder / "count").read_bytes(), "little")


_DISK = ("boot", "etc", "var", "proc", "sys")


def settle(machine: LoopMachine) -> None:
    """A person's steps after a power cut: boot, look, and continue the loop."""
    machine.power_on()
    for _ in range(4):
        phase = machine.state()["phase"]
        if phase == "done":
            break
        answer = machine.tune("--resume")
        assert answer.status in (0, 1), answer
        if machine.state()["phase"] == "boot":
            machine.power_on()
    state = machine.state()
    assert state["phase"] == "done", state
    at_rest(machine)
    default = machine.host.status()["default"]["entry"]
    assert default == (state["entry"] if state["outcome"] == "promoted" else STOCK)


def about_to_arm(machine: LoopMachine) -> None:
    """Only the written entries and the loop's record are on the disk."""
    machine.begin()
    state = machine.state()
    machine.begin("--abort")
    machine.host.write("var/lib/lowlat/tune.json", json.dumps({**state, "phase": "arm"}))


@pytest.mark.parametrize("step", sample(["arm"], "measure"))
def test_a_power_cut_is_survived(
    machine: LoopMachine, tmp_path: Path, tell: Callable[[str], None], step: str
) -> None:
    """lowlat-gen dies in a call that writes, while it sets up the tuned boot or during that boot.
    The resulting disk boots, and the loop continues to its end."""
    if step == "arm":
        about_to_arm(machine)
    else:
        machine.begin()
        machine.power_on(units=False)
    folder = tmp_path / "kept"
    folder.mkdir()
    kept = Kept(machine, folder)
    assert machine.tune("--resume", **kept.cut(-1)).status == 0
    calls = kept.calls()
    assert calls > 20
    tried = range(1, calls + 1, STRIDE)
    for at in tried:
        assert kept.again().tune("--resume", **kept.cut(at)).status == -9, at
        settle(machine)
    tell(f"tune, {step}: {len(tried)} cuts in {calls} calls tried, {len(tried)} survived")


def test_a_loop_whose_beginning_was_cut_begins_again(machine: LoopMachine) -> None:
    machine.host.write("recorded/stock.sh", "kill -9 $PPID")
    assert machine.tune().status == -9
    assert machine.state()["phase"] is None
    (machine.host.path / "recorded/stock.sh").unlink()
    machine.begin()
    machine.power_on()
    assert machine.state()["outcome"] == "promoted"


def test_what_was_killed_in_the_tuned_boot_is_given_up_by_the_unit(machine: LoopMachine) -> None:
    machine.begin("--reboot")
    machine.host.write("recorded/tuned.sh", "kill -9 $PPID")
    first, last = machine.power_on()
    assert first.status == -9 and last.status == 1
    assert "measures (boot 2 of 2, tuned), and was ended there (signal)" in last.err
    assert machine.reboots() == 2
    stock_is_default(machine)
    at_rest(machine)
