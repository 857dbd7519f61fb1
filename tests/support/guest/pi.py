# SPDX-License-Identifier: GPL-2.0-or-later
"""A Raspberry Pi. The firmware is the stand-in pi_firmware.py: it reads a FAT image and starts the
arm64 kernel in it on QEMU's machine `virt`. lowlat writes the image through Linux's FAT driver, in
the guest of fat_guest.py. vcmailbox is a stub. What the kernel prints about itself becomes the
/proc and /sys that lowlat reads."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lowlat.host import archive
from support import pi_firmware
from support.guest import REPOSITORY, emulator, initramfs
from support.guest.fat_guest import FatGuest, FatImage
from support.guest.kernels import KERNELS, busybox_or_skip, packaged_or_skip
from support.hosttree import Host, bare

FOLDER = "boot/firmware"
LINE = "console=serial0,115200 console=tty1 root=PARTUUID=1-02 rootwait quiet"

#: Room for two kernels.
IMAGE_MIB = 128

_CONFIG = b"arm_64bit=1\nauto_initramfs=1\ninclude usercfg.txt\n[cm4]\notg_mode=1"
_MACHINE = REPOSITORY / "tests/machines/qemu-arm64-4c.txt"
#: In CPU seconds.
_LIMIT_S = 300.0

_CMDLINE, _RELEASE = "proc/cmdline", "proc/sys/kernel/osrelease"
_ISOLATED, _NOHZ_FULL = (f"sys/devices/system/cpu/{name}" for name in ("isolated", "nohz_full"))
_BOOT_ID = "proc/sys/kernel/random/boot_id"

#: What a kernel tells of itself.
_TOLD = " ".join(["/" + name for name in (_CMDLINE, _RELEASE, _ISOLATED, _NOHZ_FULL, _BOOT_ID)])

#: Words that the stand-in adds to the line to make the boot fail.
PANIC, HANG = "planted=panic", "planted=hang"
HUNG = "=== hung"

_INIT = f"""#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
exec >/dev/ttyAMA0 2>&1
dmesg -n 1
case $(cat /proc/cmdline) in
*{PANIC}*) echo c >/proc/sysrq-trigger ;;
*{HANG}*) echo "{HUNG}"; sleep 1000000 ;;
esac
for file in {_TOLD}; do echo "=== $file $(cat $file)"; done
poweroff -f
"""


@dataclass(frozen=True)
class PiKernel:
    """A kernel as it is installed."""

    release: str
    image: bytes
    config: str


def kernels_or_skip() -> tuple[PiKernel, PiKernel]:
    """Debian's kernel, and the same one with an older release number patched into its image, which
    comes first."""
    found = packaged_or_skip(KERNELS["6.12-arm64"])
    image = found.image.read_bytes()
    config = found.image.with_name(f"config-{found.release}").read_text()
    release = re.sub(r"\d+(?=\+)", lambda patch: "0" * len(patch[0]), found.release)
    older = image.replace(found.release.encode(), release.encode())
    assert older != image
    return PiKernel(release, older, config), PiKernel(found.release, image, config)


@dataclass(frozen=True)
class PiBoot:
    """One boot: the console's text, and the files that the kernel printed if it came up."""

    console: str
    told: dict[str, str]

    @property
    def line(self) -> str:
        return self.told[_CMDLINE]

    @property
    def release(self) -> str:
        return self.told[_RELEASE]

    @property
    def isolated(self) -> tuple[str, str]:
        """The kernel's own lists of isolcpus= and nohz_full=."""
        return self.told[_ISOLATED], self.told[_NOHZ_FULL]


