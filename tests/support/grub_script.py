# SPDX-License-Identifier: GPL-2.0-or-later
"""GRUB as an oracle, without lowlat's code: what its lexer and its loader make of a linux line, and
what a grub.cfg boots with an environment block, run as a shell script."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

from support.waits import GUARD_S


def passed(text: str) -> str:
    """The line that the kernel gets for the words of a linux line without variables, by
    grub-core/script/yylex.l and grub_create_loader_cmdline() in grub-core/lib/cmdline.c."""
    return loader_line(_arguments(text))


def loader_line(arguments: Iterable[str]) -> str:
    """The line that GRUB's loader makes of the arguments of ``linux``."""
    return " ".join(map(_escaped, arguments))


def _arguments(text: str) -> Iterator[str]:
    argument: Optional[str] = None
    at = 0
    while at < len(text):
        char = text[at]
        if char == " ":
            if argument is not None:
                yield argument
            argument, at = None, at + 1
            continue
        argument = argument or ""
        if char == "'":
            end = text.index("'", at + 1)
            argument, at = argument + text[at + 1 : end], end + 1
        elif char == '"':
            at += 1
            while text[at] != '"':
                at += text[at] == "\\" and text[at + 1] in '\\"$'
                argument, at = argument + text[at], at + 1
            at += 1
        else:
            at += char == "\\"
            argument, at = argument + text[at], at + 1
    if argument is not None:
        yield argument


def _escaped(argument: str) -> str:
    line = "".join(f"\\{char}" if char in "\\'\"" else char for char in argument)
    return f'"{line}"' if " " in line else line


#: GRUB's own variables, and its commands that decide nothing.
_PRELUDE = r"""
feature_menuentry_id=y feature_timeout_style=y feature_all_video_module=y
feature_default_font_path=y grub_platform=pc
for name in insmod search loadfont terminal_input terminal_output play background_image sleep \
	chainloader fwsetup initrd; do
	eval "$name() { :; }"
done
hwmatch() { return 1; }
decrement() { eval "$1=\$(($1 - 1))"; }
load_env() { . "$prefix/grubenv"; }
save_env() { for name; do eval "printf '%s=%s\n' $name \"\$$name\"" >>"$prefix/saved"; done; }
linux() { shift; printf '%s\n' "$*" >>"$prefix/line"; }
initrd() { echo >>"$prefix/initrd"; }
"""

_ITEM = re.compile(
    r"\s*(menuentry|submenu) ('[^']*'|\"[^\"]*\")(?:.*(?:--id|id_option\}?) '?([^' ]*)'?)?.*\{$"
)


@dataclass
class Item:
    """An entry or a submenu: its title, its id, the number of an entry's function."""

    title: str
    ident: str
    number: int = 0
    inside: list[Item] = field(default_factory=list)


@dataclass(frozen=True)
class Boot:
    """What one boot did: the default, the path of ids that led to the entry, the kernel's line,
    whether it had an initrd, and the environment block that it left."""

    default: str
    path: tuple[str, ...]
    line: str
    initrd: bool
    left: Mapping[str, str]


def boot(config: str, kept: Mapping[str, str], folder: Path) -> Boot:
    """Boot a grub.cfg with these variables in the environment block, once."""
    script, menu = _translated(config)
    for name in ("saved", "line", "initrd"):
        (folder / name).write_text("")
    (folder / "grubenv").write_text("".join(f"{n}='{v}'\n" for n, v in kept.items()) or "\n")
    default = _run(folder, f'{script}\nprintf "%s" "$default"')
    (folder / "saved").write_text("")
    *path, item = _resolved(menu, default)
    _run(folder, f"{script}\nentry_{item.number}")
    (line, *more) = (folder / "line").read_text().splitlines() or [""]
    assert not more
    saved = dict(row.split("=", 1) for row in (folder / "saved").read_text().splitlines())
    left = {name: value for name, value in {**kept, **saved}.items() if value}
    ids = tuple(each.ident for each in (*path, item))
    return Boot(default, ids, line, bool((folder / "initrd").read_text()), left)


def _run(folder: Path, script: str) -> str:
    done = subprocess.run(
        ["dash", "-c", f"prefix={folder}\n{_PRELUDE}\n{script}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=GUARD_S,
    )
    assert done.stderr == ""
    return done.stdout


def _translated(config: str) -> tuple[str, list[Item]]:
    """grub.cfg as a shell script in which each entry is a function, and its menu."""
    rows: list[str] = []
    open_now = [Item("", "")]
    opened: list[Optional[Item]] = []
    numbers = 0
    for row in config.splitlines():
        item, function = _ITEM.match(row), re.match(r"\s*function (\S+) \{$", row)
        if item:
            numbers += 1
            made = Item(item[2][1:-1], item[3] or item[2][1:-1], numbers)
            open_now[-1].inside.append(made)
            opened.append(made if item[1] == "submenu" else None)
            if item[1] == "submenu":
                open_now.append(made)
            else:
                rows.append(f"entry_{numbers}() {{ :")
        elif function:
            opened.append(None)
            rows.append(f"{function[1]}() {{ :")
        elif row.strip() == "}":
            if opened.pop() is None:
                rows.append("}")
            else:
                open_now.pop()
        else:
            rows.append(re.sub(r"\bset (\w+=)", r"\1", re.sub(r"^(\s*)echo\b", r"\1: echo", row)))
    return "\n".join(rows), open_now[0].inside


def _resolved(menu: list[Item], default: str) -> list[Item]:
    """The items that lead to the entry which GRUB boots for a default: get_entry_number() and
    grub_menu_execute_entry() in grub-core/normal/menu.c."""
    first, _, rest = re.sub(r">>", "\0", default).partition(">")
    digits = re.match(r"0x[0-9a-f]+|\d+", first)
    if digits:
        text = digits[0]
        base = 16 if text[:2] == "0x" else 8 if text[:1] == "0" and text[1:2] in "01234567" else 10
        place = int(text, base if text != "0" else 10)
    else:
        name = first.replace("\0", ">")
        named = [at for at, item in enumerate(menu) if name in (item.title, item.ident)]
        place = named[0] if named else 0
    item = menu[place if place < len(menu) else 0]
    return [item, *(_resolved(item.inside, rest.replace("\0", ">>")) if item.inside else [])]
