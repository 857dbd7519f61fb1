# SPDX-License-Identifier: GPL-2.0-or-later
"""GRUB itself as a program: grub-emu of Debian, which runs grub.cfg and its menu like the loader on
a disk, in some milliseconds."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from support import debs
from support.debs import Unpacked
from support.waits import GUARD_S

#: SDL draws GRUB's pictures; without a video command none of its functions is called.
_STUB = "libSDL2-2.0.so.0"

#: In bytes: the boot loader's area of btrfs, of which GRUB has 512 (util/grub-editenv.c).
_RESERVED = 256 << 10

_BOOTING = re.compile(r"Booting `(.*)'\s")
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class GrubEmu:
    """``packages`` is an unpacked grub-emu with the C library of its suite."""

    def __init__(self, packages: Unpacked, folder: Path) -> None:
        tree = packages.tree()
        libraries = tree / "usr/lib/x86_64-linux-gnu"
        self._folder = folder / "grub"
        self._folder.mkdir()
        stub = ["cc", "-shared", f"-Wl,-soname,{_STUB}", "-o", str(folder / _STUB), "-x", "c"]
        subprocess.run([*stub, "/dev/null"], check=True, timeout=GUARD_S)
        loader = [str(libraries / "ld-linux-x86-64.so.2"), "--library-path"]
        self._argv = [*loader, f"{libraries}:{folder}", str(tree / "usr/bin/grub-emu")]

    def boot(self, config: str) -> tuple[str, ...]:
        """The titles of the submenus and of the entry that GRUB boots with this grub.cfg. The
        entry has to end GRUB: with ``halt``, or with a kernel, which is not started."""
        return tuple(_BOOTING.findall(self._run(config)))

    def arguments(self, lines: Sequence[str]) -> list[list[str]]:
        """The arguments that a command gets for the words of each line, at least one a line."""
        show = 'function show {\nfor word in "$@"; do echo "[$word]"; done; echo "END"\n}\n'
        said = self._run(show + "".join(f"show {line}\n" for line in lines) + "halt\n")
        return [re.findall(r"\[(.*)\]\n", part) for part in said.split("END")[:-1]]

    def boots(
        self, config: str, block: bytes, times: int, reserved: bytes = b""
    ) -> list[tuple[str, ...]]:
        """So many boots from a disk, in whose environment block GRUB itself stores: what boot()
        returns for each. Entries halt instead of what loads a kernel. With ``reserved``, the disk
        has btrfs, and these bytes at the place that it keeps for GRUB."""
        files, disk = self._folder / "disk", self._folder / "disk.img"
        (files / "boot/grub").mkdir(parents=True, exist_ok=True)
        (files / "boot/grub/grub.cfg").write_text(_halting(config))
        (files / "boot/grub/grubenv").write_bytes(block)
        with disk.open("wb") as image:
            image.truncate(128 << 20 if reserved else 8 << 20)
        make = ["mke2fs", "-q", "-F", "-d", str(files), str(disk)]
        if reserved:
            tool = next(debs.BTRFS.tree().glob(debs.BTRFS.file))
            make = [str(tool), "-q", "--rootdir", str(files), str(disk)]
        subprocess.run(make, check=True, capture_output=True, timeout=GUARD_S)
        with disk.open("r+b") as image:
            image.seek(_RESERVED if reserved else 0)
            image.write(reserved)
        (self._folder / "map").write_text(f"(hd0) {disk}\n")
        from_disk = ["-r", "hd0", "-d", "/boot/grub", "-m", str(self._folder / "map")]
        return [tuple(_BOOTING.findall(self._start(from_disk))) for _ in range(times)]

    def _run(self, config: str) -> str:
        (self._folder / "grub.cfg").write_text(config)
        return self._start(["-r", "host", "-d", str(self._folder)])

    def _start(self, options: Sequence[str]) -> str:
        done = subprocess.run(
            [*self._argv, *options],
            input="\n" * 9,  # GRUB waits for a key before it ends
            capture_output=True,
            text=True,
            timeout=GUARD_S,
            env={"TERM": "dumb"},
        )
        return _COLOURS.sub("", done.stdout).replace("\r", "")


def _halting(config: str) -> str:
    """The configuration, which shows no menu, and each entry of which ends GRUB after all that it
    stores."""
    rows: list[str] = []
    open_now: list[bool] = []
    for row in config.splitlines():
        if re.match(r"\s*(menuentry|submenu|function)\s.*\{\s*$", row):
            open_now.append(row.lstrip().startswith("menuentry"))
        elif re.match(r"\s*\}\s*$", row) and open_now.pop():
            rows.append("halt")
        row = re.sub(r"^\s*(linux|initrd)\s.*", "true", row)
        rows.append(re.sub(r"set timeout=\S+", "set timeout=0", row))
    return "\n".join((*rows, ""))
