# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot loaders behind one small interface: describe, write entries, boot one once, make one the
default, remove."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Callable, Optional, Protocol

from lowlat.base.errors import Refused
from lowlat.boot.transaction import Transaction
from lowlat.host.root import Root
from lowlat.model.plan import Plan


@dataclass(frozen=True)
class Entry:
    """A boot entry: ``name`` is what the loader calls it, ``words`` its kernel parameters with the
    loader's variables filled in; ``ours`` and ``trial`` tell what kind it is."""

    name: str
    release: str
    words: tuple[str, ...]
    ours: bool = False
    trial: bool = False

    @property
    def id(self) -> str:
        """The entry's own id: the last part of a name that leads through submenus."""
        return self.name.rpartition(">")[2]


@dataclass(frozen=True)
class Boot:
    """What the loader will do: its entries in its own order, the one it boots by default, and the
    one it boots next, once."""

    entries: tuple[Entry, ...]
    default: Optional[Entry] = None
    next: Optional[Entry] = None

    def tuned(self, *, trial: bool = False) -> Iterator[Entry]:
        return (entry for entry in self.entries if entry.ours and entry.trial is trial)

    def stock(self, release: str) -> Optional[Entry]:
        """The distribution's entry of a kernel."""
        found = (entry for entry in self.entries if entry.release == release and not entry.ours)
        return next(found, None)

    def by_id(self, ident: str) -> Optional[Entry]:
        return next((entry for entry in self.entries if entry.id == ident), None)


def named(entries: Sequence[Entry], name: str) -> Optional[Entry]:
    """The entry that the loader calls so."""
    return next((entry for entry in entries if name and entry.name == name), None)


class Loader(Protocol):
    """One boot loader of one tree. Methods raise Refused where the loader, or the state it is in,
    does not allow it; nothing has changed then."""

    name: str

    def check(self) -> None:
        """Whether entries can be written at all: its folders are there, mounted and writable."""

    def describe(self) -> Boot:
        """What it will do now."""

    def pending(self) -> Sequence[str]:
        """What somebody else changed that the loader does not show yet: lines of a diff."""

    def write(self, change: Transaction, plans: Sequence[Plan]) -> Boot:
        """Write the tuned entries of these plans and check them; the default stays."""

    def check_one_shot(self) -> None:
        """Whether it boots an entry once, and surely not a second time."""

    def one_shot(self, entry: Optional[Entry]) -> None:
        """Boot this entry next, once; None takes that back."""

    def make_default(self, change: Transaction, entry: Optional[Entry], follow: bool) -> Boot:
        """Boot this entry from now on, or with ``follow`` the newest kernel's tuned one; None
        puts the default back that was there before."""

    def refresh(self, plan_of: Callable[[str], Optional[Plan]], follow: bool) -> None:
        """Make the entries follow the kernels that came or went; with ``follow`` the newest tuned
        one is the default where an older one was."""

    def remove(self) -> None:
        """Make our entries go, once their inputs have gone."""


def detect(root: Root, words: str = "") -> Loader:
    """The boot loader of this tree. ``words`` is the line to add by hand to one that is not ours.

    Raises Refused, naming it, for such a one.
    """
    from lowlat.boot import foreign, mounts

    mounts.check_mounted(root)
    foreign.refuse(root, words)
    found = find(root)
    if found is not None:
        return found
    raise Refused(
        "no boot loader was recognised: add the line by hand", hint=words or "'lowlat-gen plan'"
    )


def find(root: Root) -> Optional[Loader]:
    """The one of ours that this tree has, whatever else boots it; None where it has none."""
    from lowlat.boot.loaders import grub
    from lowlat.boot.loaders import grub_bls as bls
    from lowlat.boot.loaders import systemd_boot as sdboot

    # Where that one booted the system, a grub.cfg that is left over boots nothing.
    first = sdboot.find(root) if sdboot.booted(root) else None
    return first or bls.find(root) or grub.find(root) or sdboot.find(root)
