# SPDX-License-Identifier: GPL-2.0-or-later
"""GRUB's menu, and which of its entries a default means."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Optional

from lowlat.boot.loaders import grub_words

#: grub_strtoul() with base 0, which stops at the first other character.
_NUMBER = re.compile(r"\s*(?:0x(?P<hex>[0-9a-f]+)|0(?P<octal>[0-7]+)|(?P<decimal>\d+))", re.I)
_BASES = {"hex": 16, "octal": 8, "decimal": 10}

_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


@dataclass(frozen=True)
class GrubEntry:
    """One menu entry: ``path`` are the ids and ``places`` the numbers that lead to it from the top,
    ``titles`` the texts in the menu; ``script`` of /etc/grub.d wrote it; ``lines`` are all its
    linux lines, the image first, and ``line`` is the one that boots it with its ``initrd``."""

    path: tuple[str, ...]
    places: tuple[int, ...]
    titles: tuple[str, ...]
    script: str = ""
    line: str = ""
    lines: tuple[str, ...] = ()
    initrd: str = ""

    @property
    def image(self) -> str:
        """The path of the kernel; "" without a linux line."""
        first = "".join(grub_words.split(self.line)[:1])
        return "".join(grub_words.passed(first, {}))

    @property
    def text(self) -> str:
        """The words behind the image as written."""
        return " ".join(grub_words.split(self.line)[1:])

    @property
    def id(self) -> str:
        return self.path[-1]

    @property
    def id_path(self) -> str:
        """The entry's name in GRUB_DEFAULT and next_entry."""
        return ">".join(part.replace(">", ">>") for part in self.path)


@dataclass(frozen=True)
class Menu:
    """``default`` is the default as grub.cfg sets it, ``others`` are values that it sets under
    conditions of other scripts; ``corrections`` are pairs of 10_linux that replace old titles."""

    entries: tuple[GrubEntry, ...]
    variables: Mapping[str, str]
    default: str = "0"
    others: tuple[str, ...] = ()
    corrections: tuple[tuple[str, str], ...] = ()

    def filled(self, default: str, kept: Mapping[str, str]) -> Optional[str]:
        """A default with GRUB's variables filled in, ``kept`` from the environment block; None if
        it holds one that only GRUB knows."""
        known = {**self.variables, "saved_entry": "", **kept}
        names = [found[1] or found[2] for found in _VARIABLE.finditer(default)]
        if not known.keys() >= set(names):
            return None
        text = _VARIABLE.sub(lambda found: known[found[1] or found[2]], default)
        return next((new for old, new in self.corrections if f"x{text}" == old), text)

    def find(self, name: str) -> Optional[GrubEntry]:
        """The entry that GRUB boots for this default: a number, an id or a title in each menu on
        the way. Without such an entry it is the first one there (get_entry_number(), run_menu() and
        grub_menu_execute_entry() in grub-core/normal/menu.c)."""
        depth, inside = 0, self.entries
        while inside:
            first, name = _parted(name)
            found = next((each for each in inside if _leads(each, depth, first)), inside[0])
            depth += 1
            if len(found.places) == depth:
                return found
            inside = tuple(e for e in inside if e.places[:depth] == found.places[:depth])
        return None


def _parted(name: str) -> tuple[str, str]:
    """The first part of a default and the rest; ">>" is a ">" in a name."""
    first, _, rest = name.replace(">>", "\0").partition(">")
    return first.replace("\0", ">"), rest.replace("\0", ">>")


def _leads(entry: GrubEntry, depth: int, name: str) -> bool:
    """Whether the item at this depth that leads to the entry has this number, id or title."""
    place = number(name)
    if place is not None:
        return entry.places[depth] == place
    return name in (entry.path[depth], entry.titles[depth])


def number(name: str) -> Optional[int]:
    """The place in the menu that a default begins with; None if it begins with a name."""
    found = _NUMBER.match(name)
    kind = found.lastgroup if found else None
    return int(found[kind], _BASES[kind]) if found and kind else None
