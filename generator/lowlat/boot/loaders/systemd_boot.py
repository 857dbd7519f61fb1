# SPDX-License-Identifier: GPL-2.0-or-later
"""systemd-boot: our entries lie where the distribution's are; bootctl sets what boots next and by
default, in variables of the firmware."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Sequence
from typing import Optional

from lowlat.base.errors import LowlatError, Refused
from lowlat.boot import hooks, programs
from lowlat.boot.loaders import bls_entries
from lowlat.boot.loaders.bls_entries import Folder, PlanOf
from lowlat.boot.loaders.interface import BootEntry, BootMenu, named
from lowlat.boot.loaders.saved_default import Default
from lowlat.boot.transaction import Transaction
from lowlat.host.root import Root
from lowlat.model.plan import Plan

#: The boot partition: the extended one before the EFI system partition.
_PLACES = ("/boot", "/efi", "/boot/efi")

#: The loader's variables (https://systemd.io/BOOT_LOADER_INTERFACE).
_VARIABLES = "/sys/firmware/efi/efivars"
_VENDOR = "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"


def find(root: Root) -> Optional[SystemdBoot]:
    for place in _PLACES:
        there = any(name.endswith(".conf") for name in root.names(f"{place}/loader/entries"))
        if there and programs.find(root, "bootctl"):
            return SystemdBoot(root, place)
    return None


def booted(root: Root) -> bool:
    """Whether the loader that booted this system says that it is systemd-boot."""
    return (_variable(root, "LoaderInfo") or "").startswith("systemd-boot")


def _variable(root: Root, name: str) -> Optional[str]:
    """What the firmware keeps for the loader: UTF-16 behind four bytes of attributes."""
    data = root.read_bytes(f"{_VARIABLES}/{name}-{_VENDOR}")
    return None if data is None else data[4:].decode("utf-16-le", "replace").strip("\0") or None


class SystemdBoot:
    name = "systemd-boot"

    def __init__(self, root: Root, place: str) -> None:
        self._root = root
        self._place = place
        self._folder = Folder(root, f"{place}/loader/entries", counted=True)
        self._default = Default(root, lambda: self._variable("Default"), self._set_default)

    def check(self) -> None:
        programs.check_writable(self._root, self._folder.path)
        if os.geteuid() != 0:
            raise Refused("bootctl sets what boots for root only", hint="run as root")

    def describe(self) -> BootMenu:
        entries = tuple(bls_entries.entry(snippet, {}) for snippet in self._folder.read())
        # The loader puts entries with a sort key before those without; ours come last in either.
        ordered = tuple(sorted(entries, key=lambda entry: entry.ours))
        default = self._match(ordered, self._chosen(self._variable("Default")))
        default = default or self._match(ordered, self._chosen(self._pattern()))
        default = default or next(iter(ordered), None)
        return BootMenu(ordered, default, self._match(ordered, self._variable("OneShot")))

    def _match(self, entries: Sequence[BootEntry], pattern: Optional[str]) -> Optional[BootEntry]:
        wanted = bls_entries.base_name(pattern or "")
        exact = named(entries, wanted)
        fitting = (
            each for each in entries if fnmatch.fnmatchcase(f"{each.name}.conf", pattern or "")
        )
        return exact or next(fitting, None)

    def _pattern(self) -> Optional[str]:
        """What loader.conf names as the default: an id or a pattern of ids."""
        text = self._root.read(f"{self._place}/loader/loader.conf") or ""
        found = re.search(r"^\s*default\s+(\S+)", text, re.MULTILINE)
        return None if found is None else found[1]

    def _chosen(self, pattern: Optional[str]) -> Optional[str]:
        """What "@saved" stands for: the entry last chosen in the menu, never a one shot."""
        return self._variable("LastBooted") if pattern == "@saved" else pattern

    def _variable(self, name: str) -> Optional[str]:
        return _variable(self._root, f"LoaderEntry{name}")

    def pending(self) -> Sequence[str]:
        return ()

    def write(self, change: Transaction, plans: Sequence[Plan]) -> BootMenu:
        hooks.write_plugin(change)
        before = self.describe().default
        if before is None:
            raise Refused(f"{self._folder.path}: there is no entry to stay the default")
        by_release = {str(plan.kernel): plan for plan in plans}
        self._folder.write(
            by_release.get, {}, lambda: self._folder.check(self.describe(), before, plans)
        )
        self._default.give_way(self.describe)
        return self.describe()

    def refresh(self, plan_of: PlanOf, follow: bool) -> str:
        """Called when a kernel came or went; with ``follow`` the newest tuned one is the default
        where one of ours was."""
        default = self.describe().default
        self._folder.write(plan_of, {})
        newest = next(self.describe().tuned(), None)
        if follow and newest and default and default.ours:
            self._default.change(newest.name)
        return self._default.give_way(self.describe)

    # --------------------------------------------------------------- choosing

    def check_one_shot(self) -> None:
        if not self._root.names(_VARIABLES):
            raise Refused(f"{_VARIABLES}: the firmware keeps no variables for the loader here")

    def one_shot(self, entry: Optional[BootEntry]) -> None:
        self._bootctl("set-oneshot", "" if entry is None else self._id(entry.name))

    def make_default(
        self, change: Transaction, entry: Optional[BootEntry], follow: bool
    ) -> BootMenu:
        return self._default.choose(entry, follow, self.describe)

    def remove(self) -> None:
        if bls_entries.is_ours(self._variable("OneShot") or ""):
            self.one_shot(None)
        self._default.restore()
        self._folder.clear()

    def _set_default(self, name: Optional[str]) -> None:
        self._bootctl("set-default", "" if name is None else self._id(name))

    def _id(self, name: str) -> str:
        return name if name.endswith(".conf") or name.startswith("@") else f"{name}.conf"

    def _bootctl(self, verb: str, ident: str) -> None:
        tool = programs.need(self._root, "bootctl")
        done = programs.run(self._root, [tool, verb, ident])
        if done.status != 0:
            raise LowlatError(f"bootctl {verb} {ident}: {done.last_words}")
