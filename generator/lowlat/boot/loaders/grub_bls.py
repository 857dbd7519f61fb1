# SPDX-License-Identifier: GPL-2.0-or-later
"""GRUB that reads entry files (Fedora, RHEL): ours lie beside the distribution's, and what boots
is told in GRUB's environment block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Optional

from lowlat.base.errors import LowlatError, Refused
from lowlat.boot import hooks, programs
from lowlat.boot.loaders import bls_entries, grub_cfg
from lowlat.boot.loaders.bls_entries import Folder, PlanOf
from lowlat.boot.loaders.grub_env import Environment
from lowlat.boot.loaders.interface import BootEntry, BootMenu, named
from lowlat.boot.loaders.saved_default import Default
from lowlat.boot.transaction import Transaction
from lowlat.host.root import Root
from lowlat.model.plan import Plan

ENTRIES = "/boot/loader/entries"
_CONFIG = "/boot/grub2/grub.cfg"


def find(root: Root) -> Optional[Bls]:
    reads = "blscfg" in (root.read(_CONFIG) or "")
    there = any(name.endswith(".conf") for name in root.names(ENTRIES))
    return Bls(root) if reads and there else None


class Bls:
    name = "GRUB with entry files"

    def __init__(self, root: Root) -> None:
        self._root = root
        self._folder = Folder(root, ENTRIES, behind=bls_entries.BEHIND_IN_GRUB)
        self._environment = Environment(root, "/boot/grub2/grubenv")
        self._default = Default(root, self._saved, self._save)

    def _saved(self) -> Optional[str]:
        return self._environment.read().get("saved_entry")

    def _save(self, name: Optional[str]) -> None:
        self._environment.set("saved_entry", name)

    def check(self) -> None:
        for folder in (ENTRIES, "/boot/grub2"):
            programs.check_writable(self._root, folder)
        if "saved_entry" not in grub_cfg.parse(self._config()).default:
            raise Refused(
                f"{_CONFIG} does not boot the saved entry by default",
                hint="set GRUB_DEFAULT=saved in /etc/default/grub and run grub2-mkconfig",
            )

    def _config(self) -> str:
        return self._root.read(_CONFIG) or ""

    def _known(self) -> Mapping[str, str]:
        """GRUB's variables: grub.cfg's, and over them those of the environment block."""
        return {**grub_cfg.variables(self._config()), **self._environment.read()}

    def describe(self) -> BootMenu:
        known, kept = self._known(), self._environment.read()
        entries = tuple(bls_entries.entry(snippet, known) for snippet in self._folder.read())
        default = named(entries, kept.get("saved_entry", "")) or next(iter(entries), None)
        return BootMenu(entries, default, named(entries, kept.get("next_entry", "")))

    def pending(self) -> Sequence[str]:
        return ()

    def write(self, change: Transaction, plans: Sequence[Plan]) -> BootMenu:
        hooks.write_plugin(change)
        before = self.describe().default
        if before is None:
            raise Refused(f"{ENTRIES}: there is no entry to stay the default")
        pinned = not before.ours and self._saved() != before.name
        if pinned:
            # Only the first of the list so far: by its id it stays that.
            self._default.change(before.name)
        by_release = {str(plan.kernel): plan for plan in plans}
        try:
            self._folder.write(
                by_release.get,
                self._known(),
                lambda: self._folder.check(self.describe(), before, plans),
            )
        except LowlatError:
            if pinned:
                self._default.restore()
            raise
        self._default.give_way(self.describe)
        return self.describe()

    def refresh(self, plan_of: PlanOf, follow: bool) -> str:
        """Called when a kernel came or went; with ``follow`` the newest tuned one is the default
        where one of ours was, or that kernel's stock one is."""
        default = self.describe().default
        self._folder.write(plan_of, self._known())
        newest = next(self.describe().tuned(), None)
        if follow and newest and default and (default.ours or default.release == newest.release):
            self._default.change(newest.name)
        return self._default.give_way(self.describe)

    # --------------------------------------------------------------- choosing

    def check_one_shot(self) -> None:
        if "save_env next_entry" not in self._config():
            raise Refused(f"{_CONFIG} does not clear a one-shot entry")
        self._environment.check_clearable()

    def one_shot(self, entry: Optional[BootEntry]) -> None:
        self._environment.set("next_entry", None if entry is None else entry.name)

    def make_default(
        self, change: Transaction, entry: Optional[BootEntry], follow: bool
    ) -> BootMenu:
        return self._default.choose(entry, follow, self.describe)

    def remove(self) -> None:
        self._environment.tidy()
        if bls_entries.is_ours(self._environment.read().get("next_entry", "")):
            self._environment.set("next_entry", None)
        self._default.restore()
        self._folder.clear()
