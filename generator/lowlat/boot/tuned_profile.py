# SPDX-License-Identifier: GPL-2.0-or-later
"""TuneD's profile follows the boot: lowlat-local in a tuned one, the administrator's in every
other. TuneD's two files of the selection are written before it starts; the administrator's are kept
byte for byte, with --boot tuned also the file in which TuneD keeps its line."""

from collections.abc import Iterator, Mapping
from typing import Optional

from lowlat.base import files
from lowlat.base.errors import Refused
from lowlat.base.typed_json import decode
from lowlat.boot.disk import Disk, FileSnapshot, digest
from lowlat.boot.foreseen import Foreseen
from lowlat.boot.state_file import StateFile
from lowlat.host.root import Root
from lowlat.host.tuned import LOCAL
from lowlat.model import cmdline

_ACTIVE = "/etc/tuned/active_profile"
_MODE = "/etc/tuned/profile_mode"

#: The parameters that TuneD's bootloader plugin adds to every line, by its script in /etc/grub.d.
_LINE = "/etc/tuned/bootcmdline"

_FILES = (_ACTIVE, _MODE, _LINE)
_Files = Mapping[str, Optional[FileSnapshot]]

#: The administrator's files, kept while lowlat-local is selected.
_KEPT = StateFile(
    f"{files.STATE}/administrator.json",
    "lowlat.administrator/1",
    lambda kept: decode(
        dict[str, Optional[FileSnapshot]], {path: kept.get(path) for path in _FILES}
    ),
    "select a profile with tuned-adm, then remove it",
    0o600,
    frozen=True,
)


def selected(root: Root) -> bool:
    """Whether TuneD will load lowlat-local, the profile of this machine."""
    return (root.read(_ACTIVE) or "").split()[:1] == [LOCAL]


def damaged(root: Root) -> Iterator[str]:
    """What is wrong with the record of the administrator's files."""
    try:
        _KEPT.read(Disk(root))
    except Refused as error:
        yield str(error)


def lost(root: Root) -> Iterator[str]:
    """What restore() cannot restore, because its record is gone."""
    if selected(root) and root.absent(_KEPT.path):
        yield f"{_KEPT.path} is gone, and with it TuneD's profile before lowlat"


def select(disk: Disk) -> None:
    """Store the administrator's selection, and select lowlat-local."""
    if selected(disk.root):
        return
    theirs = remember(disk)
    disk.put(_MODE, _like(theirs[_MODE], b"manual\n"))
    disk.put(_ACTIVE, _like(theirs[_ACTIVE], f"{LOCAL}\n".encode()))


def remember(disk: Disk, *, line: bool = False) -> _Files:
    """Store the administrator's selection for restore(), and with ``line`` TuneD's line for
    restore_line()."""
    paths = _FILES if line else (_ACTIVE, _MODE)
    theirs = {path: disk.get(path) for path in paths}
    _KEPT.write(disk, theirs)
    return theirs


def foresee_selection(change: Foreseen) -> None:
    """What remember() would write."""
    theirs = {path: change.disk.get(path) for path in _FILES}
    change.put(_KEPT.path, _KEPT.text(theirs))


def foresee(disk: Disk) -> Mapping[str, str]:
    """What restore() and restore_line() would do to each file that they would change."""
    theirs, now = _KEPT.read(disk) or {}, {path: disk.get(path) for path in _FILES}
    back = [path for path in _FILES[:2] if selected(disk.root) or theirs]
    line = now[_LINE]
    if line is not None and f"{cmdline.MARKER}=".encode() in line.content:
        back.append(_LINE)
    changed = (path for path in back if digest(now[path]) != digest(theirs.get(path)))
    return {path: "restore" if theirs.get(path) else "remove" for path in changed}


def restore(disk: Disk) -> bool:
    """Restore the administrator's selection if lowlat-local is selected; returns whether it was,
    now or before a crash in here. A selection made since by the administrator stays."""
    theirs = _KEPT.read(disk) or {}
    ours = selected(disk.root)
    # A crash may have left only one of the two files changed.
    if ours or (theirs and digest(disk.get(_ACTIVE)) == digest(theirs[_ACTIVE])):
        # The profile last: until it is restored, a second try finds lowlat-local selected.
        for path in (_MODE, _ACTIVE):
            disk.set(path, theirs.get(path))
    return ours or bool(theirs)


def restore_line(disk: Disk) -> None:
    """Restore TuneD's line if TuneD did not remove lowlat's when it stopped."""
    theirs = _KEPT.read(disk) or {}
    now = disk.get(_LINE)
    if now is not None and f"{cmdline.MARKER}=".encode() in now.content:
        disk.set(_LINE, theirs.get(_LINE))


def forget(disk: Disk) -> None:
    """Remove the stored selection, and temporary files that a crash left."""
    disk.remove(_KEPT.path)
    for path in (*_FILES, _KEPT.path):
        disk.unstage(path)


def _like(theirs: Optional[FileSnapshot], content: bytes) -> FileSnapshot:
    if theirs is None:
        return FileSnapshot(content)
    return FileSnapshot(content, theirs.mode, theirs.uid, theirs.gid)
