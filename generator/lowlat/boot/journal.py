# SPDX-License-Identifier: GPL-2.0-or-later
"""The journal: what was there before lowlat wrote, and what lowlat wrote. It is on the disk before
the write it tells of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Optional

from lowlat.base import files
from lowlat.boot import state_file
from lowlat.boot.disk import Disk
from lowlat.boot.file_snapshot import FileSnapshot, digest

JOURNAL = f"{files.STATE}/journal.json"

SCHEMA = "lowlat.journal/1"


@dataclass(frozen=True)
class JournalEntry:
    """One path: what was there before (None: nothing), and digests of what lowlat put there: the
    last write and, until that is done, the one before."""

    before: Optional[FileSnapshot]
    ours: tuple[str, ...] = ()

    def edited(self, now: Optional[FileSnapshot]) -> bool:
        """Whether somebody else changed the file since."""
        return digest(now) not in (*self.ours, digest(self.before))


@dataclass(frozen=True)
class Journal:
    """``entries`` by path, ``folders`` that lowlat made, both in the order in which it did."""

    entries: Mapping[str, JournalEntry] = field(default_factory=dict)
    folders: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.entries or self.folders)

    def with_entry(self, path: str, entry: JournalEntry) -> Journal:
        return replace(self, entries={**self.entries, path: entry})

    def with_folder(self, path: str) -> Journal:
        return self if path in self.folders else replace(self, folders=(*self.folders, path))


def read(disk: Disk, *, to_write: bool = False) -> Journal:
    """The journal, empty where there is none; a later lowlat's too, unless it shall be written.
    Raises Refused where it is damaged."""
    hint = "it tells which files lowlat wrote: mend it or undo them by hand"
    found = state_file.read(disk, JOURNAL, SCHEMA, _build, hint, frozen=not to_write)
    return found or Journal()


def write(disk: Disk, journal: Journal) -> None:
    if not journal:
        disk.remove(JOURNAL)
        return
    entries = {
        path: {"before": entry.before and entry.before.to_json(), "ours": list(entry.ours)}
        for path, entry in journal.entries.items()
    }
    document = {"entries": entries, "folders": list(journal.folders)}
    state_file.write(disk, JOURNAL, SCHEMA, document, 0o600)


def _build(document: Any) -> Journal:
    entries = {_path(path): _entry(item) for path, item in document["entries"].items()}
    return Journal(entries, tuple(_path(path) for path in document["folders"]))


def _entry(document: Any) -> JournalEntry:
    before = document["before"]
    return JournalEntry(
        before=None if before is None else FileSnapshot.from_json(before),
        ours=tuple(str(item) for item in document["ours"]),
    )


def _path(path: Any) -> str:
    if not isinstance(path, str) or not path.startswith("/") or "\0" in path:
        raise ValueError("no path")
    if ".." in path.split("/"):
        raise ValueError("a path that leads upwards")
    return path
