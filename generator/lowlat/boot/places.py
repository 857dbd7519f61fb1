# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the boot's files and lowlat's own are written: the boot loader reads them there, and they
outlive the boot."""

import os
from pathlib import Path

from lowlat.base import files
from lowlat.base.errors import Refused
from lowlat.host import mounts
from lowlat.host.archive import Archive
from lowlat.host.root import Root

#: What the boot loader, or the firmware before it, may read apart from the root file system.
_BOOT = ("/boot", "/boot/efi", "/boot/firmware", "/efi")

#: Where units, hooks and TuneD's profile are written, and where the decision and the plans are.
_KEPT = ("/etc", files.STATE)

_INSTEAD = (
    "'lowlat-gen plan' and 'render' tell the line for the image or the server that it boots from, "
    "'lowlat-gen apply --now' isolates this boot"
)


def check(root: Root) -> None:
    """Raises Refused if the boot loader would not read what is written here, or if the next boot
    would be without it."""
    check_mounted(root)
    check_state(root)


def check_state(root: Root) -> None:
    """Raises Refused if the next boot would be without lowlat's own files."""
    for folder in _KEPT:
        check_kept(root, folder)


def check_mounted(root: Root) -> None:
    """Raises Refused if a file system of the boot is listed in /etc/fstab but not mounted: files in
    the folder below it are never read."""
    for row in (root.read("/etc/fstab") or "").splitlines():
        words = row.split()
        if len(words) < 2 or words[0].startswith("#") or words[1].rstrip("/") not in _BOOT:
            continue
        path = words[1].rstrip("/")
        if not _is_mounted(root, path):
            raise Refused(f"{path} is listed in /etc/fstab but not mounted", hint=f"mount {path}")


def _is_mounted(root: Root, path: str) -> bool:
    """Whether a file system is mounted there; in a tree that does not tell, whether it has files
    there."""
    names = root.names(path)  # a look mounts what systemd mounts on demand
    table = mounts.read(root)
    if table:
        mounted = mounts.mount_at(table, path)
        return mounted is not None and mounted.kind != "autofs"
    if not root.live and root.link("/proc/mounts") is None and names:
        return True
    return os.path.ismount(root.host(path))


def check_kept(root: Root, folder: str) -> None:
    """Raises Refused if what is written to this folder is gone with this boot, or if the folder
    cannot be written at all."""
    table = mounts.read(root)
    held = mounts.mount_holding(table, folder)
    why = mounts.what_keeps_in_memory(root, table, folder)
    if held and why:
        why = f"{held.path} is in memory ({why}): what is written here is gone with this boot"
        raise Refused(why, hint=_INSTEAD)
    if (held and held.read_only) or _is_read_only(root, folder):
        where = held.path if held else folder
        raise Refused(f"{where} is mounted read-only", hint="mount it writable first")


def _is_read_only(root: Root, folder: str) -> bool:
    if isinstance(root, Archive):
        return False
    path = Path(root.host(folder))
    there = next(each for each in (path, *path.parents) if each.exists())
    with files.reporting_errors(folder):
        return bool(os.statvfs(there).f_flag & os.ST_RDONLY)


def check_writable(root: Root, folder: str) -> None:
    """Raises Refused unless a loader's folder can be written and is kept."""
    check_kept(root, folder)
    if not os.access(root.host(folder), os.W_OK | os.X_OK):
        raise Refused(f"{folder} cannot be written", hint="run as root")
