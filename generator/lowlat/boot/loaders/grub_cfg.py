# SPDX-License-Identifier: GPL-2.0-or-later
"""grub.cfg as grub-mkconfig writes it: its sections, its entries, its default. Text in, values out;
an expression that only GRUB can evaluate is left as written."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Optional

_ITEM = re.compile(
    r"\s*(menuentry|submenu)\s+(?P<title>'(?:[^']|'\\'')*'|\"[^\"]*\"|\S+)(.*)\{\s*$"
)
_ID = re.compile(r"(?:--id|\$\{?menuentry_id_option\}?)[ =]+('[^']*'|\"[^\"]*\"|[^\s{]+)")
_FUNCTION = re.compile(r"\s*function\s+\S+\s*\{\s*$")
CLOSE = re.compile(r"\s*\}\s*$")
_LINUX = re.compile(r"\s*linux(?:efi|16)?\s+(\S+)\s*(.*?)\s*$")
_SET = re.compile(r"\s*set (\w+)=(\"[^\"]*\"|'[^']*'|\S*)\s*$")
_WORD = re.compile(r"""(?:[^\s"'\\]|"(?:\\.|[^"\\])*"|'[^']*'|\\.)+""")


@dataclass(frozen=True)
class GrubEntry:
    """One menu entry: ``path`` are the ids and ``places`` the numbers that lead to it from the top,
    ``titles`` the texts in the menu; ``image`` and ``words`` are those of its linux line."""

    path: tuple[str, ...]
    places: tuple[int, ...]
    titles: tuple[str, ...]
    image: str = ""
    words: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return self.path[-1]

    @property
    def id_path(self) -> str:
        """The entry's name in GRUB_DEFAULT and next_entry."""
        return ">".join(self.path)


@dataclass(frozen=True)
class Menu:
    entries: tuple[GrubEntry, ...]
    variables: Mapping[str, str]
    default: str

    def find(self, name: str) -> Optional[GrubEntry]:
        """The entry that GRUB boots for this default. If the menu, or the submenu that the name
        leads to, has no entry of this name, that is the first one there (run_menu() and
        grub_menu_execute_entry() in grub-core/normal/menu.c)."""
        depth, inside = 0, self.entries
        while inside:
            wanted, _, name = name.partition(">")
            found = next((each for each in inside if wanted in _names(each, depth)), inside[0])
            depth += 1
            if len(found.places) == depth:
                return found
            inside = tuple(e for e in inside if e.places[:depth] == found.places[:depth])
        return None


def _names(entry: GrubEntry, depth: int) -> tuple[str, str, str]:
    """The names of the item at this depth that leads to the entry: number, id and title."""
    return (str(entry.places[depth]), entry.path[depth], entry.titles[depth])


def parse(text: str) -> Menu:
    """Read a grub.cfg."""
    return Menu(tuple(_entries(text)), variables(text), _default(text))


def _entries(text: str) -> Iterator[GrubEntry]:
    # The open blocks: a submenu or entry, or None for a function; and the items seen in each.
    stack: list[Optional[tuple[str, str, int]]] = []
    counts = [0]
    image, words = "", ()  # type: str, tuple[str, ...]
    for row in text.splitlines():
        item = _ITEM.match(row)
        if item:
            title = _unquoted(item["title"])
            found = _ID.search(item[3])
            stack.append((_unquoted(found[1]) if found else title, title, counts[-1]))
            counts[-1] += 1
            counts.append(0)
            kind, image, words = item[1], "", ()
        elif _FUNCTION.match(row):
            stack.append(None)
        elif CLOSE.match(row) and stack:
            top = stack.pop()
            if top is None:
                continue
            counts.pop()
            if kind == "menuentry":
                open_now = [level for level in (*stack, top) if level is not None]
                ids, titles, places = zip(*open_now)
                yield GrubEntry(ids, places, titles, image, words)
            kind = "submenu"
        elif stack and (linux := _LINUX.match(row)):
            image, words = linux[1], split(linux[2])


def split(text: str) -> tuple[str, ...]:
    """The words of a linux line as written: quotes and backslashes stay."""
    return tuple(_WORD.findall(text))


def variables(text: str) -> Mapping[str, str]:
    """The variables of ``set NAME=VALUE``; those with several values are left out."""
    found: dict[str, set[str]] = {}
    for row in text.splitlines():
        match = _SET.match(row)
        if match:
            found.setdefault(match[1], set()).add(_unquoted(match[2]))
    return {name: values.pop() for name, values in found.items() if len(values) == 1}


def _default(text: str) -> str:
    found = (_SET.match(row) for row in text.splitlines())
    values = [_unquoted(match[2]) for match in found if match and match[1] == "default"]
    fixed = [value for value in values if "next_entry" not in value]
    return fixed[-1] if fixed else "0"


def without_section(text: str, script: str) -> str:
    """The configuration without the section of this script in /etc/grub.d."""
    name = rf"\S*/{re.escape(script)}"
    section = rf"^\n### BEGIN {name} ###\n.*?^### END {name} ###\n"
    return re.sub(section, "", text, flags=re.MULTILINE | re.DOTALL)


def with_default_of(bare: str, other: str) -> str:
    """The configuration with the default that another one sets."""
    return bare.replace(f'set default="{_default(bare)}"', f'set default="{_default(other)}"')


def _unquoted(text: str) -> str:
    if text[:1] == "'" and text[-1:] == "'":
        return text[1:-1].replace("'\\''", "'")
    return text[1:-1] if text[:1] == '"' and text[-1:] == '"' and len(text) > 1 else text
