# SPDX-License-Identifier: GPL-2.0-or-later
"""Detects the boot loader of a tree, and whether lowlat can write it."""

from contextlib import suppress
from dataclasses import replace
from typing import Optional

from lowlat.base.errors import LowlatError, Refused
from lowlat.boot import foreign, hooks, places
from lowlat.boot.loaders import by_hand, grub, grub_bls, raspberry_pi, systemd_boot
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
    """The boot loader of this tree; ByHand if lowlat does not write it, or if the line of the
    applied plan is added by hand. Raises Refused as writer() does."""
    loader = writer(root)
    return left(root) if by_hand.is_used(root) else loader


def writer(root: Root) -> Loader:
    """The boot loader of this tree; ByHand if lowlat does not write it. Raises Refused if a file
    system of the boot is not mounted, or if several loaders may boot this tree."""
    places.check_mounted(root)
    there = boot_loader.candidates(root)
    if len(there) > 1:
        files = " and ".join(each.source for each in there)
        why = f"several boot loaders may boot this system: {files} are there"
        raise Refused(why, hint="remove what boots nothing")
    seen = there[0] if there else None
    if hooks.has_other_init(root):
        return left(
            root, "systemd does not start this system, and its units guard a trial", anew=True
        )
    written = _WRITERS[seen.kind](root, seen.folder) if seen and seen.kind in _WRITERS else None
    return written or left(root, anew=True)


def left(root: Root, why: str = "", *, anew: bool = False) -> ByHand:
    """The loader of this tree, whose line a person changes; ``why`` lowlat cannot, ``anew`` as in
    ByHand."""
    seen = boot_loader.recognise(root)
    other = foreign.recognise(root, seen)
    if seen and seen.kind == boot_loader.RASPBERRY_PI:
        why = why or raspberry_pi.cannot_try(root)
    return ByHand(root, replace(other, cannot_try=why or other.cannot_try), anew=anew)


def find(root: Root) -> Optional[Loader]:
    """The loader of this tree that has entries of lowlat's, whether or not it still boots the
    system; else the first that lowlat can write, or None."""
    there = dict.fromkeys((*boot_loader.candidates(root), *boot_loader.leftovers(root)))
    tried = (_WRITERS[each.kind](root, each.folder) for each in there if each.kind in _WRITERS)
    loaders = [loader for loader in tried if loader is not None]
    return next(filter(has_ours, loaders), next(iter(loaders), None))


def has_ours(loader: Loader) -> bool:
    """Whether the loader shows entries of lowlat's."""
    with suppress(LowlatError):
        return any(entry.ours for entry in loader.describe().entries)
    return False
