# SPDX-License-Identifier: GPL-2.0-or-later
"""The folder of a rehearsal: what was asked for, and all that came of it, so that it can go on."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Optional

from lowlat.base import files
from lowlat.base.errors import Refused
from lowlat.base.files import state_folder
from lowlat.base.json_fields import read_value, write_value
from lowlat.rehearse.kernel import BootableKernel
from lowlat.rehearse.options import RehearseOptions

REQUEST = "request.json"

SCHEMA = "lowlat.rehearsal-request/1"

#: QEMU and virtme-ng give commas and equals signs in paths a meaning of their own.
_PLAIN_PATH = re.compile(r"[A-Za-z0-9._/+@~-]+")


def name(out: Optional[Path]) -> Path:
    """Where all results go: in the state folder's runs where nothing is named.

    Raises Refused where it cannot be shared with a guest or holds a rehearsal already.
    """
    folder = _shared("--out", out or state_folder() / "runs" / _now())
    if (folder / REQUEST).exists():
        raise Refused(
            f"--out {folder}: holds a rehearsal already",
            hint=f"--resume {folder} goes on with it, or name another folder",
        )
    return folder


@dataclass(frozen=True)
class Request:
    """What was asked for, the kernels that this stood for, and what the results are made with."""

    options: RehearseOptions
    kernels: tuple[BootableKernel, ...]
    made_with: Mapping[str, str]
    schema: str = SCHEMA

    def make(self, folder: Path) -> None:
        """Make the folder and keep this in it. Raises Refused where that is not possible."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _check_owner("--out", folder)
            write_value(folder / REQUEST, self)
        except OSError as error:
            hint = "name a writable folder"
            raise Refused(f"--out {folder}: {error.strerror}", hint=hint) from error

    @classmethod
    def read(cls, folder: Path) -> Optional[Request]:
        """What make() kept there; None where it kept nothing that can be read."""
        with suppress(OSError, ValueError, TypeError):
            found: Request = read_value(folder / REQUEST, cls)
            return found if found.schema == SCHEMA else None
        return None

    def check(self, made_with: Mapping[str, str]) -> None:
        """Raises Refused where boots made with this do not compare with those that are there."""
        for name, before in self.made_with.items():
            now = made_with.get(name, "")
            if now != before:
                raise Refused(
                    f"--resume: it was begun with {name} {before}, here is {now}",
                    hint="boots of both do not compare: begin another rehearsal",
                )


def resumed(named: Path) -> tuple[Path, RehearseOptions]:
    """The folder of a rehearsal and what was asked for there.

    Raises Refused where none was begun, or where a guest cannot share it.
    """
    folder = _shared("--resume", named)
    found = Request.read(folder)
    if found is None:
        raise Refused(
            f"--resume {named}: no rehearsal was begun there", hint="name the folder of its results"
        )
    return folder, found.options


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Have the folder alone. Raises Refused where another rehearsal is at work in it."""
    with ExitStack() as held:
        try:
            held.enter_context(files.locked(folder / REQUEST))
        except BlockingIOError as error:
            why = f"--resume {folder}: a rehearsal is at work there"
            raise Refused(why, hint="wait for its end") from error
        yield


def _shared(option: str, named: Path) -> Path:
    folder = Path(os.path.realpath(named))
    if not _PLAIN_PATH.fullmatch(str(folder)):
        only = "only letters, digits and ._/+@~- can be shared with a guest"
        raise Refused(f"{option} {folder}: {only}")
    if folder.exists() and not folder.is_dir():
        raise Refused(f"{option} {folder}: not a folder")
    _check_owner(option, folder)
    return folder


def _check_owner(option: str, folder: Path) -> None:
    """Raises Refused, for root, where others could put a file there or a link in its way."""
    for path in (folder, *folder.parents) if os.geteuid() == 0 else ():
        with suppress(FileNotFoundError):
            held = path.stat()
            kept = held.st_mode & stat.S_ISVTX and path != folder
            if held.st_uid != 0 or (held.st_mode & 0o022 and not kept):
                why = f"{option} {folder}: others than root can write {path}"
                raise Refused(why, hint="name a folder of root's, or rehearse as yourself")


def _now() -> str:
    return f"rehearsal-{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}"
