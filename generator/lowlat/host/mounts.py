# SPDX-License-Identifier: GPL-2.0-or-later
"""The mounted file systems, as /proc/mounts lists them (proc_pid_mounts(5)), and what lies in
memory."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import Optional

from lowlat.host.root import Root

_TABLE = "/proc/mounts"

_MEMORY = ("tmpfs", "ramfs", "rootfs")

#: Disks in memory, and the device of a live medium whose changes are kept there (dmsquash-live).
_RAM_DISK = re.compile(r"/dev/(?:z?ram\d+|mapper/live-rw)")


@dataclass(frozen=True)
class Mount:
    """One file system: where it is mounted, its type, what is mounted, and its options."""

    path: str
    kind: str
    source: str
    options: tuple[str, ...]

    @property
    def read_only(self) -> bool:
        return "ro" in self.options

    @property
    def upper(self) -> str:
        """The folder in which an overlay keeps what is written to it; "" if it has none."""
        name = "upperdir="
        found = (each[len(name) :] for each in self.options if each.startswith(name))
        return next(found, "") if self.kind == "overlay" else ""


def read(root: Root) -> tuple[Mount, ...]:
    """Those of this tree; none if it does not tell. Below --root a linked table is the table of the
    running machine."""
    if not root.live and root.link(_TABLE) is not None:
        return ()
    return tuple(parse(root.read(_TABLE) or ""))


def parse(text: str) -> list[Mount]:
    rows = (row.split() for row in text.splitlines())
    return [
        Mount(_plain(row[1]), row[2], _plain(row[0]), tuple(map(_plain, row[3].split(","))))
        for row in rows
        if len(row) >= 4
    ]


def _plain(text: str) -> str:
    return re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), text)


def mount_at(mounts: tuple[Mount, ...], path: str) -> Optional[Mount]:
    """The file system mounted at this path; of several the last one."""
    return next((each for each in reversed(mounts) if each.path == path), None)


def mount_holding(mounts: tuple[Mount, ...], path: str) -> Optional[Mount]:
    """The file system on which this path lies."""
    while True:
        found = mount_at(mounts, path)
        if found or path in ("", "/"):
            return found
        path = posixpath.dirname(path)


def what_keeps_in_memory(root: Root, mounts: tuple[Mount, ...], path: str) -> str:
    """What keeps in memory alone what is written to this path; "" if nothing is known to do so."""
    held = mount_holding(mounts, path)
    if held is None:
        return ""
    if held.kind in _MEMORY or _RAM_DISK.fullmatch(held.source):
        return held.kind
    if not held.upper:
        return ""
    # The initramfs may have linked it (dracut's /run/overlayfs), or mounted it out of sight.
    folder = posixpath.join(posixpath.dirname(held.upper), root.link(held.upper) or held.upper)
    others = tuple(each for each in mounts if each is not held)
    why = what_keeps_in_memory(root, others, folder)
    if mount_holding(others, folder) and not why:
        return ""
    return f"{held.kind}, its upper folder {held.upper} on {why or 'no disk that is mounted'}"
