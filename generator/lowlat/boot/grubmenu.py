# SPDX-License-Identifier: GPL-2.0-or-later
"""What a generated grub.cfg means for us: which entries are ours, what is the stock part, and
whether the default still is what it was. Text in, values out."""

from __future__ import annotations

import re

from lowlat.base.errors import Refused
from lowlat.boot import entry_line as line
from lowlat.boot import hooks
from lowlat.boot.loaders import grub_cfg as grubcfg
from lowlat.boot.loaders import grub_entries as grubentries
from lowlat.boot.loaders.grub_cfg import Menu
from lowlat.boot.loaders.interface import Boot, Entry


def entry(item: grubcfg.Entry, menu: Menu) -> Entry:
    """One item of the menu, with the variables that are known filled in."""
    name = item.image.rpartition("/")[2]
    release = re.sub(r"^[^0-9]*-|\.efi\.signed$", "", name)
    ours = item.path[0] == grubentries.SUBMENU and item.id != grubentries.STOCK
    words = line.expanded(item.words, menu.variables)
    return Entry(item.id_path, release, words, ours, ours and item.id.endswith("-trial"))


def without_us(text: str) -> str:
    """The configuration as it would be without our script."""
    return grubcfg.without_section(text, hooks.GRUB.rpartition("/")[2])


def with_default_of(bare: str, other: str) -> str:
    """The configuration with the default that another one sets."""
    default = grubcfg.parse(other).default
    was = grubcfg.parse(bare).default
    return bare.replace(f'set default="{was}"', f'set default="{default}"')


def still_promoted(before: Boot, after: Boot) -> bool:
    """Whether the default may stay one of ours: every line that there was is still there."""
    if before.default is None or not before.default.ours:
        return True
    return {entry.id for entry in before.tuned()} <= {entry.id for entry in after.tuned()}


def check_last(menu: Menu) -> None:
    """Raises Refused where a number that stands for the default would mean another entry now."""
    places = [item.places[0] for item in menu.entries if item.path[0] == grubentries.SUBMENU]
    first = menu.default.partition(">")[0]
    if places and first.isdigit() and int(first) >= places[0]:
        raise Refused(
            f"GRUB_DEFAULT={menu.default} would mean an entry of lowlat's, or one after them",
            hint="name the default by its id instead",
        )
