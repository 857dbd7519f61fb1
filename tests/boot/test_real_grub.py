# SPDX-License-Identifier: GPL-2.0-or-later
"""What a default means, the order of entry files and the words of a line: GRUB itself (grub-emu of
2.12 and 2.14) beside ``lowlat-gen status`` and beside the readers of its files."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lowlat.boot import entry_line
from lowlat.boot.loaders import grub_words
from lowlat.model import cmdline
from support import debs, grub_script
from support.cli import lowlat
from support.debs import Unpacked
from support.grub_emu import GrubEmu
from support.machines import machine, write_tree

pytestmark = pytest.mark.proof

Menu = list[Any]

#: Programs that only have to be there: reading verbs run none.
_TOOLS = dict.fromkeys(("usr/sbin/grub-mkconfig", "usr/bin/grub-script-check"), "")

_GENERATED = "### BEGIN /etc/grub.d/00_header ###"

#: Ids and titles of a menu; a submenu's entries follow it in brackets.
_MENU: Menu = [
    ("debian-simple", "Debian GNU/Linux"),
    ("debian-advanced", "Advanced options"),
    [("6.12-advanced", "Debian, with Linux 6.12"), ("6.12-recovery", "6.12 (recovery)")],
    ("3-own", "An own entry"),
    ("dotted", "Debian > of somebody"),
]

_DEFAULTS = [
    *("0", "1", "2", "3", "4", "17", "-1", "0x2", "02", "08", "", "gone", "2 3"),
    *("debian-simple", "debian-advanced", "dotted", "3-own", "6.12-advanced"),
    *("Debian GNU/Linux", "An own entry", "Advanced options", "Debian > of somebody"),
    *("Debian >> of somebody", "debian-advanced>6.12-recovery", "1>1", "1>0", "1>7", "1>"),
    *("Advanced options>6.12 (recovery)", "debian-advanced>gone", "gone>1", "1>6.12-recovery"),
    *("debian-advanced>1", "Advanced options>0", "0>1", "3-own>0"),
]


def _entries(menu: Menu) -> Iterator[tuple[str, str]]:
    for item in menu:
        if isinstance(item, list):
            yield from _entries(item)
        else:
            yield item


def _rows(menu: Menu, body: str) -> Iterator[str]:
    """A grub.cfg's menu; what follows a submenu in brackets is in it."""
    for item, after in zip(menu, [*menu[1:], None]):
        if isinstance(item, list):
            continue
        ident, title = item
        inside = isinstance(after, list)
        yield f"{'submenu' if inside else 'menuentry'} '{title}' --id '{ident}' {{"
        yield from _rows(after, body) if isinstance(after, list) else [body.format(ident)]
        yield "}"


def _grub_cfg(default: str, body: str) -> str:
    settings = (f'set default="{default}"', "set timeout=0")
    return "\n".join((_GENERATED, *settings, *_rows(_MENU, body), ""))


@pytest.mark.parametrize("packages", [debs.GRUB_2_12, debs.GRUB_2_14], ids=["2.12", "2.14"])
def test_a_default_means_the_entry_that_grub_boots(tmp_path: Path, packages: Unpacked) -> None:
    grub, tree = GrubEmu(packages, tmp_path), tmp_path / "tree"
    write_tree(tree, {**machine(), **_TOOLS})
    titles = dict(_entries(_MENU))
    differing = {}
    for default in _DEFAULTS:
        write_tree(
            tree,
            {"boot/grub/grub.cfg": _grub_cfg(default, "linux /boot/vmlinuz-1-{} root=/dev/sda1")},
        )
        found = lowlat("status", "--json", "--root", tree).json()["default"]
        booted = grub.boot(_grub_cfg(default, "halt"))
        said = titles[found["entry"]] if found else None
        if said != booted[-1]:
            differing[default] = (said, booted)
    assert not differing


def test_entry_files_stand_as_grub_2_14_sorts_them(tmp_path: Path) -> None:
    grub, tree, dice = GrubEmu(debs.GRUB_2_14, tmp_path), tmp_path / "tree", random.Random(31)
    image = tree / "boot/vmlinuz"
    parts = ["6.11.4-301", "6.11.11-300", "4.18.0-553.el8_10", "4.18.0-553.8.1.el8_10", "0-rescue"]
    names = sorted(
        {f"{dice.choice(['c3c7', '6fd2', 'a'])}{dice.choice('-~')}{part}" for part in parts * 4}
    )
    entries = {
        f"boot/loader/entries/{name}.conf": f"title T {name}\nversion 1\nlinux {image}\n"
        f"options root=/dev/sda1\n"
        for name in names
    }
    config = 'load_env\nset timeout=0\ninsmod blsuki\nset default="{}"\nblscfg --path {}\n'
    there = {
        **machine(),
        "boot/vmlinuz": "image\n",
        **_TOOLS,
        **entries,
        "usr/lib/grub/x86_64-efi/blsuki.mod": "",
    }
    write_tree(tree, there)
    for value in (*map(str, range(len(names))), *names[:3], f"T {names[0]}", "", "99"):
        live = config.format("${saved_entry}", tree / "boot/loader/entries")
        block = f"# GRUB Environment Block\nsaved_entry={value}\n".ljust(1024, "#")
        write_tree(tree, {"boot/grub/grub.cfg": live, "boot/grub/grubenv": block})
        found = lowlat("status", "--json", "--root", tree).json()["default"]["entry"]
        booted = grub.boot(config.format(value, tree / "boot/loader/entries"))
        assert booted == (f"T {found}",), value


#: Parts of a word in GRUB's grammar.
_PARTS = [
    "a=",
    "b",
    "'c \"\\$d'",
    '"e  f\'"',
    r'"\"g\\\$\h"',
    r"\ ",
    r"\$",
    r"\'",
    r"\\",
    r"\x41",
    "''",
]


def test_the_words_of_a_line_are_those_that_grub_passes_on(tmp_path: Path) -> None:
    dice = random.Random(8)
    words = ("".join(dice.choices(_PARTS, k=dice.randint(1, 4))) for _ in range(300))
    lines = [" ".join(pair) for pair in zip(words, words)]
    for line, found in zip(lines, GrubEmu(debs.GRUB_2_12, tmp_path).arguments(lines)):
        by_grub = grub_script.loader_line(found)
        assert grub_script.passed(line) == by_grub, line
        passed = grub_words.passed(line, {})
        assert entry_line.started(passed) == " ".join(cmdline.WORD.findall(by_grub)), line
