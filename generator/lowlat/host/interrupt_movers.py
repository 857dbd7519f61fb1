# SPDX-License-Identifier: GPL-2.0-or-later
"""The files that tell irqbalance and systemd where interrupts may go."""

import re
from collections.abc import Iterator
from itertools import chain
from typing import Optional

from lowlat.host.root import Root, glob
from lowlat.model.machine import BanList, LinkFile

#: Environment files of irqbalance: Debian's, Red Hat's and SUSE's, Gentoo's, Arch's.
CONFIGS = (
    *("/etc/default/irqbalance", "/etc/sysconfig/irqbalance"),
    *("/etc/conf.d/irqbalance", "/etc/irqbalance.env"),
)

#: By descending precedence (systemd.link(5)).
_FOLDERS = ("/etc", "/run", "/usr/local/lib", "/usr/lib")
LINKS = tuple(
    f"{folder}/systemd/network/{name}"
    for folder in _FOLDERS
    for name in ("*.link", "*.link.d/*.conf")
)

#: The lines that count in these files.
BANS = r"^\s*(?:export\s+)?(IRQBALANCE_BANNED_CPU(?:S|LIST))=(.*)$"
OPTIONS = r"^\s*(?:\[(\w+)\]|(OriginalName|Driver|IRQAffinity\w*)\s*=\s*(.*?))\s*$"

_MASK = "IRQBALANCE_BANNED_CPUS"


def read_ban_list(root: Root) -> Optional[BanList]:
    """The ban list in irqbalance's environment file; None without such a file."""
    for file in CONFIGS:
        text = root.read(file)
        if text is not None:
            return parse_ban_list(file, text)
    return None


def parse_ban_list(file: str, text: str) -> BanList:
    """As setup_banned_cpus() in irqbalance's cputree.c: a mask that is not empty counts before a
    list. The name is "" if the file sets neither."""
    given = {name: value.strip().strip("\"'") for name, value in re.findall(BANS, text, re.M)}
    names = [name for name in given if name != _MASK or given[name]]
    name = min(names, key=lambda one: one != _MASK, default="")
    return BanList(file, name, given.get(name, ""))


def read_link_files(root: Root) -> tuple[LinkFile, ...]:
    """The .link files with IRQAffinityPolicy=, in the order in which udev tries them, up to the one
    that matches every interface: the first match applies alone."""
    found = []
    for file, texts in _link_files(root):
        matches, options = parse_link_file(texts)
        if options.get("IRQAffinityPolicy"):
            named = (options.get(name, "") for name in _LINK_OPTIONS)
            found.append(LinkFile(file, tuple(matches.get("Driver", "").split()), *named))
        if matches == {"OriginalName": "*"}:
            break
    return tuple(found)


_LINK_OPTIONS = ("IRQAffinityPolicy", "IRQAffinity", "IRQAffinityNUMA")


def _link_files(root: Root) -> Iterator[tuple[str, list[str]]]:
    """Each file with its text and those of its drop-ins."""
    for path in _sorted(root, "*.link"):
        name = path.rpartition("/")[2]
        texts = [root.read(each) or "" for each in (path, *_sorted(root, f"{name}.d/*.conf"))]
        if any(texts):
            yield path, texts


def _sorted(root: Root, pattern: str) -> list[str]:
    """The files sorted by name; of those with the same name the one in the first folder."""
    found = (glob(root, f"{folder}/systemd/network/{pattern}") for folder in reversed(_FOLDERS))
    by_name = {path.rpartition("/")[2]: path for path in chain(*found)}
    return [by_name[name] for name in sorted(by_name)]


def parse_link_file(texts: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    """The options of [Match] and of [Link] that matter here; an option given twice adds to the one
    before, and an empty one begins anew."""
    sections: dict[str, dict[str, str]] = {"Match": {}, "Link": {}}
    for text in texts:
        section = ""
        for heading, option, value in re.findall(OPTIONS, text, re.M):
            section = heading or section
            held = sections.setdefault(section, {})
            if option:
                many = option in ("IRQAffinity", "Driver") and value
                held[option] = f"{held.get(option, '')} {value}".strip() if many else value
    return sections["Match"], sections["Link"]
