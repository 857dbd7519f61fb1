# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a run is kept that no file was named for."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from pathlib import Path

from lowlat.base.errors import Refused
from lowlat.base.files import STATE


def state_folder() -> Path:
    """/var/lib/lowlat for root, else lowlat in the user's XDG state folder."""
    if os.geteuid() == 0:
        return Path(STATE)
    return user_folder("XDG_STATE_HOME", ".local/state")


def user_folder(variable: str, default: str) -> Path:
    """lowlat's own folder below one of the XDG base directories.

    Raises Refused for a user without a home.
    """
    base = os.environ.get(variable, "")
    if base.startswith("/"):  # the specification has relative paths ignored
        return Path(base) / "lowlat"
    try:
        return Path.home() / default / "lowlat"
    except RuntimeError as error:
        raise Refused("this user has no home folder", hint=f"set HOME or {variable}") from error


def default_path(label: str) -> Path:
    """runs/LABEL-UTC.json in the state folder, which is made where it is missing.

    Raises Refused where it cannot be made or is a symbolic link.
    """
    folder = state_folder() / "runs"
    try:
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    except OSError as error:
        raise Refused(f"{folder}: {error.strerror}", hint="name a file with --out") from error
    for path in (folder.parent, folder):
        if path.is_symlink():
            raise Refused(f"{path}: is a symbolic link", hint="name a file with --out")
    return folder / f"{label}-{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}.json"
