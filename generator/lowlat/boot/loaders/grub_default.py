# SPDX-License-Identifier: GPL-2.0-or-later
"""GRUB's default entry: the settings of grub-mkconfig that name it, and lowlat's own one."""

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Optional

from lowlat.base import encode
from lowlat.base.errors import Refused
from lowlat.boot.loaders import grub_entries, grub_menu, grub_settings
from lowlat.boot.loaders.grub_config import GrubConfig
from lowlat.boot.loaders.grub_env import Environment
from lowlat.boot.loaders.grub_menu import Menu
from lowlat.boot.loaders.interface import BootEntry
from lowlat.host.root import Root
from lowlat.render import hooks
from lowlat.render.hooks import GRUB as SCRIPT

#: The file of lowlat's that sets GRUB_DEFAULT.
OWN = hooks.DEFAULT

#: The distribution's script that makes the stock entries.
LINUX = "/etc/grub.d/10_linux"

_SETS = re.compile(r"^\s*(?:export\s+)?GRUB_DEFAULT=(.*)$", re.MULTILINE)

#: The tuned entry of the newest kernel: the first one in the submenu is a stock entry.
NEWEST = f"{grub_entries.SUBMENU}>1"


def own(entry: BootEntry, image: str, follow: bool) -> str:
    """The file that sets GRUB_DEFAULT, as long as the entry, of this image, can be generated."""
    name = encode.shell(f"/boot/{image}")
    kernel = "" if follow else f" && [ -e {name} ]"
    gone = f"99_lowlat{'' if follow else f' or Linux {encode.shell(entry.release)}'}"
    return (
        "# SPDX-License-Identifier: GPL-2.0-or-later\n"
        "# Written by 'lowlat-gen promote'; 'lowlat-gen rollback' removes it.\n"
        f"if [ -x {SCRIPT} ] && [ -x {LINUX} ]{kernel}; then\n"
        f"\tGRUB_DEFAULT={encode.shell(NEWEST if follow else entry.name)}\n"
        "else\n"
        f"\techo lowlat: {gone} is gone: the default is what it was before promote >&2\n"
        "fi\n"
    )


def setting(root: Root) -> str:
    """The file, not lowlat's, that sets GRUB_DEFAULT last."""
    names = (name for name in root.names("/etc/default/grub.d") if name.endswith(".cfg"))
    paths = [f"/etc/default/grub.d/{name}" for name in sorted(names, reverse=True)]
    texts = ((path, root.read(path) or "") for path in paths if path != OWN)
    return next((path for path, text in texts if _SETS.search(text)), "/etc/default/grub")


def _value(root: Root) -> str:
    """The value that this file gives it, without quotes; "" for none."""
    found = _SETS.findall(root.read(setting(root)) or "")
    return found[-1].strip().strip("\"'") if found else ""


def theirs(root: Root, mkconfig: str) -> Optional[str]:
    """The value of another file's that wins over lowlat's; None if lowlat's wins."""
    wins = grub_settings.reads_folder(root, mkconfig) and setting(root) < OWN
    return None if wins else _value(root)


def not_own(root: Root, mkconfig: str, wanted: BootEntry) -> Refused:
    """The refusal where lowlat's file does not make this entry the default."""
    if not grub_settings.reads_folder(root, mkconfig):
        why = f"{mkconfig} reads no files in /etc/default/grub.d"
        hint = f"set GRUB_DEFAULT='{wanted.name}' in /etc/default/grub, then promote again"
        return Refused(why, hint=hint)
    why = f"{OWN} does not make {wanted.id} the default"
    return Refused(why, hint=f"take GRUB_DEFAULT out of {setting(root)}")


def outlasting(root: Root, config: GrubConfig, environment: Environment) -> Iterator[str]:
    """A default of a person's that names an entry of lowlat's, and what to do."""
    value, saved = _value(root), environment.read().get("saved_entry", "")
    own = (f"{grub_entries.SUBMENU}>", f"{grub_entries.SUBMENU}:")
    if value.startswith(own):
        other = "saved" if saved and not saved.startswith(own) else "0"
        yield (
            f"{setting(root)} sets GRUB_DEFAULT='{value}', which goes with lowlat: set "
            f"GRUB_DEFAULT={other} there, or what it was, then {config.mkconfig} -o {config.path}"
        )
    elif value == "saved" and saved.startswith(own):
        unset = environment.command("unset", "saved_entry")
        yield f"{environment.path} has saved_entry={saved}, which goes with lowlat: {unset}"


def check(menu: Menu, kept: Mapping[str, str], place: int, remedy: Mapping[str, str]) -> None:
    """Raises Refused if a default could mean another entry once lowlat's submenu stands at this
    place of the menu, or if it cannot be known. ``kept`` is the environment block; ``remedy`` tells
    by the name of a setting, GRUB_DEFAULT or saved_entry, how to give it the value {}."""
    for name, value in _defaults(menu, kept):
        hint = remedy.get(name, remedy["saved_entry"])
        if value is None:
            why = f"GRUB_DEFAULT={menu.default}: what that stands for is not known"
            raise Refused(why, hint=f"name the default by its id: {hint.format('ID')}")
        number = grub_menu.number(value)
        if number is not None and number >= place:
            now = menu.find(value)
            why = f"{name}={value} counts to where lowlat's entries stand, or further"
            how = hint.format(shlex.quote(now.id_path) if now else "ID")
            raise Refused(why, hint=f"name the default by its id: {how}")


def _defaults(menu: Menu, kept: Mapping[str, str]) -> Iterator[tuple[str, Optional[str]]]:
    """Everything that may be the default, by the setting that it comes of."""
    name = "saved_entry" if "saved_entry" in menu.default else "GRUB_DEFAULT"
    yield name, menu.filled(menu.default, kept)
    others = (menu.filled(each, kept) for each in menu.others)
    yield from (("GRUB_DEFAULT", each) for each in others if each is not None)
    for name in ("prev_saved_entry", "prev_entry"):
        if kept.get(name):
            yield name, kept[name]
