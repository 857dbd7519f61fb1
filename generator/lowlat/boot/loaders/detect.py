# SPDX-License-Identifier: GPL-2.0-or-later
"""Detects the boot loader of a tree, and whether lowlat can write it."""

from dataclasses import replace
from typing import Optional

from lowlat.boot import foreign, programs
from lowlat.boot.loaders import grub, grub_bls, raspberry_pi, systemd_boot
from lowlat.boot.loaders.by_hand import ByHand
from lowlat.boot.loaders.interface import Loader
from lowlat.host import boot_loader
from lowlat.host.root import Root

#: By the kind of boot loader: whether lowlat has what it takes to write it.
_WRITERS = {
    boot_loader.GRUB_BLS: grub_bls.find,
    boot_loader.GRUB: grub.find,
    boot_loader.SYSTEMD_BOOT: systemd_boot.find,
    boot_loader.RASPBERRY_PI: raspberry_pi.find,
}


def detect(root: Root) -> Loader:
    """The boot loader of this tree; ByHand if lowlat does not write it. Raises Refused if a file
    system of the boot is not mounted."""
    programs.check_mounted(root)
    kind = boot_loader.recognise(root)
    other = foreign.recognise(root, kind)
    if kind == boot_loader.RASPBERRY_PI and other and other.name == foreign.RASPBERRY_PI:
        other = replace(other, cannot_try=raspberry_pi.cannot_try(root))
        return raspberry_pi.find(root) or ByHand(root, other)
    if other is not None:
        return ByHand(root, other)
    written = _WRITERS[kind](root) if kind in _WRITERS else find(root)
    return written or ByHand(root, replace(foreign.UNKNOWN, name=kind or foreign.UNKNOWN.name))


def find(root: Root) -> Optional[Loader]:
    """The loader of this tree that lowlat can write, even if another one boots it, or None."""
    kind = boot_loader.recognise(root)
    writers = sorted(_WRITERS, key=lambda name: name != kind)
    return next(filter(None, (_WRITERS[name](root) for name in writers)), None)
