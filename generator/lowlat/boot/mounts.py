# SPDX-License-Identifier: GPL-2.0-or-later
"""What the boot files lie on: mounted as /etc/fstab says, and writable."""

from __future__ import annotations

import os

from lowlat.base.errors import Refused
from lowlat.host.root import Root

_BOOT = ("/boot", "/boot/efi", "/boot/firmware", "/efi")


def check_mounted(root: Root) -> None:
    """Raises Refused where a file system of the boot is listed but not there: what is written to
    its empty folder would never be read."""
    for row in (root.read("/etc/fstab") or "").splitlines():
        words = row.split()
        if len(words) < 2 or words[0].startswith("#") or words[1].rstrip("/") not in _BOOT:
            continue
        path = words[1].rstrip("/")
        if not os.path.ismount(root.host(path)) and not root.names(path):
            raise Refused(f"{path} is listed in /etc/fstab but not mounted", hint=f"mount {path}")


def check_writable(root: Root, folder: str) -> None:
    """Raises Refused where nothing can be written there."""
    try:
        read_only = os.statvfs(root.host(folder)).f_flag & os.ST_RDONLY
    except OSError as error:
        raise Refused(f"{folder}: {error.strerror}") from error
    if read_only:
        raise Refused(f"{folder} is mounted read-only", hint="mount it writable first")
    if not os.access(root.host(folder), os.W_OK | os.X_OK):
        raise Refused(f"{folder} cannot be written", hint="run as root")
