# SPDX-License-Identifier: GPL-2.0-or-later
"""GRUB with entry files (Fedora, RHEL): its environment block names the entry to boot."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.boot import places
from lowlat.boot.loaders import bls_entries, bls_menu, grub_cfg, grub_words
from lowlat.boot.loaders.bls_entries import Snippet
from lowlat.boot.loaders.entry_files import EntryFiles
from lowlat.boot.loaders.grub_config import check_sourced, check_unsigned
from lowlat.boot.loaders.grub_env import Environment
from lowlat.boot.loaders.interface import BootEntry, BootMenu
from lowlat.host.root import Root
from lowlat.model import cmdline

ENTRIES = "/boot/loader/entries"

#: What grub.cfg reads besides itself, in its own folder (util/grub.d/41_custom.in, 01_users.in).
_SOURCED = ("custom.cfg", "user.cfg")

#: Environment blocks, as 00_header names them.
_BLOCKS = ("grubenv", "env_block")

_NAME = re.compile(r"\$\{?(\w+)\}?")


def find(root: Root, folder: str) -> Optional[Bls]:
    """GRUB whose grub.cfg in this folder reads entry files, if there are any."""
    reads = "blscfg" in (root.read(f"{folder}/grub.cfg") or "")
    there = any(name.endswith(".conf") for name in root.names(ENTRIES))
    return Bls(root, folder) if reads and there else None


class Bls(EntryFiles):
    name = "GRUB with entry files"
    behind = bls_entries.BEHIND_IN_GRUB
    first_is_default = True

    def __init__(self, root: Root, folder: str) -> None:
        super().__init__(root, ENTRIES)
        self._folder = folder
        self._path = f"{folder}/grub.cfg"
        self._environment = Environment(root, f"{folder}/grubenv")
        self._rules = bls_menu.rules(root, folder)
        if self._rules == bls_menu.RHEL_8:
            self.before_version = bls_entries.OLDEST

    def check(self) -> None:
        for folder in (ENTRIES, self._folder):
            places.check_writable(self._root, folder)
        if "saved_entry" not in grub_cfg.parse(self._config()).default:
            hint = f"set GRUB_DEFAULT=saved in /etc/default/grub; grub2-mkconfig -o {self._path}"
            raise Refused(f"{self._path} does not boot the saved entry by default", hint=hint)

    def check_new(self) -> None:
        check_unsigned(self._root, self._folder)
        check_sourced(self._root, self._folder, self._config())
        for entry in self.describe().entries:
            unknown = next(filter(cmdline.is_open, entry.words), None) if entry.release else None
            if unknown is not None:
                why = f"{entry.name}: what {unknown} stands for is not known"
                raise Refused(why, hint=f"set it once in {self._path}, or write it out there")

    def describe(self) -> BootMenu:
        snippets, known = self._snippets(), self._known()
        entries = tuple(_passed(each, known) for each in snippets)
        default = self._chosen(snippets, entries, self._default() or "")
        following = self._chosen(snippets, entries, self._next()) if self._next() else None
        return BootMenu(entries, default, following)

    def _chosen(
        self, snippets: Sequence[Snippet], entries: Sequence[BootEntry], value: str
    ) -> Optional[BootEntry]:
        beside = bls_menu.Beside.of(self._config())
        other = beside.chosen(snippets, value, self._rules)
        if other:  # a number would mean another entry beside lowlat's
            kept = value and bls_menu.place(value, self._rules) is None
            return BootEntry(value if kept else other.id_path, "", (), foreign=True)
        found = bls_menu.chosen(snippets, value, self._rules, beside.before)
        return entries[snippets.index(found)] if found else None

    def _read(self) -> list[Snippet]:
        """GRUB shows entries with a kernel, and reads the first line of options alone."""
        return [_with_one_line(each) for each in super()._read() if each.values("linux")]

    def _ordered(self, snippets: Sequence[Snippet]) -> list[Snippet]:
        return bls_menu.ordered(snippets, self._rules)

    def _config(self) -> str:
        return self._root.read(self._path) or ""

    def _known(self) -> Mapping[str, str]:
        """GRUB's variables: grub.cfg's, overridden by those of the environment block. One that is
        named nowhere in what GRUB reads is empty, if all that GRUB reads is known."""
        read = (self._root.read(f"{self._folder}/{name}") or "" for name in _SOURCED)
        config = "\n".join((self._config(), *read))
        values = (value for each in self._read() for _, value in each.pairs)
        used = {name for value in values for name in _NAME.findall(value)}
        more = grub_cfg.reads_more(config, (*_SOURCED, *_BLOCKS))
        unset = {name: "" for name in used if not more and not re.search(rf"\b{name}\b", config)}
        return {**unset, **grub_cfg.variables(config), **self._environment.read()}

    def _follows(self, default: BootEntry, newest: BootEntry) -> bool:
        # The distribution makes a new kernel's stock entry the default.
        return default.ours or default.release == newest.release

    def _default(self) -> Optional[str]:
        return self._environment.read().get("saved_entry")

    def _set_default(self, name: Optional[str]) -> None:
        self._environment.set("saved_entry", name)

    def _check_default(self, name: str) -> None:
        self._environment.check_room("saved_entry", name)

    def _settings(self, name: str = "") -> Sequence[str]:
        return (self._environment.path,)

    def _unmake(self) -> None:
        if not self._environment.read():
            self._disk.remove(self._environment.path)

    def _next(self) -> str:
        return self._environment.next_entry()

    def _cancel(self) -> str:
        return self._environment.command("unset", "next_entry")

    def check_one_shot(self) -> None:
        check_sourced(self._root, self._folder, self._config())
        self._environment.check_one_shot(self._path, self._config())

    def one_shot(self, entry: Optional[BootEntry]) -> None:
        self._environment.set_next(entry)

    def remove(self) -> None:
        self._environment.tidy()
        super().remove()


def _passed(snippet: Snippet, known: Mapping[str, str]) -> BootEntry:
    """The entry with the words that the kernel gets: blscfg makes a linux line of the options."""
    entry = bls_entries.entry(snippet, known)
    words = grub_words.passed(snippet.options, known, hexadecimal=True)
    return replace(entry, words=words, unfilled=entry.words)


def _with_one_line(snippet: Snippet) -> Snippet:
    first = tuple(("options", value) for value in snippet.values("options")[:1])
    others = tuple(pair for pair in snippet.pairs if pair[0] != "options")
    return replace(snippet, pairs=(*others, *first))
