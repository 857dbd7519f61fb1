# SPDX-License-Identifier: GPL-2.0-or-later
"""grub.cfg as grub-mkconfig writes it: its sections, its entries, its default. Text in, values out;
an expression that only GRUB can evaluate is left as written."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Optional

from lowlat.boot.loaders.grub_menu import GrubEntry, Menu

_QUOTED = r"'(?:[^']|'\\'')*'"
_ITEM = re.compile(rf"\s*(menuentry|submenu)\s+(?P<title>{_QUOTED}|\"[^\"]*\"|\S+)(.*)\{{\s*$")
_ID = re.compile(r"(?:--id|\$\{?menuentry_id_option\}?)[ =]+('[^']*'|\"[^\"]*\"|[^\s{]+)")
_FUNCTION = re.compile(r"\s*function\s+\S+\s*\{\s*$")
_SECTION = re.compile(r"### (?:BEGIN \S*/(\S+)|END \S+) ###$")
CLOSE = re.compile(r"\s*\}\s*$")
LINUX = re.compile(r"(\s*linux(?:efi|16)?\s+)(\S.*?)\s*$")
_INITRD = re.compile(r"(\s*initrd(?:efi|16)?\s+)(\S.*?)\s*$")
_SET = re.compile(r"\s*set (\w+)=(\"[^\"]*\"|'[^']*'|\S*)\s*$")
_DEFAULT = re.compile(r"\s*(?:set )?default=(\"[^\"]*\"|'[^']*'|\S*)\s*$")

#: What TuneD's script writes while TuneD adds nothing to the line.
_EMPTY_TUNED = re.compile(
    r'^\n### BEGIN (\S*/00_tuned) ###\n(?:set tuned_\w+=""\n)+### END \1 ###\n', re.MULTILINE
)

#: An "if" over several rows; its last row; and where each branch begins.
_IF = re.compile(r"\s*if\b(?!.*\bfi;?\s*$)")
_FI = re.compile(r"\s*fi\b")
_BRANCH = re.compile(r"\s*(?:elif|else|fi)\b")

#: 10_linux replaces the titles of GRUB before 2.00.
_CORRECTION = re.compile(rf'if \[ "x\$default" = ({_QUOTED}) \]; then default=({_QUOTED}); fi;')


def parse(text: str) -> Menu:
    """Read a grub.cfg."""
    default, others = _defaults(text)
    pairs = tuple((_unquoted(old), _unquoted(new)) for old, new in _CORRECTION.findall(text))
    return Menu(tuple(_entries(text)), variables(text), default, others, pairs)


def _entries(text: str) -> Iterator[GrubEntry]:
    # The open blocks: a submenu or entry, or None for a function; and the items seen in each.
    stack: list[Optional[tuple[str, str, int]]] = []
    counts = [0]
    script, kind = "", ""
    rows: list[str] = []
    for row in text.splitlines():
        item = _ITEM.match(row)
        section = _SECTION.match(row)
        if section:
            script = section[1] or ""
        elif item:
            title = _unquoted(item["title"])
            found = _ID.search(item[3])
            stack.append((_unquoted(found[1]) if found else title, title, counts[-1]))
            counts[-1] += 1
            counts.append(0)
            kind, rows = item[1], []
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
                kept = with_initrd(rows)
                line, initrd = (next(_lines(kept, each), "") for each in (LINUX, _INITRD))
                lines = tuple(_lines(rows, LINUX))
                yield GrubEntry(ids, places, titles, script, line, lines, initrd)
            kind = "submenu"
        else:
            rows.append(row)


def _lines(rows: Sequence[str], command: re.Pattern[str]) -> Iterator[str]:
    return (found[2] for found in map(command.match, rows) if found)


def with_initrd(rows: Sequence[str]) -> list[str]:
    """The rows of an entry. Where an "if" has several branches with a kernel, only the one with an
    initrd is left: on Ubuntu's cloud images (GRUB_FORCE_PARTUUID) a boot without it comes first,
    and if that fails the next boot takes the other branch."""
    kept: list[str] = []
    branches: list[list[str]] = []
    depth = 0
    for row in rows:
        depth += bool(_IF.match(row))
        if not depth:
            kept.append(row)
            continue
        if depth == 1 and (_IF.match(row) or _BRANCH.match(row)):
            branches.append([])
        branches[-1].append(row)
        if _FI.match(row):
            depth -= 1
            if not depth:
                kept += _chosen(branches)
                branches = []
    return kept


def _chosen(branches: Sequence[Sequence[str]]) -> Iterator[str]:
    booting = [branch for branch in branches if any(map(LINUX.match, branch))]
    complete = [branch for branch in booting if any(map(_INITRD.match, branch))]
    if len(booting) > 1 and len(complete) == 1:
        return (row for row in complete[0][1:] if "GRUB_FORCE_PARTUUID" not in row)
    return (row for branch in branches for row in branch)


def variables(text: str) -> Mapping[str, str]:
    """The variables of ``set NAME=VALUE``; those with several values are left out."""
    found: dict[str, set[str]] = {}
    for row in text.splitlines():
        match = _SET.match(row)
        if match:
            found.setdefault(match[1], set()).add(_unquoted(match[2]))
    return {name: values.pop() for name, values in found.items() if len(values) == 1}


def _defaults(text: str) -> tuple[str, tuple[str, ...]]:
    """The default that 00_header sets where nothing else is set for one boot, unless a later script
    replaces it; and the defaults that scripts set under conditions of their own."""
    default = "0"
    others: list[str] = []
    for _, conditions, value in _set_defaults(text):
        if "next_entry" in value:
            continue
        if all("next_entry" in condition for condition in conditions):
            default = value
        else:
            others.append(value)
    return default, tuple(others)


def _set_defaults(text: str) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Each row that sets the default: its script, the conditions around it, the value."""
    script = ""
    conditions: list[str] = []
    for row in _outside(text):
        section, found = _SECTION.match(row), _DEFAULT.match(row)
        if section:
            script = section[1] or ""
        elif _IF.match(row):
            conditions.append(row)
        elif row.lstrip().startswith("elif") and conditions:
            conditions[-1] = row
        elif _FI.match(row) and conditions:
            conditions.pop()
        elif found:
            yield script, tuple(conditions), _unquoted(found[1])


