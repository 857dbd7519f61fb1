# SPDX-License-Identifier: GPL-2.0-or-later
"""Which boot loader a tree has."""

from __future__ import annotations

from typing import Optional

from lowlat.base.errors import Refused
from lowlat.boot import foreign, programs
from lowlat.boot.loaders import grub, grub_bls, systemd_boot
from lowlat.boot.loaders.interface import Loader
from lowlat.host.root import Root


def detect(root: Root, words: str = "") -> Loader:
    """The boot loader of this tree. ``words`` is the line to add by hand to one that is not ours.

    Raises Refused, naming it, for such a one.
    """
    programs.check_mounted(root)
    other = foreign.recognise(root)
    if other is not None:
        name, where = other
        raise Refused(f"this machine boots by {name}: add the line by hand {where}", hint=words)
    found = find(root)
    if found is None:
        why = "no boot loader was recognised: add the line by hand"
        raise Refused(why, hint=words or "'lowlat-gen plan'")
    return found


def find(root: Root) -> Optional[Loader]:
    """The one of ours that this tree has, whatever else boots it; None where it has none."""
    # Where that one booted the system, a grub.cfg that is left over boots nothing.
    first = systemd_boot.find(root) if systemd_boot.booted(root) else None
    return first or grub_bls.find(root) or grub.find(root) or systemd_boot.find(root)
