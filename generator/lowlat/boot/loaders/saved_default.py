# SPDX-License-Identifier: GPL-2.0-or-later
"""The default that was there before ours, for loaders that keep it outside of files: remembered
before it is changed, put back where nobody chose another one since."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Optional

from lowlat.base import files
from lowlat.base.errors import Refused
from lowlat.boot import entry_line
from lowlat.boot.disk import Disk
from lowlat.boot.loaders import bls_entries
from lowlat.boot.loaders.interface import BootEntry, BootMenu, named
from lowlat.boot.state_file import StateFile, lenient
from lowlat.host.root import Root


@dataclass(frozen=True)
class _Kept:
    """The setting before ours, and those that we made."""

    before: Optional[str]
    ours: tuple[str, ...]


_FILE = StateFile(
    f"{files.STATE}/default.json",
    "lowlat.default/1",
    lenient(_Kept),
    "set the default by hand, then remove it",
    0o600,
    frozen=True,
)


class Default:
    """``get`` and ``set`` read and change the loader's own setting; None is no setting."""

    def __init__(
        self, root: Root, get: Callable[[], Optional[str]], set: Callable[[Optional[str]], None]
    ) -> None:
        self._disk = Disk(root)
        self._get = get
        self._set = set

    def change(self, name: str) -> None:
        """Make this entry the default."""
        now, known = self._get(), _FILE.read(self._disk)
        if now == name:
            return
        known = known or _Kept(now, ())
        # Until this is done, what we set before is there: that stays known as ours.
        kept = _Kept(known.before, (name, *(each for each in known.ours if each == now)))
        _FILE.write(self._disk, kept)
        self._set(name)

    def choose(
        self, entry: Optional[BootEntry], follow: bool, describe: Callable[[], BootMenu]
    ) -> BootMenu:
        """Make ``entry`` the default, with ``follow`` the newest tuned one; None puts the first one
        back. Raises Refused where the loader then boots another."""
        if entry is None:
            self.restore()
            return describe()
        boot, before = describe(), self._get()
        wanted = next(boot.tuned(), entry) if follow else entry
        if wanted not in boot.entries:
            raise Refused(f"{wanted.name} is not there any more", hint="'lowlat-gen status'")
        self.change(wanted.name)
        after = describe()
        if after.default != wanted:
            self._set(before)
            raise Refused(f"the loader did not take {wanted.name} for its default")
        return after

    def give_way(self, describe: Callable[[], BootMenu]) -> str:
        """Where the default is one of ours that is gone, make its kernel's stock entry the default;
        where that is gone too, put the first one back. Returns what to say about it."""
        now, boot = bls_entries.base_name(self._get() or ""), describe()
        if not bls_entries.is_ours(now) or named(boot.entries, now):
            return ""
        stock = boot.stock(entry_line.release_of(now))
        if stock is None:
            self.restore()
        else:
            self.change(stock.name)
        default = describe().default
        return f"{now} was promoted and is gone: {default.id if default else 'none'} is the default"

    def restore(self) -> None:
        """Put the first one back, unless somebody else chose another since; twice is once."""
        known = _FILE.read(self._disk)
        if known is not None:
            now = self._get()
            ours = map(bls_entries.base_name, known.ours)
            if bls_entries.base_name(now or "") in ours or bls_entries.is_ours(now or ""):
                self._set(known.before)
        self._disk.unstage(_FILE.path)
        self._disk.remove(_FILE.path)
