# SPDX-License-Identifier: GPL-2.0-or-later
"""lowlat's own files, known by their places and texts: a journal that was lost tells of none, and a
later one would take them for a person's."""

import functools
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress

from lowlat.base import files
from lowlat.base.errors import Refused
from lowlat.boot.disk import Disk, FileSnapshot
from lowlat.host.root import Root, glob
from lowlat.plan import store
from lowlat.render import hooks

#: Any text: the name, or the beginning, is enough.
_ANY = r"(?s:.*)"

#: lowlat's own state.
_STATE = (store.PLAN, store.DECISION, f"{files.STATE}/stock.json", f"{store.PLANS}/*.json")

#: Starts lowlat's unit before TuneD: a link.
_WANTED = "/etc/systemd/system/tuned.service.wants/lowlat-boot.service"

#: TuneD's profiles. In a folder of another name lies a copy of somebody's.
_PROFILES = ("/etc/tuned/lowlat*", "/etc/tuned/profiles/lowlat*")
_PROFILE = (
    r"# SPDX.*\n# (?:Written by lowlat-gen for this machine: plan|Produced from lowlat\.conf) "
)

_DEFAULT = (
    r"# SPDX.*\n# Written by 'lowlat-gen promote'; .*\n"
    r"if .*; then\n\tGRUB_DEFAULT='lowlat>[^'\n]*'\nelse\n\techo lowlat: .*\nfi\n"
)


def read(disk: Disk, *, lost: bool) -> Mapping[str, tuple[FileSnapshot, bool]]:
    """lowlat's files by path, each with whether its text is still as lowlat writes it. Profiles of
    TuneD are lowlat's if the record is ``lost``: a person may use them without the boot."""
    found = _found(disk)
    if lost and any(whole and is_of_boot(path) for path, (_, whole) in found.items()):
        return found
    return {path: held for path, held in found.items() if is_of_boot(path)}


def _found(disk: Disk) -> dict[str, tuple[FileSnapshot, bool]]:
    found = {}
    for path, pattern in _places(disk.root):
        with suppress(Refused):  # a link is in the way, or it cannot be read
            held = disk.get(path)
            text = held.content.decode("utf-8", "replace") if held else ""
            whole = re.fullmatch(pattern, text) is not None
            if held and (whole or ("lowlat" in text and not _is_packaged(disk.root, path))):
                found[path] = (held, whole)
    return found


def is_of_boot(path: str) -> bool:
    """Whether a file is there for the boot alone."""
    return not path.startswith("/etc/tuned/")


def _places(root: Root) -> Iterator[tuple[str, str]]:
    """The places of lowlat's files, each with a pattern of all of its text."""
    yield from _fixed().items()
    for place in _STATE:
        yield from ((path, _ANY) for path in glob(root, place))
    for folder in (folder for place in _PROFILES for folder in glob(root, place)):
        if re.match(_PROFILE, root.read(f"{folder}/tuned.conf") or ""):
            yield from ((f"{folder}/{name}", _ANY) for name in ("tuned.conf", "script.sh"))


@functools.cache
def _fixed() -> Mapping[str, str]:
    program = re.escape(hooks.PROGRAM)
    fixed = {
        file.path: re.escape(file.content).replace(program, r"/[\w./+-]+")
        for file in hooks.every(hooks.PROGRAM)
    }
    return {**fixed, hooks.DEFAULT: _DEFAULT, _WANTED: r".*/lowlat-boot\.service"}


def _is_packaged(root: Root, path: str) -> bool:
    """Whether a package has this file: one in /etc is a person's, who changes that."""
    name = path.rpartition("/")[2]
    return any(root.exists(f"{folder}/{name}") for folder in (*hooks.UNITS, *hooks.PLUGINS))
