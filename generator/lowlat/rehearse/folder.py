# SPDX-License-Identifier: GPL-2.0-or-later
"""The folder of a rehearsal: what was asked for, and all that came of it, so that it can go on."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Optional

from lowlat.errors import Refused
from lowlat.harness_output import state_folder
from lowlat.rehearse.options import RehearseOptions

REQUEST = "request.json"

SCHEMA = "lowlat.rehearsal-request/1"

#: QEMU and virtme-ng give commas and equals signs in paths a meaning of their own.
_PLAIN_PATH = re.compile(r"[A-Za-z0-9._/+@~-]+")


def name(out: Optional[Path]) -> Path:
    """Where all results go: in the state folder's runs where nothing is named.

    Raises Refused where it cannot be shared with a guest or holds a rehearsal already.
    """
    folder = out.absolute() if out else state_folder() / "runs" / _now()
    if not _PLAIN_PATH.fullmatch(str(folder)):
        raise Refused(
            f"--out {folder}: only letters, digits and ._/+@~- can be shared with a guest"
        )
    if (folder / REQUEST).exists():
        raise Refused(
            f"--out {folder}: holds a rehearsal already",
            hint=f"--resume {folder} goes on with it, or name another folder",
        )
    return folder


def make(folder: Path, options: RehearseOptions) -> None:
    """Make the folder and keep the request in it. Raises Refused where that is not possible."""
    document = {"schema": SCHEMA, **options.to_json()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / REQUEST).write_text(json.dumps(document, indent=2) + "\n")
    except OSError as error:
        raise Refused(f"--out {folder}: {error.strerror}", hint="name a writable folder") from error


def resumed(folder: Path) -> RehearseOptions:
    """What was asked for in a folder that make() has made. Raises Refused where it is none."""
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
        fields = json.loads((folder / REQUEST).read_text())
        if fields.pop("schema") == SCHEMA:
            return RehearseOptions.from_json(fields)
    raise Refused(
        f"--resume {folder}: no rehearsal was begun there", hint="name the folder of its results"
    )


def _now() -> str:
    return f"rehearsal-{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}"
