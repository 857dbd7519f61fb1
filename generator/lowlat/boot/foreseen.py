# SPDX-License-Identifier: GPL-2.0-or-later
"""What a change would do, file by file, for dry runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.boot import journal as journals
from lowlat.boot.disk import FileSnapshot
from lowlat.boot.journal import JOURNAL
from lowlat.boot.transaction import LOCK, Transaction
from lowlat.host.root import Root
from lowlat.render import hooks


class Foreseen(Transaction):
    """A transaction that writes nothing and takes no lock. ``ways`` says by path what it would do:
    "add", "change", "remove", "restore" or "generate"."""

    def __init__(self, root: Root) -> None:
        super().__init__(root)
        self.ways: dict[str, str] = {}
        self._journalled: set[str] = set()

    def __enter__(self) -> Foreseen:
        self.journal = journals.read(self.disk)
        return self

    def __exit__(self, kind: object, error: Optional[BaseException], traceback: object) -> None:
        pass

    @property
    def program(self) -> str:
        """The package's, where none is installed that hooks can run."""
        try:
            return super().program
        except Refused:
            return hooks.PROGRAM

    def with_state(self) -> Mapping[str, str]:
        """The ways with those of the transaction's own files."""
        if self.ways and self.root.absent(LOCK):
            self.ways[LOCK] = "add"
        if self._journalled:
            self.ways[JOURNAL] = "add" if self.root.absent(JOURNAL) else "change"
        return self.ways

    def _set(self, path: str, wanted: Optional[FileSnapshot]) -> None:
        now = self.disk.get(path)
        self._known(path, now)
        self._journalled.add(path)
        if _kind(now) == _kind(wanted):
            self._journalled.discard(path)
            self.ways.pop(path, None)
        elif wanted is None:
            self.ways[path] = "remove"
        else:
            self.ways[path] = "add" if now is None else "change"

    def put(self, path: str, content: str) -> None:
        """A loader's file, whose mode is the file system's affair."""
        now = self.disk.get(path)
        if now is None or now.content != content.encode():
            self.ways[path] = "add" if now is None else "change"


def _kind(held: Optional[FileSnapshot]) -> object:
    return held and (held.content, held.link, held.link or held.mode)
