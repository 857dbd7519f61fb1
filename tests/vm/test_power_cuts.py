# SPDX-License-Identifier: GPL-2.0-or-later
"""Power cuts, second layer: what a cut of apply, promote or rollback leaves in /boot and /etc of a
real machine is put on its disk and booted. It comes up, and rollback there leaves what was there
before. The verbs ran in the guest of road.py, where cut.so logged what they wrote."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

import pytest

from support import powercut
from support.guest import boots, results
from support.guest.boots import Guest
from support.guest.journey import Journey
from support.guest.road import PROFILE, TRIAL
from support.powercut import ALL, NEEDS_CC, State

pytest_plugins = ["support.guest.road", "support.powercut"]
pytestmark = [pytest.mark.vm, NEEDS_CC]

#: Guests at a time: a boot keeps little more than one of a host's CPUs busy.
_TOGETHER = 2


@dataclass(frozen=True)
class Came:
    """A state that was booted and what it said; ``share`` and ``guest`` have what was recorded
    there, and the machine after it."""

    state: State
    found: Any
    share: Path
    guest: Guest


@dataclass
class Cuts:
    """Boots what the cuts of a verb left, once for all tests."""

    road: Journey
    folder: Path
    came: dict[str, list[Came]] = field(default_factory=dict)
    cuts: dict[str, int] = field(default_factory=dict)
    states: dict[str, int] = field(default_factory=dict)

    def of(self, verb: str) -> list[Came]:
        if verb not in self.came:
            self.came[verb] = self._boot(verb)
        return self.came[verb]

    def _boot(self, verb: str) -> list[Came]:
        share, after = self._recorded(verb)
        replayed = self._replay(verb, share)
        states = replayed.differing("boot", "etc")
        self.cuts[verb], self.states[verb] = replayed.cuts, len(states)
        known = {path for state in replayed.states for path in _paths(state.folder)}
        chosen = _chosen(verb, states)

        def come(state: State) -> Came:
            # Of lowlat's own state nothing stays that came after the verb.
            gone = known - _paths(state.folder) | {"var/lib/lowlat"}
            guest = after.overlaid(state.folder, sorted(gone))
            record = verb == "promote" and state == chosen[-1]
            try:
                came = self._come(state, guest, record=record)
            finally:
                shutil.rmtree(guest.folder)
            results.add_cut(verb, state.where, _check(came, verb, self.road))
            return came

        with ThreadPoolExecutor(_TOGETHER) as pool:
            tries = [pool.submit(come, state) for state in chosen]
        return [one.result() for one in tries]

    def _recorded(self, verb: str) -> tuple[Path, Guest]:
        """Where the log of the verb is, and the machine in which it had been done."""
        if verb == "rollback":
            last = self.of("promote")[-1]
            return last.share, last.guest
        return self.road.share, self.road.after[{"apply": "stock", "promote": "returned"}[verb]]

    def _replay(self, verb: str, share: Path) -> powercut.Replayed:
        before = self.folder / verb / "before"
        before.mkdir(parents=True)
        unpack = ["tar", "-xpf", str(share / f"{verb}.tar"), "-C", str(before)]
        subprocess.run(unpack, check=True)
        made = powercut.make_image(before, self.folder / verb / "work")
        return powercut.replay(share / f"{verb}.log", Path("/"), made)

    def _come(self, state: State, guest: Guest, *, record: bool) -> Came:
        own = Journey(Path(tempfile.mkdtemp(dir=self.folder)), self.road.share / "installed.json")
        if record:
            powercut.build(own.share)
        after = own.go(guest, "cut", "glance roll_back")
        if not record:
            shutil.rmtree(after.folder)
        return Came(state, own.found["cut"], own.share, after)


@pytest.fixture(scope="module")
def cuts(road: Journey) -> Iterator[Cuts]:
    with boots.work_folder() as name:
        yield Cuts(road, Path(name))


def _chosen(verb: str, states: Sequence[State]) -> list[State]:
    """One from the midst; with LOWLAT_CUTS=1 all that no earlier run booted. The last of promote's
    is booted in every run: rollback is recorded in it."""
    if not ALL:
        return [states[len(states) // 2]]
    done = results.cuts_done()
    left = [state for state in states if (verb, state.where) not in done]
    return left or [state for state in states[-1:] if verb == "promote"]


def _paths(tree: Path) -> set[str]:
    return {str(path.relative_to(tree)) for path in tree.rglob("*")}


def _variables(loader: Any) -> dict[str, str]:
    """GRUB's variables; it leaves an empty one behind where it has cleared it."""
    rows = (row.partition("=") for row in loader["environment"].splitlines() if "=" in row)
    return {name: value for name, _, value in rows if value and not name.startswith("#")}


def _check(came: Came, verb: str, road: Journey) -> str:
    """Returns which entry came up."""
    found, where, stock = came.found, came.state.where, road.found["stock"]
    line = found["boot"]["line"]
    tuned = verb != "apply" and line == road.found["promoted"]["boot"]["line"]
    if not tuned:
        assert line == stock["boot"]["line"], where
        assert found["boot"]["tuned"] == ["active", f"Current active profile: {PROFILE}"], where
    assert not TRIAL.intersection(line), where

    assert found["rollback"][0] == 0, (where, found["rollback"])
    assert found["rolled back"] == {}, where
    after, before = found["loader after rollback"], stock["loader at first"]
    assert after["config"] == before["config"], where
    assert after["names"] == before["names"], where
    assert _variables(after) == _variables(before), where
    assert found["status after rollback"]["state"] == "none", where
    return "tuned, promoted" if tuned else "stock"


@pytest.mark.parametrize(
    "verb",
    [
        pytest.param("apply", marks=pytest.mark.proof),
        "promote",
        pytest.param("rollback", marks=pytest.mark.proof),
    ],
)
def test_what_a_power_cut_leaves_comes_up_and_rolls_back(
    cuts: Cuts, tell: Callable[[str], None], verb: str
) -> None:
    came = cuts.of(verb)
    counts = f"{cuts.cuts[verb]} cuts, {cuts.states[verb]} distinct states of /boot and /etc"
    tell(f"{verb}: {counts}, {len(came)} booted, {len(came)} came up and rolled back")
