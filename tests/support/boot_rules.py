# SPDX-License-Identifier: GPL-2.0-or-later
"""What boot loaders boot, by their own rules and without lowlat's code: GRUB with entry files
(blscfg.c of github.com/rhboot/grub2) and systemd-boot (boot.c; loader.conf(5)); and the menu of
grub.cfg, which grub_script.py boots."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from typing import Optional, Union


@dataclass
class MenuItem:
    """An entry or a submenu of grub.cfg; ``lines`` are its linux rows."""

    title: str
    id: str
    items: list[MenuItem] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)


def grub_menu(config: str) -> list[MenuItem]:
    """The menu of grub.cfg, as 10_linux and its kind write it: one brace a row ends a block."""
    top = MenuItem("", "")
    opened: list[Optional[MenuItem]] = [top]
    for row in map(str.strip, config.splitlines()):
        if row.startswith(("menuentry ", "submenu ")):
            words = shlex.split(row)
            ids = [words[at + 1] for at, word in enumerate(words) if word in _ID_OPTIONS]
            opened.append(MenuItem(words[1], ids[0] if ids else words[1]))
            _last(opened[:-1]).items.append(_last(opened))
        elif re.match(r"linux(16|efi)?\s", row):
            _last(opened).lines.append(row.split(None, 1)[1])
        elif row.startswith("function "):
            opened.append(None)
        elif row == "}":
            opened.pop()
    return top.items


_ID_OPTIONS = ("--id", "$menuentry_id_option", "${menuentry_id_option}")


def _last(opened: Sequence[Optional[MenuItem]]) -> MenuItem:
    return next(item for item in reversed(opened) if item is not None)


def all_entries(menu: Iterable[MenuItem]) -> dict[str, MenuItem]:
    """Every entry by its id, without the submenus."""
    found: dict[str, MenuItem] = {}
    for item in menu:
        found.update(all_entries(item.items) if item.items else {item.id: item})
    return found


def blscfg_boots(entries: Mapping[str, Mapping[str, str]], block: Mapping[str, str]) -> str:
    """The entry file that GRUB boots; ``entries`` has the keys of each by its name without
    ".conf"."""
    names = grub_order(entries)
    chosen = block.get("next_entry") or block.get("saved_entry", "")
    return names[_place([(name, entries[name].get("title", "")) for name in names], chosen)]


def _place(names: Sequence[tuple[str, str]], chosen: str) -> int:
    """get_entry_number(): a number, or else an id or a title; the first entry for any other."""
    if chosen.isdigit():
        return int(chosen) if int(chosen) < len(names) else 0
    return next((at for at, pair in enumerate(names) if chosen in pair), 0)


def grub_order(names: Iterable[str]) -> list[str]:
    """The names of entry files, without ".conf", in the order of GRUB's menu: the greatest first,
    by name, version and release, which the last two hyphens separate."""

    def compare(one: str, other: str) -> int:
        parts = zip(_parts(one), _parts(other))
        return next((rank for pair in parts if (rank := rpm_compare(*pair))), 0)

    return sorted(names, key=functools.cmp_to_key(compare), reverse=True)


def _parts(name: str) -> tuple[str, str, str]:
    head, _, release = name.rpartition("-")
    stem, _, version = head.rpartition("-")
    return stem, version, release


def rpm_compare(one: str, other: str) -> int:
    """rpmvercmp(): above 0 if the first is newer."""
    left, right = map(_segments, (one, other))
    for mine, its in zip(left, right):
        if mine != its:
            return _rank(mine, its)
    common, sign = min(len(left), len(right)), 1 if len(left) > len(right) else -1
    rest = (left[common:] or right[common:])[:1]
    return 0 if not rest else -sign if rest == ["~"] else sign


def _segments(text: str) -> list[Union[int, str]]:
    found = re.findall(r"\d+|[A-Za-z]+|~", text)
    return [int(each) if each.isdigit() else each for each in found]


def _rank(mine: Union[int, str], its: Union[int, str]) -> int:
    if "~" in (mine, its):
        return -1 if mine == "~" else 1
    if isinstance(mine, int) is not isinstance(its, int):
        return 1 if isinstance(mine, int) else -1
    return 1 if mine > its else -1  # type: ignore[operator]


def systemd_boots(
    entries: Mapping[str, Mapping[str, str]], config: str, variable: Mapping[str, str]
) -> str:
    """The entry of systemd-boot; ``entries`` as for blscfg_boots(), ``variable`` are the loader's
    variables by their names."""
    ids = {re.sub(r"\+\d+(-\d+)?$", "", name) + ".conf": name for name in entries}
    set_by = re.search(r"^default\s+(\S+)", config, re.MULTILINE)
    wanted = [variable.get("OneShot"), variable.get("Default"), set_by[1] if set_by else None]
    for pattern in filter(None, wanted):
        chosen = variable.get("LastBooted", "") if pattern == "@saved" else pattern
        # The pattern of old releases lacks the suffix.
        fits = [
            ids[each] for each in ids if fnmatch(each, chosen) or fnmatch(each, f"{chosen}.conf")
        ]
        if fits:
            return max(fits)
    newest = grub_order(f"x-{keys.get('version', '')}" for keys in entries.values())
    return min(
        entries,
        key=lambda name: (
            entries[name].get("sort-key", "~"),
            newest.index(f"x-{entries[name].get('version', '')}"),
        ),
    )
