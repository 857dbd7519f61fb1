# SPDX-License-Identifier: GPL-2.0-or-later
"""A Raspberry Pi's way through its boots: pi.py says what of the machine is a stand-in."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest

from support import pi_firmware
from support.cutting import Cut, cut_everywhere
from support.guest.fat_guest import FatGuest, FatImage
from support.guest.pi import (
    FOLDER,
    HANG,
    HUNG,
    IMAGE_MIB,
    PANIC,
    Pi,
    PiBoot,
    kernels_or_skip,
    make_pi,
)
from support.hosttree import NEEDS, plan_of
from support.powercut import NEEDS_CC

pytest_plugins = ["support.powercut"]
pytestmark = [pytest.mark.vm, pytest.mark.proof, *NEEDS, NEEDS_CC]

Tell = Callable[[str], None]

_TRIAL = {"panic=30", "systemd.wants=lowlat-trial.service"}


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FatGuest]:
    kernels_or_skip()
    started = FatGuest(tmp_path_factory.mktemp("fat"), IMAGE_MIB)
    yield started
    started.stop()


@pytest.fixture
def pi(guest: FatGuest, tell: Tell) -> Iterator[Pi]:
    made = make_pi(Path(tempfile.mkdtemp(dir=guest.folder)) / "host", guest)
    yield made
    made.unmount_partition()
    shutil.rmtree(made.work)
    tell(f"{made.boots} boots")


def is_stock(boot: PiBoot) -> bool:
    """Whether the line is the stock one, else it has the plan; the kernel has it in effect."""
    stock = "lowlat.plan=" not in boot.line
    assert boot.line.endswith(" console=tty1 root=PARTUUID=1-02 rootwait quiet") or not stock
    assert boot.isolated == (("", "(null)") if stock else ("1-3", "1-3"))
    return stock


def try_once(pi: Pi) -> PiBoot:
    pi.done("apply")
    pi.done("trial")
    boot = pi.start()
    assert "came up" in pi.done("boot", "record")
    return boot


def test_a_trial_is_for_one_boot(pi: Pi) -> None:
    before = pi.snapshot()
    boot = try_once(pi)
    assert set(boot.line.split()) >= {*_TRIAL, *plan_of(pi, boot.release)}
    assert not is_stock(boot) and pi.status()["running"]["trial"]
    assert is_stock(pi.start())
    assert (pi.status()["state"], pi.status()["next"]) == ("tried", None)
    pi.done("rollback")
    assert pi.snapshot() == before


@pytest.mark.parametrize(
    ("planted", "cut_at", "said"),
    [
        pytest.param(PANIC, "", "Rebooting in 30 seconds", id="panic"),
        pytest.param(HANG, HUNG, "", id="hang"),
    ],
)
def test_a_trial_that_fails_is_followed_by_stock(
    pi: Pi, planted: str, cut_at: str, said: str
) -> None:
    """After a hang the power is cut; no watchdog is emulated."""
    pi.done("apply")
    pi.done("trial")
    boot = pi.start(planted, cut_at)
    assert not boot.told and said in boot.console, boot.console[-2000:]
    assert is_stock(pi.start())
    pi.done("boot", "start")
    assert [note for note in pi.status()["notes"] if "did not come up" in note]


def test_a_power_cut_after_arming_is_a_stock_boot(pi: Pi) -> None:
    pi.done("apply")
    pi.done("trial")
    pi.cut_power()
    assert is_stock(pi.start())


def test_what_was_tried_is_promoted_and_taken_back(pi: Pi) -> None:
    """Both are on the disk as soon as they are done."""
    before = pi.snapshot()
    try_once(pi)
    assert is_stock(pi.start())
    pi.done("promote")
    pi.cut_power()
    for _ in range(2):
        boot = pi.start()
        assert not is_stock(boot) and not _TRIAL & set(boot.line.split())
        assert pi.status()["state"] == "promoted"
    pi.done("rollback")
    pi.cut_power()
    assert pi.snapshot() == before
    assert is_stock(pi.start())


@pytest.mark.parametrize("follow", [False, True])
def test_a_kernel_update_keeps_the_line_where_kernels_are_followed(pi: Pi, follow: bool) -> None:
    before = pi.snapshot()
    try_once(pi)
    pi.done("promote", *(["--follow-kernels"] if follow else []))
    _, newer = kernels_or_skip()
    install(pi, newer.release, newer.image)
    boot = pi.start()
    assert (boot.release, is_stock(boot)) == (newer.release, not follow)
    pi.done("rollback")
    after = pi.snapshot()
    assert {name for name in after if after[name] != before.get(name)} == {f"{FOLDER}/kernel8.img"}
    assert after.keys() == before.keys()


def install(pi: Pi, release: str, image: bytes) -> None:
    """As a kernel's package does: its files, then the hooks."""
    (pi.path / "tmp/kernel").write_bytes(image)
    put = "mkdir /usr/lib/modules/$1 && cp /tmp/kernel $2.new && mv $2.new $2"
    where = f"/{FOLDER}/kernel8.img"
    assert pi.chroot("sh", "-c", put, "sh", release, where).status == 0
    hooked = pi.chroot("/etc/kernel/postinst.d/zz-lowlat", release)
    assert hooked.status == 0, hooked
    (pi.path / "tmp/kernel").unlink()


