# SPDX-License-Identifier: GPL-2.0-or-later
"""A transaction: all writes that change the boot, journalled first; and their rollback.

One runs at a time. A failure in the middle restores the state before it; after a crash in the
middle, ``roll_back`` restores that state.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Optional

from lowlat.base import files
from lowlat.base.errors import LowlatError, Refused
from lowlat.boot import journal as journals
from lowlat.boot import programs
from lowlat.boot.disk import Disk, FileSnapshot, digest
from lowlat.boot.journal import Journal, JournalEntry
from lowlat.host.root import Root
from lowlat.plan.store import PLANS

LOCK = f"{files.STATE}/lock"


#: Limit for hooks, in seconds: no person is there to try again, and grub-mkconfig may take long.
PATIENT_S = 300.0

#: Limit for units at boot, in seconds, and not longer: one of them delays TuneD's restart.
AT_BOOT_S = 60.0


@contextmanager
def lock(disk: Disk, wait: float = 0.0) -> Iterator[None]:
    """Held by the one process that may change the boot. Raises Refused if another process holds it
    for more than ``wait`` seconds.

    The order of locks: that of ``tune``, this one, that of the run-time half (host.runstate), that
    of the plans' folder (decision). TuneD, which asks for the third, is restarted under this one.
    If nothing is left in the state folder in the end, the folder goes too.
    """
    with ExitStack() as held:
        made = _take(disk, held, wait)
        try:
            yield
        finally:
            with suppress(LowlatError):
                if disk.root.names(files.STATE) == ("lock",):
                    disk.remove(LOCK)
                    for folder in reversed(made or [files.STATE]):
                        disk.remove_folder(folder)


def _take(disk: Disk, held: ExitStack, wait: float) -> list[str]:
    """Take the lock; returns the folders made for it."""
    until = time.monotonic() + wait
    why = "another lowlat-gen is changing the boot right now"
    taken = Refused(why, hint="let it end first")
    while True:
        try:
            made = disk.make_folders(LOCK)
            disk.root.check_owned(files.STATE)
            with disk.above(LOCK) as (at, name):
                left = until - time.monotonic()
                held.enter_context(files.locked(name, os.O_RDWR | os.O_CREAT, at, left, taken))
            return made
        except Refused as error:
            if not isinstance(error.__cause__, FileNotFoundError):
                raise
            # The previous holder removed the lock, or its folder, just now.
            if time.monotonic() >= until:
                raise taken from error
            time.sleep(files.LOOK_S)


class Transaction:
    """Writes that are rolled back together if their block fails."""

    def __init__(self, root: Root, wait: float = 0.0) -> None:
        self.root = root
        self.disk = Disk(root)
        self._wait = wait
        self.journal = self._at_first = Journal()
        #: The writes of this transaction alone, and the files before them.
        self._mine = Journal()
        self._held = ExitStack()

    def __enter__(self) -> Transaction:
        with ExitStack() as held:
            held.enter_context(lock(self.disk, self._wait))
            self.journal = self._at_first = journals.read(self.disk, to_write=True)
            self._held = held.pop_all()
        return self

    def __exit__(self, kind: object, error: Optional[BaseException], traceback: object) -> None:
        with self._held:
            if error is not None:
                self._undo(error)

    @property
    def program(self) -> str:
        """The path of lowlat-gen for the files that call it. Raises Refused as ourselves()."""
        return programs.ourselves(self.root)

    def write(self, path: str, content: str, mode: int = 0o644) -> None:
        """Write a regular file. Raises Refused if it was edited since lowlat wrote it."""
        self._set(path, FileSnapshot(content.encode(), mode))

    def link(self, path: str, target: str) -> None:
        self._set(path, FileSnapshot(os.fsencode(target), 0o777, link=True))

    def discard(self, path: str) -> None:
        """Remove an existing file."""
        self._set(path, None)

    def put_back(self, path: str) -> None:
        """Restore the file from before lowlat wrote it; mostly there was none."""
        entry = self.journal.entries.get(path)
        if entry is not None:
            self._set(path, entry.before)

    def make_folders(self, path: str) -> None:
        """Make the missing folders above a file; a rollback removes them."""
        for folder in self.disk.missing_folders(path):
            self._mine = self._mine.with_folder(folder)
            self._record(self.journal.with_folder(folder))
            self.disk.make_folder(folder)

    def _set(self, path: str, wanted: Optional[FileSnapshot]) -> None:
        now = self.disk.get(path)
        entry = self._known(path, now)
        if digest(now) == digest(wanted):
            return
        self.make_folders(path)
        ours = tuple({digest(now): None, digest(wanted): None})
        first = self._mine.entries.get(path, JournalEntry(now)).before
        self._mine = self._mine.with_entry(path, JournalEntry(first, ours))
        self._record(self.journal.with_entry(path, JournalEntry(entry.before, ours)))
        self.disk.set(path, wanted)

    def _known(self, path: str, now: Optional[FileSnapshot]) -> JournalEntry:
        entry = self.journal.entries.get(path, JournalEntry(now))
        if _edited(path, entry, now):
            raise edited_since(path)
        return entry

    def _record(self, journal: Journal) -> None:
        journals.write(self.disk, journal)
        self.journal = journal

    def _undo(self, error: BaseException) -> None:
        try:
            roll_back(self.disk, self._mine)
            # On a full disk the longer journal stays: it is right for this state as well.
            with suppress(LowlatError):
                self._record(self._at_first)
        except LowlatError as second:
            why = f"{error}; and what was written could not be taken back: {second}"
            raise LowlatError(why, hint="run 'lowlat-gen rollback'") from error


def edited_since(path: str) -> Refused:
    """The refusal to overwrite an edited file."""
    hint = "move it away, or take everything back with 'lowlat-gen rollback' first"
    return Refused(f"{path} was edited since lowlat wrote it", hint=hint)


def edited(disk: Disk, journal: Journal) -> list[str]:
    """The files that were changed since lowlat wrote them."""
    known = journal.entries.items()
    return [path for path, entry in known if _edited(path, entry, disk.get(path))]


def kept(disk: Disk, journal: Journal) -> list[str]:
    """The edited files that a rollback keeps: not lowlat's own state, which may be damaged."""
    return [path for path in edited(disk, journal) if not path.startswith(f"{files.STATE}/")]


def gone(disk: Disk, journal: Journal) -> list[str]:
    """The files that lowlat wrote last and that are not there any more."""
    nothing = digest(None)
    written = (path for path, entry in journal.entries.items() if entry.ours[-1:] != (nothing,))
    return [path for path in written if disk.get(path) is None and not _is_plan(path)]


def _edited(path: str, entry: JournalEntry, now: Optional[FileSnapshot]) -> bool:
    return not _is_plan(path) and entry.edited(now)


def _is_plan(path: str) -> bool:
    """Plans of kernels do not count: only lowlat and its hooks write them, without the journal."""
    return path.startswith(f"{PLANS}/")


def roll_back(disk: Disk, journal: Journal) -> list[str]:
    """Restore every file that the journal lists, byte for byte; files edited since are kept and
    returned. The journal itself stays, so that an interrupted rollback can be repeated."""
    stay = kept(disk, journal)
    for path, entry in reversed(list(journal.entries.items())):
        if path not in stay and digest(disk.get(path)) != digest(entry.before):
            disk.set(path, entry.before)
        disk.unstage(path)
    for folder in reversed(journal.folders):
        disk.remove_folder(folder)
    return stay
