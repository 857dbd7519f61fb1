# SPDX-License-Identifier: GPL-2.0-or-later
"""Which lines were tried: what a trial was set for, what came up, what was promoted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any, Optional

from lowlat.base import files
from lowlat.base.errors import Refused
from lowlat.boot.disk import Disk
from lowlat.boot.file_snapshot import Held
from lowlat.host.root import Root

TRIALS = f"{files.STATE}/trials.json"

SCHEMA = "lowlat.trials/1"


@dataclass(frozen=True)
class Pending:
    """A trial that was asked for: the entry tried, its trial entry's words, the boot before it."""

    entry: str
    release: str
    words: tuple[str, ...]
    boot_id: str


@dataclass(frozen=True)
class Trials:
    """``seen`` are the ids of entries whose trial came up; ``failed`` says of the last trial why it
    did not; ``promoted`` is the entry made the default, ``follow`` whether newer kernels follow."""

    pending: Optional[Pending] = None
    seen: tuple[str, ...] = ()
    failed: str = ""
    promoted: Optional[str] = None
    follow: bool = False

    def came_up(self, entry: str) -> Trials:
        return replace(self, pending=None, failed="", seen=(*_without(self.seen, entry), entry))


def read(root: Root) -> Trials:
    """Raises Refused where the record is damaged."""
    held = Disk(root).get_ours(TRIALS)
    if held is None:
        return Trials()
    try:
        document = json.loads(held.content)
        if document.pop("schema") != SCHEMA:
            raise ValueError("another schema")
        return _build(document)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        hint = "remove it: then nothing counts as tried"
        raise Refused(f"{TRIALS} is damaged", hint=hint) from error


@contextmanager
def written(root: Root, trials: Trials) -> Iterator[None]:
    """The new record stands first; where the block then fails, the old one is put back."""
    disk = Disk(root)
    before = disk.get(TRIALS)
    write(root, trials)
    try:
        yield
    except BaseException:
        disk.set(TRIALS, before)
        raise


def write(root: Root, trials: Trials) -> None:
    document = {"schema": SCHEMA, **asdict(trials)}
    Disk(root).put(TRIALS, Held((json.dumps(document, indent=1) + "\n").encode()))


def _build(document: Any) -> Trials:
    pending = document.pop("pending")
    seen = tuple(str(entry) for entry in document.pop("seen"))
    if pending is not None:
        pending = Pending(**{**pending, "words": tuple(str(word) for word in pending["words"])})
    return Trials(pending=pending, seen=seen, **document)


def _without(entries: Sequence[str], entry: str) -> tuple[str, ...]:
    return tuple(each for each in entries if each != entry)
