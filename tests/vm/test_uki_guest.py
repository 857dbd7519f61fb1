# SPDX-License-Identifier: GPL-2.0-or-later
"""A Debian 13 machine that boots a unified kernel image by systemd-boot: applied, tried once, back
in stock, promoted, rolled back."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import boots
import hangs
import image
import pytest
import results
from boots import Guest
from journey import Journey, differing, packages_or_skip

from lowlat.base import process

pytestmark = [pytest.mark.vm, pytest.mark.full]

_STUB = "usr/lib/systemd/boot/efi/linuxx64.efi.stub"


def unified(folder: Path, stub: Path, sections: Mapping[str, bytes]) -> bytes:
    """The image: the sections behind those of the stub (systemd-stub(7))."""
    rows = subprocess.run(["objdump", "-h", stub], capture_output=True, text=True, check=True)
    known = re.findall(r"^ +\d+ \S+ +(\w+) +(\w+)", rows.stdout, re.MULTILINE)
    end = max(int(size, 16) + int(place, 16) for size, place in known)
    words: list[str] = []
    for name, content in sections.items():
        end += -end % 4096
        (folder / name).write_bytes(content)
        words += ["--add-section", f".{name}={folder / name}"]
        words += ["--change-section-vma", f".{name}={end:#x}"]
        end += len(content)
    made = folder / "linux.efi"
    subprocess.run(["objcopy", *words, stub, made], check=True)
    return made.read_bytes()


def with_image(guest: Guest, packages: list[Path], kernel: str, folder: Path) -> Guest:
    """The machine with an image of its own kernel, initramfs and line left on its disk."""
    for package in packages:
        subprocess.run(["dpkg-deb", "-x", package, folder / "unpacked"], check=True)
    sections = {
        "osrel": b"ID=debian\nNAME=Debian\nPRETTY_NAME=Debian\nVERSION_ID=13\n",
        "uname": kernel.encode(),
        "cmdline": guest.read("/etc/kernel/cmdline").strip(),
        "initrd": guest.read(f"/boot/initrd.img-{kernel}"),
        "linux": guest.read(f"/boot/vmlinuz-{kernel}"),
    }
    made = unified(folder, folder / "unpacked" / _STUB, sections)
    return guest.planted({"/var/tmp/linux.efi": made})


@pytest.fixture(scope="module")
def road(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Journey]:
    if process.find("objcopy") is None:
        pytest.skip("objcopy is not installed (binutils)")
    loader = image.packages_or_skip(image.image_or_skip(), "systemd-boot")
    stub = image.packages_or_skip(image.image_or_skip(), "systemd-boot-efi")
    with boots.work_folder() as name:
        made = Journey(Path(name), packages_or_skip()[0], *loader)
        guest = made.go(boots.installed_or_skip(Path(name)), "grub", "bootctl")
        kernel = made.found["grub"]["kernel"]
        guest = with_image(guest, stub, kernel, tmp_path_factory.mktemp("image"))
        guest = made.go(guest, "entry", "images")
        guest = made.go(guest, "stock", "setup look apply trial")
        guest = made.go(guest, "tuned", "look")
        guest = made.go(guest, "returned", "look promote")
        made.go(guest, "promoted", "look roll_back")
        yield made


def test_apply_only_adds(road: Journey) -> None:
    found = road.found["stock"]
    assert (found["status"]["loader"], found["apply"][0]) == ("systemd-boot", 0), found["apply"]
    before, after = found["loader"], found["loader after apply"]
    assert after.items() >= before.items()
    ours = [text for name, text in after.items() if name not in before]
    assert len(ours) == 2 and all("\nefi /EFI/Linux/debian-" in text for text in ours)


def test_the_trial_is_for_one_boot(road: Journey) -> None:
    assert road.found["stock"]["trial"][0] == 0, road.found["stock"]["trial"]
    names = ("stock", "tuned", "returned", "promoted")
    assert [road.marker(name) is not None for name in names] == [False, True, False, True]
    assert road.found["tuned"]["status"]["state"] == "tried"
    before, found = road.found["stock"]["boot"], road.found["returned"]["boot"]
    assert found["line"] == before["line"]
    assert differing(before["values"], found["values"]) == {}
    remark = "a unified kernel image, one try: the boot after it was stock, its values as before"
    results.add(found["kernel"], "lowlat", "all", remark)


def test_promote_and_rollback(road: Journey) -> None:
    assert road.found["returned"]["promote"][0] == 0, road.found["returned"]["promote"]
    found = road.found["promoted"]
    assert found["status"]["state"] == "promoted"
    assert (found["rollback"][0], found["rolled back"]) == (0, {}), found["rollback"]
    assert found["loader after rollback"] == road.found["stock"]["loader"]


@pytest.mark.parametrize(
    ("hang", "said", "told"),
    [
        pytest.param(hangs.panics, "Kernel panic - not syncing: sysrq", None, id="panic"),
        pytest.param(hangs.takes_every_cpu, "", False, id="watchdog"),
    ],
)
def test_a_hang_comes_back_by_itself(
    road: Journey, hang: hangs.Hang, said: str, told: bool | None
) -> None:
    hangs.comes_back(road, hang, said, told, how="a unified kernel image")
