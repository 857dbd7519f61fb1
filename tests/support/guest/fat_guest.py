# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest in which lowlat works on trees like those of tests/boot, in which a FAT file system is
mounted. Linux's driver writes it; the host's kernel may have none. The guest sees the host's files
and can write only those below the test's folder."""

from __future__ import annotations

import platform
import shlex
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lowlat.base import process
from support import needs
from support.guest import emulator, initramfs
from support.guest.kernels import KERNELS, busybox_or_skip, packaged_or_skip
from support.powercut import Cutting

_MODULES = ("9p", "9pnet_virtio", "virtio_blk", "overlay", "vfat", "nls_cp437", "nls_ascii")

_SECTOR = 512

#: First sector, number of sectors, flags, length: struct log_write_entry of the kernel's
#: drivers/md/dm-log-writes.c, which QEMU's blklogwrites writes too. Each entry fills a sector; its
#: data follow it.
_HEAD = struct.Struct("<QQQQ")

#: The log is a file with holes.
_LOG_MIB = 4096

#: Longer than the tests of a module take.
_LIMIT_S = 7200

_INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for name in {modules}; do modprobe $name; done
mkdir /host
share='-t 9p -o trans=virtio,version=9p2000.L,msize=262144'
mount $share,ro,cache=loose host /host
mount $share,cache=none folder {folder}
for name in proc sys dev; do mount --move /$name /host/$name; done
mount -t tmpfs run /host/run
port=$(echo /host/dev/vport*)
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
chroot /host {server} <>$port >&0
poweroff -f
"""


@dataclass(frozen=True)
class FatImage:
    """A FAT file system in a file. mtools reads it, without Linux's driver."""

    path: Path

    def make(self, files: Mapping[str, bytes], mib: int) -> None:
        """Make a new file system with these files in its root folder. It replaces the content of
        the file, which QEMU may have open."""
        with tempfile.TemporaryDirectory() as name:
            made, folder = Path(name) / "image", Path(name) / "files"
            folder.mkdir()
            for file, content in files.items():
                (folder / file).write_bytes(content)
            _must("truncate", f"--size={mib}M", made)
            _must("mkfs.vfat", "-F", "32", made)
            if files:
                _must("mcopy", "-i", made, *folder.iterdir(), "::/")
            FatImage(made).copy_to(self.path)

    def read(self, name: str) -> bytes:
        return _must("mcopy", "-i", self.path, f"::/{name}", "-")

    def files(self) -> dict[str, bytes]:
        """All that it holds, by path."""
        with tempfile.TemporaryDirectory() as name:
            _must("mcopy", "-s", "-i", self.path, "::/*", name)
            found = [path for path in sorted(Path(name).rglob("*")) if path.is_file()]
            return {str(path.relative_to(name)): path.read_bytes() for path in found}

    def write(self, at: int, data: bytes) -> None:
        with self.path.open("r+b") as file:
            file.seek(at)
            file.write(data)

    def copy_to(self, path: Path) -> FatImage:
        return FatImage(Path(shutil.copyfile(self.path, path)))


def _must(*words: object) -> bytes:
    argv = list(map(str, words))
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


class FatGuest(Cutting):
    """``image`` is the disk with the FAT file system, as QEMU has it now; ``device`` is its name in
    the guest. Trees lie below ``folder``."""

    device = "/dev/vda"

    def __init__(self, folder: Path, mib: int) -> None:
        if platform.machine() != "x86_64":
            needs.absent("the guest runs this host's programs: its kernel is one for x86-64")
        for program in ("mkfs.vfat", "mcopy"):
            if process.find(program) is None:
                needs.absent(f"{program} is not installed (packaging/install-dependencies vm)")
        self.folder = folder
        self.image = FatImage(folder / "image")
        self.image.make({}, mib)
        self._log = folder / "log"
        _must("truncate", f"--size={_LOG_MIB}M", self._log)
        super().__init__(folder)

    def writes(self) -> list[tuple[int, bytes]]:
        """Everything that the guest wrote to the disk, in order: offset and data."""
        found = []
        with self._log.open("rb") as log:
            log.seek(_SECTOR)
            while any(head := _HEAD.unpack(log.read(_SECTOR)[: _HEAD.size])):
                sector, count, _, _ = head
                found.append((sector * _SECTOR, log.read(count * _SECTOR)))
        return [(at, data) for at, data in found if data]

    def _enter(self, server: Sequence[str]) -> list[str]:
        folder = self.folder
        hardware = emulator.Hardware(cpus=1, serial=f"file:{folder}/console")
        kernel = packaged_or_skip(KERNELS["6.12"])
        words = {"modules": " ".join(_MODULES), "folder": shlex.quote(f"/host{folder}")}
        init = _INIT.format(server=shlex.join(server), **words)
        more = initramfs.modules(kernel, _MODULES)
        (folder / "initrd").write_bytes(initramfs.build(busybox_or_skip("amd64"), init, more))
        nodes = (
            f"{name}.driver=file,{name}.filename={path}"
            for name, path in (("file", self.image.path), ("log", self._log))
        )
        share = "security_model=none,multidevs=remap,mount_tag"
        return [
            *("timeout", "--kill-after=10", str(_LIMIT_S), *hardware.argv()),
            *("-kernel", str(kernel.image), "-initrd", str(folder / "initrd")),
            *("-append", f"console={hardware.console} panic=-1 quiet"),
            *("-virtfs", f"local,path=/,readonly=on,{share}=host"),
            *("-virtfs", f"local,path={folder},{share}=folder"),
            *("-blockdev", f"driver=blklogwrites,node-name=disk,{','.join(nodes)}"),
            *("-device", "virtio-blk-pci,drive=disk"),
            *("-chardev", "stdio,id=server,signal=off", "-device", "virtio-serial-pci"),
            *("-device", "virtserialport,chardev=server"),
        ]
