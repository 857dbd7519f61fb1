# SPDX-License-Identifier: GPL-2.0-or-later
"""The record of trials: the pending one, the entries that came up, the promoted entry."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Optional

from lowlat.base import files
from lowlat.boot.disk import Disk
from lowlat.boot.state_file import StateFile, lenient
from lowlat.host.root import Root

TRIALS = f"{files.STATE}/trials.json"

SCHEMA = "lowlat.trials/1"


@dataclass(frozen=True)
class Pending:
    """A requested trial: the entry, the words of its trial entry, the boot in which it was set, and
    whether kexec starts it, not the boot loader."""

    entry: str
    release: str
    words: tuple[str, ...]
    boot_id: str
    kexec: bool = False


@dataclass(frozen=True)
class Trials:
    """``seen`` are the ids of entries whose trial came up; ``failed`` is why the last trial did
    not; ``promoted`` is the entry made the default, ``follow`` whether newer kernels follow."""

    pending: Optional[Pending] = None
    seen: tuple[str, ...] = ()
    failed: str = ""
    promoted: Optional[str] = None
    follow: bool = False

    def came_up(self, entry: str) -> Trials:
        seen = (*(each for each in self.seen if each != entry), entry)
        return replace(self, pending=None, failed="", seen=seen)


_FILE = StateFile(TRIALS, SCHEMA, lenient(Trials), "remove it: then nothing counts as tried")


def read(root: Root) -> Trials:
    """Raises Refused if the record is damaged."""
    return _FILE.read(Disk(root)) or Trials()


@contextmanager
def written(root: Root, trials: Trials) -> Iterator[None]:
    """Write the new record; if the block then fails, restore the old one."""
    disk = Disk(root)
    before = disk.get(TRIALS)
    write(root, trials)
    try:
        yield
    except BaseException:
        disk.set(TRIALS, before)
        raise


def write(root: Root, trials: Trials) -> None:
    _FILE.write(Disk(root), trials)


def text(trials: Trials) -> str:
    """The content of the record's file."""
    return _FILE.text(trials)