def reads_more(text: str, known: Sequence[str]) -> str:
    """A row, outside of entries, that has GRUB read another file than those of these names; "" for
    none."""
    reads = re.compile(r"\s*(?:source|\.|configfile|load_env\s+(?:-f|--file)[ =])\s*(\S+)")
    for row in _outside(text):
        found = reads.match(row)
        if found and re.split(r"[/{}$]", found[1].strip("\"'};"))[-1] not in known:
            return row.strip()
    return ""


def sets_default_again(text: str, known: Sequence[str]) -> str:
    """The script of /etc/grub.d that sets the default after 00_header chose the entry for one boot;
    "" for none. What it sets by one of these ``known`` variables does not count."""
    chosen = False
    for script, conditions, value in _set_defaults(text):
        by_known = any(name in condition for condition in conditions for name in known)
        if chosen and not by_known:
            return script or "a person"
        chosen = chosen or "next_entry" in value
    return ""


def sets_default(text: str) -> bool:
    """Whether a text that GRUB reads sets the default, outside of its entries."""
    return any(map(_DEFAULT.match, _outside(text)))


def _outside(text: str) -> Iterator[str]:
    """The rows outside of entries, submenus and functions."""
    depth = 0
    for row in text.splitlines():
        if _ITEM.match(row) or _FUNCTION.match(row):
            depth += 1
        elif depth and CLOSE.match(row):
            depth -= 1
        elif not depth:
            yield row


def without_section(text: str, script: str) -> str:
    """The configuration without the section of this script in /etc/grub.d."""
    name = rf"\S*/{re.escape(script)}"
    section = rf"^\n### BEGIN {name} ###\n.*?^### END {name} ###\n"
    return re.sub(section, "", text, flags=re.MULTILINE | re.DOTALL)


def without_empty_tuned(text: str) -> str:
    """The configuration without the section of TuneD's script, if that sets empty variables."""
    return _EMPTY_TUNED.sub("", text)


def with_default_of(bare: str, other: str) -> str:
    """The configuration with the default that another one sets."""
    (old, _), (new, _) = _defaults(bare), _defaults(other)
    return bare.replace(f'set default="{old}"', f'set default="{new}"')


def _unquoted(text: str) -> str:
    if text[:1] == "'" and text[-1:] == "'":
        return text[1:-1].replace("'\\''", "'")
    return text[1:-1] if text[:1] == '"' and text[-1:] == '"' and len(text) > 1 else text
