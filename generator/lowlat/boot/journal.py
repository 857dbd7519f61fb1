# SPDX-License-Identifier: GPL-2.0-or-later
"""The journal: what was there before lowlat wrote, and what lowlat wrote. It is on the disk before
the write it tells of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Optional

from lowlat.base import files
from lowlat.base.errors import Refused
from lowlat.boot.disk import Disk
from lowlat.boot.file_snapshot import Held, digest

JOURNAL = f"{files.STATE}/journal.json"

SCHEMA = "lowlat.journal/1"


@dataclass(frozen=True)
class Entry:
    """One path: what was there before (None: nothing), and digests of what lowlat put there: the
    last write and, until that is done, the one before."""

    before: Optional[Held]
    ours: tuple[str, ...] = ()

    def edited(self, now: Optional[Held]) -> bool:
        """Whether somebody else changed the file since."""
        return digest(now) not in (*self.ours, digest(self.before))


@dataclass(frozen=True)
class Journal:
    """``entries`` by path, ``folders`` that lowlat made, both in the order in which it did."""

    entries: Mapping[str, Entry] = field(default_factory=dict)
    folders: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.entries or self.folders)

    def with_entry(self, path: str, entry: Entry) -> Journal:
        return replace(self, entries={**self.entries, path: entry})

    def without(self, path: str) -> Journal:
        return replace(self, entries={k: v for k, v in self.entries.items() if k != path})

    def with_folder(self, path: str) -> Journal:
        return self if path in self.folders else replace(self, folders=(*self.folders, path))


def read(disk: Disk) -> Journal:
    """The journal, empty where there is none. Raises Refused where it is damaged."""
    held = disk.get_ours(JOURNAL)
    if held is None:
        return Journal()
    try:
        document = json.loads(held.content)
        if held.link or document["schema"] != SCHEMA:
            raise ValueError("not a journal")
        entries = {_path(path): _entry(item) for path, item in document["entries"].items()}
        return Journal(entries, tuple(_path(path) for path in document["folders"]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Refused(
            f"{JOURNAL} is damaged",
            hint="it tells which files lowlat wrote: mend it or undo them by hand",
        ) from error


def write(disk: Disk, journal: Journal) -> None:
    if not journal:
        disk.remove(JOURNAL)
        return
    document = {
        "schema": SCHEMA,
        "entries": {
            path: {"before": entry.before and entry.before.to_json(), "ours": list(entry.ours)}
            for path, entry in journal.entries.items()
        },
        "folders": list(journal.folders),
    }
    disk.put(JOURNAL, Held(json.dumps(document, indent=1).encode(), 0o600))


def _entry(document: Any) -> Entry:
    before = document["before"]
    return Entry(
        before=None if before is None else Held.from_json(before),
        ours=tuple(str(item) for item in document["ours"]),
    )


def _path(path: Any) -> str:
    if not isinstance(path, str) or not path.startswith("/") or "\0" in path:
        raise ValueError("no path")
    if ".." in path.split("/"):
        raise ValueError("a path that leads upwards")
    return path
