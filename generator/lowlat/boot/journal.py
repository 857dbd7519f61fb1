# SPDX-License-Identifier: GPL-2.0-or-later
"""The journal: the files before lowlat wrote them, and digests of what it wrote. An entry is on
disk before the write that it announces. Of lowlat's files that have none (traces), nothing was
there before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Optional

from lowlat.base import files
from lowlat.boot import traces
from lowlat.boot.disk import Disk, FileSnapshot, digest
from lowlat.boot.state_file import StateFile, lenient

JOURNAL = f"{files.STATE}/journal.json"

SCHEMA = "lowlat.journal/1"


@dataclass(frozen=True)
class JournalEntry:
    """One path: its state before lowlat (None: no file), and digests of lowlat's writes: the last
    one and, until that is done, the one before."""

    before: Optional[FileSnapshot]
    ours: tuple[str, ...] = ()

    def edited(self, now: Optional[FileSnapshot]) -> bool:
        """Whether the file was changed since lowlat wrote it."""
        return digest(now) not in (*self.ours, digest(self.before))


@dataclass(frozen=True)
class Journal:
    """``entries`` by path, and the ``folders`` that lowlat made, both in order of writing."""

    entries: Mapping[str, JournalEntry] = field(default_factory=dict)
    folders: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for path in (*self.entries, *self.folders):
            if not path.startswith("/") or "\0" in path or ".." in path.split("/"):
                raise ValueError("no path, or one that leads upwards")

    def __bool__(self) -> bool:
        return bool(self.entries or self.folders)

    def with_entry(self, path: str, entry: JournalEntry) -> Journal:
        return replace(self, entries={**self.entries, path: entry})

    def with_folder(self, path: str) -> Journal:
        return self if path in self.folders else replace(self, folders=(*self.folders, path))


_FILE = StateFile(
    JOURNAL,
    SCHEMA,
    lenient(Journal),
    "mend it, or remove it: then 'lowlat-gen rollback' goes by the names of lowlat's files",
    0o600,
    frozen=True,
)


def read(disk: Disk, *, to_write: bool = False) -> Journal:
    """The journal, with lowlat's files that are missing in it. A later lowlat's is read too, unless
    ``to_write``. Raises Refused if it is damaged."""
    journal = _FILE.read(disk, to_write=to_write) or Journal()
    lost = disk.root.absent(JOURNAL)
    for path, (held, whole) in traces.read(disk, lost=lost).items():
        if path not in journal.entries:
            entry = JournalEntry(None, (digest(held),) if whole else ())
            journal = journal.with_entry(path, entry)
            folder = path.rpartition("/")[0]
            if lost and "lowlat" in folder:
                journal = journal.with_folder(folder)
    return journal


def is_lost(disk: Disk) -> bool:
    """Whether files of lowlat's are there for the boot, but no journal."""
    return disk.root.absent(JOURNAL) and bool(traces.read(disk, lost=True))


def write(disk: Disk, journal: Journal) -> None:
    if journal:
        _FILE.write(disk, journal)
    else:
        disk.remove(JOURNAL)