def test_what_a_power_cut_leaves_of_the_writes_to_fat_boots(pi: Pi, tell: Tell) -> None:
    """After each write that reaches the disk the firmware finds the line from before the verb or
    the one from after it. Both kinds are booted."""
    lines: dict[str, bool] = {}
    for verb in ("apply", "trial", "promote", "rollback"):
        if verb == "promote":
            pi.start()
            assert "came up" in pi.done("boot", "record")
        cut, written = pi.recorded(verb)
        first, last = line_of(cut), line_of(pi.guest.image)
        for at, data in written:
            cut.write(at, data)
            assert line_of(cut) in (first, last), (verb, at)
            if line_of(cut) not in lines:
                lines[line_of(cut)] = is_stock(pi.run(cut, tried=False))
        tell(f"{verb}: {len(written)} writes")
    assert sorted(lines.values()) == [False, True]


def line_of(image: FatImage) -> str:
    """What the firmware starts after a power cut."""
    wanted = pi_firmware.choose(lambda name: image.read(name).decode("latin-1"), tried=False)
    return image.read(wanted.cmdline).decode()


class _GuestCut(Cut):
    """Cuts the calls that write to the partition or change names anywhere. Only what the partition
    has at that moment is left of it. Each line that the firmware then finds is booted once."""

    def __init__(self, pi: Pi) -> None:
        self._pi, self._guest = pi, pi.guest
        self.booted: dict[str, bool] = {}
        super().__init__(pi, pi.guest, pi.work)

    def lines(self) -> dict[str, Any]:
        return {"cmdline.txt": self._guest.image.read("cmdline.txt")}

    def keep(self) -> None:
        super().keep()
        self._pi.unmount_partition()
        self._guest.image.copy_to(self._kept / "image")
        self._pi.mount_partition()

    def again(self) -> None:
        self._pi.unmount_partition()
        super().again()
        FatImage(self._kept / "image").copy_to(self._guest.image.path)
        self._pi.mount_partition()

    def run(self, at: int, *words: str) -> Any:
        where = self._pi.path / FOLDER
        device = self._guest.must("stat", "--format=%d", where).strip()
        return self._guest.run(self._pi, at, *words, LOWLAT_CUT_DEV=device)

    def check_config(self, where: str) -> None:
        self._pi.cut_power()
        image = self._guest.image
        line = line_of(image)
        assert "root=PARTUUID=1-02" in line, where
        if line not in self.booted:
            self.booted[line] = is_stock(self._pi.run(image, tried=False))


def test_every_cut_of_promote_is_survived_on_fat(pi: Pi, tell: Tell) -> None:
    cut = _GuestCut(pi)
    try_once(pi)
    defaults = {"cmdline", str(pi.status()["kernels"][0]["entry"])}
    tell(cut_everywhere(cut, ("promote",), defaults))
    assert sorted(cut.booted.values()) == [False, True]