class Pi(Host):
    """The machine: a tree in which the boot partition is mounted while Linux runs. ``work`` is a
    folder for large files."""

    live = True  # the mailbox is that of the machine that runs

    def __init__(self, path: Path, guest: FatGuest) -> None:
        super().__init__(path, guest)
        self.guest = guest
        self.work = path.with_name("work")
        self.work.mkdir()
        self.boots = 0

    def mount_partition(self) -> None:
        self.mount("-t", "vfat", self.guest.device, self.path / FOLDER)

    def unmount_partition(self) -> None:
        self.guest.must("umount", self.path / FOLDER)

    def snapshot(self, tops: Iterable[str] = ("boot", "etc", "var")) -> dict[str, tuple[Any, ...]]:
        self.unmount_partition()
        files = self.guest.image.files()
        self.mount_partition()
        here = {f"{FOLDER}/{name}": (content,) for name, content in files.items()}
        return {**super().snapshot(tops), **here}

    def recorded(self, verb: str) -> tuple[FatImage, list[tuple[int, bytes]]]:
        """Run a verb; returns the partition before it, and the writes to it in order."""
        self.unmount_partition()
        before = self.guest.image.copy_to(self.work / "before")
        already = len(self.guest.writes())
        self.mount_partition()
        self.done(verb)
        self.unmount_partition()
        written = self.guest.writes()[already:]
        self.mount_partition()
        return before, written

    def cut_power(self) -> None:
        """Lose what was not written to the partition yet, and the one-shot flag."""
        left = self.guest.image.copy_to(self.work / "left")
        self.unmount_partition()
        left.copy_to(self.guest.image.path)
        self.mount_partition()
        pi_firmware.forget_flags(self)

    def start(self, planted: str = "", cut_at: str = "") -> PiBoot:
        """Reset the machine and boot it. If the kernel comes up, lowlat sees that boot next."""
        self.unmount_partition()
        boot = self.run(self.guest.image, pi_firmware.take_flag(self), planted, cut_at)
        self.mount_partition()
        for name, value in boot.told.items():
            self.write(name, f"{value}\n")
        return boot

    def run(self, image: FatImage, tried: bool, planted: str = "", cut_at: str = "") -> PiBoot:
        """Boot what the firmware chooses in this image. ``cut_at`` ends the boot when the console
        shows it."""
        wanted = pi_firmware.choose(lambda name: image.read(name).decode("latin-1"), tried)
        kernel, initrd = (self.work / name for name in ("kernel", "initrd"))
        kernel.write_bytes(image.read(wanted.kernel))
        initrd.write_bytes(image.read(wanted.initramfs))
        hardware = emulator.Hardware("arm64")
        text = image.read(wanted.cmdline).decode()
        line = pi_firmware.line_of(text, hardware.console, planted)
        argv = [*hardware.argv(), "-kernel", str(kernel), "-initrd", str(initrd), "-append", line]
        self.boots += 1
        log = self.path.with_name(f"console-{self.boots}")
        console = emulator.run(argv, limit=_LIMIT_S, log=log, cut_at=cut_at).replace("\r", "")
        told = dict(re.findall(r"^=== /(\S+) (.*)$", console, re.MULTILINE))
        assert planted or told.get(_CMDLINE) == line, console[-2000:]
        return PiBoot(console, told)


def make_pi(path: Path, guest: FatGuest) -> Pi:
    """A machine that runs the older kernel, without lowlat."""
    older, newer = kernels_or_skip()
    partition = {
        "config.txt": _CONFIG,
        "usercfg.txt": b"enable_uart=1\n",
        "cmdline.txt": f"{LINE}\n".encode(),
        "kernel8.img": older.image,
        "initramfs8": initramfs.build(busybox_or_skip("arm64"), _INIT, {}),
    }
    guest.image.make(partition, IMAGE_MIB)
    machine = archive.parse(_MACHINE.read_bytes()).files
    files = {name.lstrip("/"): content.decode() for name, content in machine.items()}
    files |= {f"boot/config-{kernel.release}": kernel.config for kernel in (older, newer)}
    host = bare(path, guest, files)
    (path / FOLDER).mkdir()
    pi_firmware.add_mailbox(host)
    modules = 'rm -rf /usr/lib/modules/* && mkdir -p "/usr/lib/modules/$1"'
    assert host.chroot("sh", "-c", modules, "sh", older.release).status == 0
    pi = Pi(path, guest)
    pi.mount_partition()
    pi.start()
    return pi
