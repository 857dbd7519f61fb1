# SPDX-License-Identifier: GPL-2.0-or-later
"""GRUB with entry files (Fedora, RHEL): its environment block names the entry to boot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.boot import programs
from lowlat.boot.loaders import bls_entries, grub_cfg
from lowlat.boot.loaders.entry_files import EntryFiles
from lowlat.boot.loaders.grub_env import Environment
from lowlat.boot.loaders.interface import BootEntry, BootMenu, named
from lowlat.host.root import Root

ENTRIES = "/boot/loader/entries"
_CONFIG = "/boot/grub2/grub.cfg"


def find(root: Root) -> Optional[Bls]:
    reads = "blscfg" in (root.read(_CONFIG) or "")
    there = any(name.endswith(".conf") for name in root.names(ENTRIES))
    return Bls(root) if reads and there else None


class Bls(EntryFiles):
    name = "GRUB with entry files"
    behind = bls_entries.BEHIND_IN_GRUB
    first_is_default = True

    def __init__(self, root: Root) -> None:
        super().__init__(root, ENTRIES)
        self._environment = Environment(root, "/boot/grub2/grubenv")

    def check(self) -> None:
        for folder in (ENTRIES, "/boot/grub2"):
            programs.check_writable(self._root, folder)
        if "saved_entry" not in grub_cfg.parse(self._config()).default:
            hint = "set GRUB_DEFAULT=saved in /etc/default/grub and run grub2-mkconfig"
            raise Refused(f"{_CONFIG} does not boot the saved entry by default", hint=hint)

    def describe(self) -> BootMenu:
        known = self._known()
        entries = tuple(bls_entries.entry(each, known) for each in self._snippets())
        default = named(entries, self._default() or "") or next(iter(entries), None)
        return BootMenu(entries, default, named(entries, self._next()))

    def _config(self) -> str:
        return self._root.read(_CONFIG) or ""

    def _known(self) -> Mapping[str, str]:
        """GRUB's variables: grub.cfg's, overridden by those of the environment block."""
        return {**grub_cfg.variables(self._config()), **self._environment.read()}

    def _follows(self, default: BootEntry, newest: BootEntry) -> bool:
        # The distribution makes a new kernel's stock entry the default.
        return default.ours or default.release == newest.release

    def _default(self) -> Optional[str]:
        return self._environment.read().get("saved_entry")

    def _set_default(self, name: Optional[str]) -> None:
        self._environment.set("saved_entry", name)

    def _next(self) -> str:
        return self._environment.read().get("next_entry", "")

    def check_one_shot(self) -> None:
        self._environment.check_one_shot(_CONFIG, self._config())

    def one_shot(self, entry: Optional[BootEntry]) -> None:
        self._environment.set_next(entry)

    def remove(self) -> None:
        self._environment.tidy()
        super().remove()
