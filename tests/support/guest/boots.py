# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests that boot as a machine does: firmware, boot loader, kernel, systemd; with a watchdog.

A guest is three files: its disk, its EFI partition and its firmware's variables. A boot makes a new
guest from a copy, so every state can be continued more than once. Only the boot loader chooses what
boots: each boot is one run of QEMU, which ends when the guest powers off or resets.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lowlat.base import process
from lowlat.base.errors import LowlatError
from support import needs
from support.guest import VM, emulator, image, kernels
from support.waits import GUARD_S

_PREPARE = (VM / "guest/prepare", VM / "guest/run")

#: Debian's firmware, and its initial variables.
_FIRMWARE = Path("/usr/share/OVMF/OVMF_CODE_4M.fd")
_VARIABLES = Path("/usr/share/OVMF/OVMF_VARS_4M.fd")

FILES = ("disk", "esp", "variables")
_ESP_MIB = 128

#: In sfdisk's format.
_PARTITIONS = "label: gpt\nstart=1MiB, type=uefi\n"

_TOOLS = {"mkfs.fat": "dosfstools", "sfdisk": "fdisk", "debugfs": "e2fsprogs"}

#: In CPU seconds: a boot alone takes a minute or two, installing a kernel's package as long again.
_LIMIT_S = 900.0

_TAIL = 40

#: The chip set's watchdog resets. QEMU before 8.0 does so only with this option.
_WATCHDOG = ("-global", "ICH9-LPC.noreboot=off", "-watchdog-action", "reset")

#: In its own mount namespace: the disk, where to mount it, the tree.
_OVERLAY = """mount -o loop "$1" "$2"
cd "$2"
xargs --null rm -rf --
cp --archive --remove-destination "$3/." .
cd /
umount "$2"
"""


class BootRecorder(Protocol):
    """Looks at a machine while it is on; snapshots.py has one."""

    def recording(self, guest: Guest) -> contextlib.AbstractContextManager[None]: ...

    def forget(self) -> None: ...


@dataclass(frozen=True)
class Guest:
    """A machine that is switched off; ``folder`` has its files and ``console``, the output of the
    boot that led here."""

    folder: Path

    @property
    def console(self) -> str:
        return (self.folder / "console").read_text(errors="replace")

    @property
    def pidfile(self) -> Path:
        """Has the emulator's PID while the machine is on."""
        return self.folder / "pid"

    @property
    def tail(self) -> str:
        """The last lines of the console."""
        return _tail(self.folder / "console")

    def boot(self, share: Path, *, cut_at: str = "", recorder: BootRecorder | None = None) -> Guest:
        """Switch the machine on, with the task in ``share``, until it powers off or resets, or
        until its console shows ``cut_at``, when its power is cut.

        Raises AssertionError, with the last lines of the console, if it does neither in time.
        """
        begin = time.monotonic()
        after = Guest(Path(tempfile.mkdtemp(prefix="boot-", dir=self.folder.parent)))
        log = after.folder / "console"

        def prepare() -> None:
            self._copy(after.folder)
            if recorder:
                recorder.forget()

        try:
            with recorder.recording(after) if recorder else contextlib.nullcontext():
                argv = after.argv(share)
                emulator.run(argv, limit=_LIMIT_S, log=log, prepare=prepare, cut_at=cut_at)
        except LowlatError as error:
            raise AssertionError(f"{error}\n{_tail(log)}") from error
        print(f"boot: {time.monotonic() - begin:.0f} s", flush=True)
        return after

    def argv(self, share: Path) -> list[str]:
        """QEMU's arguments for this machine."""
        files = (self.folder / name for name in FILES[:2])
        drives = (f"file={path},if=virtio,format=raw,cache=unsafe" for path in files)
        flash = (f"readonly=on,file={_FIRMWARE}", f"file={self.folder / 'variables'}")
        return [
            *emulator.Hardware(cpus=4, memory_mib=1536).argv(),
            *(word for text in flash for word in ("-drive", f"if=pflash,format=raw,{text}")),
            *(word for text in drives for word in ("-drive", text)),
            *("-virtfs", f"local,path={share},mount_tag=share,security_model=none"),
            *("-pidfile", str(self.pidfile)),
            *_WATCHDOG,
        ]

    def work(self, share: Path, task: str, *, recorder: BootRecorder | None = None) -> Guest:
        """Boot the machine to run a task, a shell script.

        Raises AssertionError, with the last lines of the console, if the task failed.
        """
        (share / "task").write_text(task)
        (share / "status").unlink(missing_ok=True)
        after = self.boot(share, recorder=recorder)
        status = share / "status"
        left = status.read_text().strip() if status.is_file() else "none"
        if left != "0":
            raise AssertionError(f"the task '{task.strip()}' failed: status {left}\n{after.tail}")
        return after

    def read(self, path: str) -> bytes:
        """A file of its disk. Raises LowlatError if there is none."""
        with tempfile.NamedTemporaryFile() as file:
            self._debugfs(f"dump {path} {file.name}")
            return file.read()

    def planted(self, files: Mapping[str, bytes]) -> Guest:
        """The same machine with these files on its disk."""
        other = Guest(Path(tempfile.mkdtemp(prefix="boot-", dir=self.folder.parent)))
        self._copy(other.folder)
        for path, data in files.items():
            with tempfile.NamedTemporaryFile() as file:
                file.write(data)
                file.flush()
                other._debugfs(f"mkdir {path.rpartition('/')[0]}", f"rm {path}", may_fail=True)
                other._debugfs(f"write {file.name} {path}")
        return other

    def overlaid(self, tree: Path, gone: Iterable[str]) -> Guest:
        """The same machine with this tree's files on its disk, and without the paths ``gone``,
        which are relative to its root. Needs a loop device."""
        other = Guest(Path(tempfile.mkdtemp(prefix="boot-", dir=self.folder.parent)))
        self._copy(other.folder)
        with tempfile.TemporaryDirectory() as mounted:
            argv = ["unshare", "--mount", "sh", "-euc", _OVERLAY, "sh"]
            words = (str(other.folder / "disk"), mounted, str(tree))
            _checked([*argv, *words], "".join(f"{path}\0" for path in gone))
        return other

    def _debugfs(self, *requests: str, may_fail: bool = False) -> None:
        """Run e2fsprogs' debugger on the unmounted disk."""
        for request in requests:
            argv = ["debugfs", "-w", "-R", request, str(self.folder / "disk")]
            done = process.run([process.find(argv[0]) or argv[0], *argv[1:]], timeout=GUARD_S)
            # Its exit status proves nothing; the first line is its version.
            said = done.stderr.splitlines()[1:]
            if (done.status or said) and not may_fail:
                raise LowlatError(f"debugfs {request}: {' '.join(said)}")

    def _copy(self, target: Path) -> None:
        for name in FILES:
            copy_file(self.folder / name, target / name)


