# SPDX-License-Identifier: GPL-2.0-or-later
"""A transaction: everything lowlat writes to change the boot, journalled first; and its way back.

One runs at a time. What fails in the middle leaves things as they were when it began; a crash in
the middle leaves what ``roll_back`` takes back.
"""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import suppress
from types import TracebackType
from typing import Optional, Union

from lowlat.base import files
from lowlat.base.errors import LowlatError, Refused
from lowlat.boot import journal as journals
from lowlat.boot.disk import Disk
from lowlat.boot.file_snapshot import Held, digest
from lowlat.boot.journal import Entry, Journal
from lowlat.host.root import Root

_LOCK = f"{files.STATE}/lock"


class Lock:
    """Held by the one run that may change the boot. Raises Refused where another one has it.

    Where nothing is left in the state folder in the end, the folder goes too.
    """

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._fd = -1
        self._made: list[str] = []

    def __enter__(self) -> Lock:
        self._made = self._disk.make_folders(_LOCK)
        self._disk.check_ours(files.STATE)
        with self._disk.folder(files.STATE) as at:
            try:
                flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
                self._fd = os.open("lock", flags, 0o600, dir_fd=at)
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # The run before may have removed it just now.
                if not os.path.samestat(os.fstat(self._fd), os.stat("lock", dir_fd=at)):
                    raise BlockingIOError(errno.EAGAIN, "was removed")
            except OSError as error:
                self._close()
                if error.errno in (errno.EAGAIN, errno.EACCES, errno.ENOENT):
                    raise Refused(
                        "another lowlat-gen is changing the boot right now", hint="let it end first"
                    ) from error
                raise Refused(f"{_LOCK}: {error.strerror}", hint="run as root") from error
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(LowlatError):
            if self._disk.root.names(files.STATE) == ("lock",):
                self._disk.remove(_LOCK)
                for folder in reversed(self._made or [files.STATE]):
                    self._disk.remove_folder(folder)
        self._close()

    def _close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class Transaction:
    """Writes that are taken back together when the block they stand in fails."""

    def __init__(self, root: Root) -> None:
        self.root = root
        self.disk = Disk(root)
        self.journal = self._at_first = Journal()
        self._lock = Lock(self.disk)
        self._before: list[tuple[str, Optional[Held]]] = []
        self._folders: list[str] = []

    def __enter__(self) -> Transaction:
        self._lock.__enter__()
        try:
            self.journal = self._at_first = journals.read(self.disk)
        except LowlatError:
            self._lock.__exit__()
            raise
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        try:
            if error is not None:
                self._undo(error)
        finally:
            self._lock.__exit__()

    def write(self, path: str, content: Union[str, bytes], mode: int = 0o644) -> None:
        """Put a plain file there. Raises Refused where somebody edited what lowlat wrote."""
        data = content.encode() if isinstance(content, str) else content
        self._set(path, Held(data, mode))

    def link(self, path: str, target: str) -> None:
        self._set(path, Held(os.fsencode(target), 0o777, link=True))

    def discard(self, path: str) -> None:
        """Remove a file that is there."""
        self._set(path, None)

    def put_back(self, path: str) -> None:
        """Put back what was there before lowlat wrote this file: mostly nothing."""
        entry = self.journal.entries.get(path)
        if entry is not None:
            self._set(path, entry.before)

    def _set(self, path: str, wanted: Optional[Held]) -> None:
        now = self.disk.get(path)
        entry = self.journal.entries.get(path, Entry(now))
        if entry.edited(now):
            raise Refused(
                f"{path} was edited since lowlat wrote it",
                hint="move it away, or take everything back with 'lowlat-gen rollback' first",
            )
        if digest(now) == digest(wanted):
            return
        self._before.append((path, now))
        for folder in self.disk.missing_folders(path):
            self._folders.append(folder)
            self._record(self.journal.with_folder(folder))
            self.disk.make_folder(folder)
        ours = tuple({digest(now): None, digest(wanted): None})
        self._record(self.journal.with_entry(path, Entry(entry.before, ours)))
        self.disk.set(path, wanted)

    def _record(self, journal: Journal) -> None:
        journals.write(self.disk, journal)
        self.journal = journal

    def _undo(self, error: BaseException) -> None:
        try:
            for path, held in reversed(self._before):
                if digest(self.disk.get(path)) != digest(held):
                    self.disk.set(path, held)
            for folder in reversed(self._folders):
                self.disk.remove_folder(folder)
            # On a full disk the longer journal stays: it holds for this state as well.
            with suppress(LowlatError):
                self._record(self._at_first)
        except LowlatError as second:
            raise LowlatError(
                f"{error}; and what was written could not be taken back: {second}",
                hint="run 'lowlat-gen rollback'",
            ) from error


def edited(disk: Disk, journal: Journal) -> list[str]:
    """The files that somebody changed since lowlat wrote them."""
    return [path for path, entry in journal.entries.items() if entry.edited(disk.get(path))]


def roll_back(disk: Disk, journal: Journal) -> list[str]:
    """Put everything back that the journal tells of, byte for byte; what somebody edited since is
    kept and returned. The journal itself stays: whatever stops this, it can be done again."""
    kept = []
    for path, entry in reversed(list(journal.entries.items())):
        now = disk.get(path)
        if entry.edited(now):
            kept.append(path)
        elif digest(now) != digest(entry.before):
            disk.set(path, entry.before)
        disk.unstage(path)
    for folder in reversed(journal.folders):
        disk.remove_folder(folder)
    return kept
