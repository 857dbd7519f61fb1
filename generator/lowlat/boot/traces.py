# SPDX-License-Identifier: GPL-2.0-or-later
"""lowlat's own files for the boot, known by their places and texts: a journal that was lost tells
of none, and a later one would take them for a person's. TuneD's profiles are left out: people copy
them, and one that is not selected does nothing."""

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

_DEFAULT = (
    r"# SPDX.*\n# Written by 'lowlat-gen promote'; .*\n"
    r"if .*; then\n\tGRUB_DEFAULT='lowlat>[^'\n]*'\nelse\n\techo lowlat: .*\nfi\n"
)


def read(disk: Disk, *, lost: bool) -> Mapping[str, tuple[FileSnapshot, bool]]:
    """lowlat's files by path, each with whether its text is still as lowlat writes it. Others by
    such names are lowlat's, and were edited, where the record is ``lost``."""
    found = _found(disk)
    # A person may have enabled the package's unit.
    whole = {path: held for path, held in found.items() if held[1] and path != _WANTED}
    if lost and whole:
        return found
    return {} if lost else whole


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


def _places(root: Root) -> Iterator[tuple[str, str]]:
    """The places of lowlat's files, each with a pattern of all of its text."""
    yield from _fixed().items()
    for place in _STATE:
        yield from ((path, _ANY) for path in glob(root, place))


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