def copy_file(source: Path, target: Path) -> None:
    """Copy a disk; holes stay holes."""
    _checked(["cp", "--sparse=always", "--reflink=auto", str(source), str(target)])


def _tail(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines() if log.is_file() else []
    return "\n".join(line for line in lines[-_TAIL:] if line.strip())


def installed_or_skip(work: Path) -> Guest:
    """A machine with GRUB and an administrator's settings, in the folder ``work`` with all that
    follow from it; skips the test with a reason if it cannot be made."""
    guest = Guest(Path(tempfile.mkdtemp(prefix="boot-", dir=work)))
    kept_or_skip()._copy(guest.folder)
    return guest


def kept_or_skip() -> Guest:
    """The same machine, stored beside the image it is made from; this one is never booted."""
    base = image.image_or_skip()
    if not _FIRMWARE.is_file():
        needs.absent(f"{_FIRMWARE} is not there: apt install ovmf")
    for name, package in _TOOLS.items():
        if process.find(name) is None:
            needs.absent(f"{name} is not installed: apt install {package}")
    parts = (_PARTITIONS.encode(), *(path.read_bytes() for path in _PREPARE))
    key = hashlib.sha256(b"".join(parts)).hexdigest()[:16]
    kept = base.disk.with_name(f"grub-{key}")
    if not kept.is_dir():
        for old in kept.parent.glob("grub-*"):
            shutil.rmtree(old)
        _install(base, kept)
    return Guest(kept)


def work_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder for guests, half a gigabyte each, on the image's file system."""
    kernels.folder().mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryDirectory(prefix=".guests-", dir=kernels.folder())


def _install(base: image.Image, target: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=".grub-", dir=target.parent) as name:
        made, share = image.Image(Path(name) / "made/disk"), Path(name) / "share"
        made.disk.parent.mkdir()
        share.mkdir()
        copy_file(base.disk, made.disk)
        shutil.copy(base.kernel, made.kernel)
        shutil.copy(base.initrd, made.initrd)
        shutil.copy(_VARIABLES, made.disk.with_name("variables"))
        esp = made.disk.with_name("esp")
        _make_esp(esp)
        shutil.copy(_PREPARE[0], share / "task")
        shutil.copy(_PREPARE[1], share)
        devices = ("-drive", f"file={esp},if=virtio,format=raw")
        image.boot(made, share, limit=_LIMIT_S, keep=True, devices=devices)
        made.disk.parent.rename(target)


def _make_esp(path: Path) -> None:
    """A disk with one partition, which the firmware reads."""
    with tempfile.NamedTemporaryFile(dir=path.parent) as inside, path.open("wb") as disk:
        inside.truncate((_ESP_MIB - 2) << 20)
        _checked(["mkfs.fat", "-F", "32", "-n", "ESP", inside.name])
        disk.truncate(_ESP_MIB << 20)
        _checked(["sfdisk", "--quiet", str(path)], _PARTITIONS)
        disk.seek(1 << 20)
        disk.write(inside.read())


def _checked(argv: Sequence[str], stdin: str = "") -> None:
    words = [process.find(argv[0]) or argv[0], *argv[1:]]
    done = subprocess.run(
        words, timeout=GUARD_S, input=stdin, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise LowlatError(f"{argv[0]} failed: {done.stderr.strip()}")
