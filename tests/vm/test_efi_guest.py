# SPDX-License-Identifier: GPL-2.0-or-later
"""A Debian 13 machine with systemd-boot, which starts kernels by entry files or as unified images:
applied, tried once, back in stock, promoted, rolled back. What hangs, and what loses its power at
any moment, comes up and rolls back. And the entries follow the kernels."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

import pytest

from lowlat.base import process
from support import needs
from support.guest import boots, hangs, image, results
from support.guest.boots import Guest
from support.guest.journey import Journey, differing, packages_or_skip
from support.guest.road import check_kernels, other_kernel
from support.guest.snapshots import SnapshotRecorder
from support.waits import GUARD_S

pytest_plugins = ["support.powercut"]
pytestmark = [pytest.mark.vm, pytest.mark.proof]

#: The boots by name, and what is done in each after its values were read.
BOOTS = {"stock": "apply trial", "tuned": "", "returned": "promote", "promoted": "roll_back"}

#: Boots in which lowlat writes, and how many of the states that a cut leaves of each are booted.
_RECORDED = ("stock", "returned", "promoted")
_CUTS = 2

#: By kind of machine: the packages that it takes, and the step that makes it so.
KINDS = {
    "systemd-boot": (image.SYSTEMD_BOOT, "bootctl"),
    "unified images": (image.UNIFIED_IMAGES, "bootctl images"),
}


@dataclass(frozen=True)
class EfiRoad:
    """The boots of one kind of machine, and what was recorded in those that write."""

    kind: str
    journey: Journey
    recorded: dict[str, SnapshotRecorder] = field(default_factory=dict)

    @property
    def known(self) -> set[str]:
        """The content of every entry that was ever meant to be there."""
        told = (each for found in self.journey.found.values() for each in found.items())
        loaders = [held for name, held in told if name.startswith("loader")]
        return {text for held in loaders for name, text in held.items() if _is_entry(name)}

    def go(self, folder: Path, guest: Guest, name: str) -> Guest:
        steps = f"{'setup ' if name == 'stock' else ''}look {BOOTS[name]}"
        if name not in _RECORDED:
            return self.journey.go(guest, name, steps)
        own = folder / f"recorded-{name}"
        own.mkdir()
        self.recorded[name] = SnapshotRecorder(own, "steps: look")
        return self.journey.go(guest, name, steps, recorder=self.recorded[name])


def _is_entry(name: str) -> bool:
    return name.endswith(".conf")


@pytest.fixture(scope="module", params=KINDS)
def road(request: pytest.FixtureRequest) -> Iterator[EfiRoad]:
    if process.find("mcopy") is None:
        needs.absent("mcopy is not installed: apt install mtools")
    packages, steps = KINDS[request.param]
    files = image.packages_or_skip(image.image_or_skip(), *packages)
    with boots.work_folder() as name:
        made = Journey(Path(name), packages_or_skip()[0], *files)
        guest = made.go(boots.installed_or_skip(Path(name)), "grub", steps)
        done = made.found["grub"]
        steps_done = (done["packages"], done["grub"], *done.get("images", ()))
        assert [said for said in steps_done if said[0]] == []
        whole = EfiRoad(request.param, made)
        for boot in BOOTS:
            guest = whole.go(Path(name), guest, boot)
        yield whole


def test_the_machine_has_systemd_boot(road: EfiRoad) -> None:
    assert road.journey.found["stock"]["status"]["loader"] == "systemd-boot"


def test_apply_only_adds(road: EfiRoad) -> None:
    found = road.journey.found["stock"]
    assert found["apply"][0] == 0, found["apply"]
    before, after = found["loader"], found["loader after apply"]
    assert set(after["names"].split()) >= set(before["names"].split())
    stock = {name: text for name, text in before.items() if _is_entry(name)}
    assert after.items() >= stock.items(), "stock entries keep every byte"
    ours = [text for name, text in after.items() if name not in before]
    wanted = "\nefi /EFI/Linux/" if road.kind == "unified images" else "\nlinux "
    assert len(ours) == 2 and all(wanted in text for text in ours), ours
    assert found["status after apply"]["default"]["ours"] is False


def test_the_trial_is_for_one_boot(road: EfiRoad) -> None:
    found, marker = road.journey.found, road.journey.marker
    assert found["stock"]["trial"][0] == 0, found["stock"]["trial"]
    assert [marker(name) is not None for name in BOOTS] == [False, True, False, True]
    assert found["tuned"]["status"]["state"] == "tried"
    before, after = found["stock"]["boot"], found["returned"]["boot"]
    assert after["line"] == before["line"]
    assert differing(before["values"], after["values"]) == {}
    remark = f"{road.kind}, one try: the boot after it was stock, its values as before"
    results.add(after["kernel"], "lowlat", "all", remark)


def test_promote_and_rollback(road: EfiRoad) -> None:
    found = road.journey.found
    assert found["returned"]["promote"][0] == 0, found["returned"]["promote"]
    assert found["promoted"]["status"]["state"] == "promoted"
    last = found["promoted"]
    assert (last["rollback"][0], last["rolled back"]) == (0, {}), last["rollback"]
    assert last["loader after rollback"] == found["stock"]["loader"]


@pytest.mark.parametrize(
    ("hang", "said", "told"),
    [
        pytest.param(hangs.panics, "Kernel panic - not syncing: sysrq", None, id="panic"),
        pytest.param(hangs.takes_every_cpu, "", False, id="watchdog"),
        pytest.param(hangs.loses_power, "", None, id="power cut"),
    ],
)
def test_a_hang_comes_back_by_itself(
    road: EfiRoad, hang: hangs.Hang, said: str, told: bool | None
) -> None:
    hangs.comes_back(road.journey, hang, said, told, how=road.kind)


@pytest.mark.parametrize("name", _RECORDED)
def test_what_a_power_cut_leaves_comes_up_and_rolls_back(
    road: EfiRoad, tell: Callable[[str], None], name: str
) -> None:
    recorder = road.recorded[name]
    assert recorder.states and recorder.partitions
    known, loader = road.known, road.journey.found["stock"]["loader"]
    stock = {name: text for name, text in loader.items() if _is_entry(name)}
    for entries in map(_entries, recorder.partitions):
        assert set(entries.values()) <= known, entries
        assert entries.items() >= stock.items()
    count = len(recorder.states)
    chosen = [recorder.states[(each + 1) * count // (_CUTS + 1)] for each in range(_CUTS)]
    lines = [_comes_up(road, state) for state in chosen]
    seen = f"{recorder.seen} states, the EFI partition {len(recorder.partitions)} times"
    tell(f"{road.kind}, {BOOTS[name]}: {seen} whole; booted and rolled back: {', '.join(lines)}")


def _entries(partition: Path) -> dict[str, str]:
    """The entries that the firmware's programs see."""
    with tempfile.TemporaryDirectory() as folder:
        argv = ["mcopy", "-s", "-n", "-i", f"{partition}@@1M", "::loader", folder]
        subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, timeout=GUARD_S)
        paths = [path for path in Path(folder).rglob("*") if _is_entry(path.name)]
        return {path.name: path.read_text() for path in paths}


def _comes_up(road: EfiRoad, state: Guest) -> str:
    """Returns what came up of a state that a power cut left."""
    stock = road.journey.found["stock"]
    with tempfile.TemporaryDirectory() as folder:
        own = Journey(Path(folder), road.journey.share / "installed.json")
        own.go(state, "cut", "repair glance roll_back")
        found = own.found["cut"]
        assert found["rollback"][0] == 0, (found["repair"], found["rollback"])
        assert found["rolled back"] == {}
        assert found["loader after rollback"] == stock["loader"]
        assert found["status after rollback"]["state"] == "none"
        if own.marker("cut") is None:
            assert found["boot"]["line"] == stock["boot"]["line"]
            return "stock"
        return "tuned"


def test_the_entries_follow_the_kernels(road: EfiRoad) -> None:
    other_kernel(road.journey)
    check_kernels(road.journey)
