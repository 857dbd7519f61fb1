# SPDX-License-Identifier: GPL-2.0-or-later
"""GRUB's menu of entry files: their order, and the entry that a setting means. The vendors' blscfg
and that of GRUB 2.14 differ in both."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from typing import Optional

from lowlat.boot.loaders import grub_cfg, version_order
from lowlat.boot.loaders.bls_entries import Snippet
from lowlat.boot.loaders.grub_menu import GrubEntry, Menu, number
from lowlat.host.root import Root, glob

#: blscfg.c and menu.c of Fedora, RHEL and openSUSE (github.com/rhboot/grub2); in RHEL 8 the order
#: is that of the versions in the files.
VENDOR = "vendor"
RHEL_8 = "rhel-8"
#: blsuki.c of GRUB 2.14.
UPSTREAM = "upstream"

#: Where grub.cfg has the entry files' entries made.
_READS = re.compile(r"^\s*blscfg\b", re.MULTILINE)

#: What grub_strtoul() reads to the end: a number to base 16, 8 or 10.
_WHOLE = re.compile(r"\s*(?:0x[0-9a-f]+|0[0-7]*|[1-9][0-9]*)", re.IGNORECASE)


def rules(root: Root, folder: str) -> str:
    """Whose blscfg this GRUB has; ``folder`` holds its modules. Where none is there the image has
    it built in, as the vendors' signed ones have."""
    if "platform:el8" in (root.read("/etc/os-release") or ""):
        return RHEL_8
    own, new = (
        [path for at in (folder, "/usr/lib/grub") for path in glob(root, f"{at}/*/{name}.mod")]
        for name in ("blscfg", "blsuki")
    )
    return UPSTREAM if new and not own else VENDOR


def ordered(snippets: Sequence[Snippet], kind: str) -> list[Snippet]:
    """The entries in the order of the menu: bls_add_entry(), or blsuki_add_entry()."""
    by_version = kind == RHEL_8 and all(each.values("version") for each in snippets)

    def order(a: Snippet, b: Snippet) -> int:
        if kind == UPSTREAM:
            return version_order.file_name(a.file, b.file)
        versions = (each.values("version")[0] for each in (a, b)) if by_version else ("", "")
        return version_order.package_version(*versions) or version_order.package(a.file, b.file)

    return sorted(snippets, key=cmp_to_key(order), reverse=True)


def chosen(
    snippets: Sequence[Snippet], value: str, kind: str, before: int = 0
) -> Optional[Snippet]:
    """The entry that GRUB boots for this value of ``default``: the first one if the value means
    none (get_entry_number() in grub-core/normal/menu.c). The vendors' GRUB compares ids, then
    titles, then takes a number. GRUB's own takes what begins with a number for one. ``before`` is
    the number of other entries that stand before these."""
    named, at = _named(snippets, value), place(value, kind)
    if at is not None and (kind == UPSTREAM or not named):
        named = list(snippets)[max(at - before, 0) :]
    return next(iter((*named, *snippets)), None)


def _named(snippets: Sequence[Snippet], value: str) -> list[Snippet]:
    by_id = [each for each in snippets if each.name == value]
    return by_id + [each for each in snippets if value in each.values("title")[:1]]


def place(value: str, kind: str) -> Optional[int]:
    """The number that a value is, or begins with."""
    return number(value) if kind == UPSTREAM or _WHOLE.fullmatch(value) else None


@dataclass(frozen=True)
class Beside:
    """The entries of grub.cfg itself, a person's or another system's: those of scripts before
    blscfg, ``before`` in number, stand before the entry files, the others behind."""

    menu: Menu
    before: int

    @classmethod
    def of(cls, config: str) -> "Beside":
        head = grub_cfg.parse(_READS.split(config, maxsplit=1)[0])
        return cls(grub_cfg.parse(config), len({one.places[0] for one in head.entries}))

    def chosen(self, snippets: Sequence[Snippet], value: str, kind: str) -> Optional[GrubEntry]:
        """The entry that GRUB boots for this value; None if that is an entry file."""
        at = place(value, kind)
        if _named(snippets, value) and (at is None or kind != UPSTREAM):
            return None
        if at is not None and self.before <= at < self.before + len(snippets):
            return None
        if at is not None and at >= self.before:
            at -= len(snippets)
        name = value.partition(">")[0]
        if any(
            one.places[0] == at or name in (one.path[0], one.titles[0]) for one in self.menu.entries
        ):
            return self.menu.find(value if at is None else str(at))
        return self.menu.entries[0] if self.before else None
