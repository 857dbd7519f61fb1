# SPDX-License-Identifier: GPL-2.0-or-later
"""Detects the boot loader of a tree."""

from dataclasses import replace
from typing import Optional

from lowlat.boot import foreign, programs
from lowlat.boot.loaders import grub, grub_bls, raspberry_pi, systemd_boot
from lowlat.boot.loaders.by_hand import ByHand
from lowlat.boot.loaders.interface import Loader
from lowlat.host.root import Root


def detect(root: Root) -> Loader:
    """The boot loader of this tree; ByHand if lowlat does not write it. Raises Refused if a file
    system of the boot is not mounted."""
    programs.check_mounted(root)
    other = foreign.recognise(root)
    if other is None or (other is foreign.IMAGES and systemd_boot.booted(root)):
        return find(root) or ByHand(root, foreign.UNKNOWN)
    if other.name == foreign.RASPBERRY_PI:
        other = replace(other, cannot_try=raspberry_pi.cannot_try(root))
        return raspberry_pi.find(root) or ByHand(root, other)
    return ByHand(root, other)


def find(root: Root) -> Optional[Loader]:
    """The loader of this tree that lowlat can write, even if another one boots it, or None."""
    # If systemd-boot booted the system, a leftover grub.cfg boots nothing.
    first = systemd_boot.find(root) if systemd_boot.booted(root) else None
    found = first or grub_bls.find(root) or grub.find(root) or systemd_boot.find(root)
    return found or raspberry_pi.find(root)
