# SPDX-License-Identifier: GPL-2.0-or-later
"""What lowlat remembers of this boot, in /run/lowlat: it goes with the boot it belongs to."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from lowlat.base.errors import Refused
from lowlat.host.root import Root


def keep(root: Root, path: str, text: str) -> None:
    """Write a file of ours whole or not at all. Raises Refused where that is not possible."""
    target = Path(root.host(path))
    fresh = target.with_suffix(".new")
    try:
        target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o644)
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(target)
    except OSError as error:
        raise _refusal(path, error) from error


def forget(root: Root, path: str) -> None:
    """Remove a file of ours, if it is there. Raises Refused where that is not possible."""
    try:
        Path(root.host(path)).unlink(missing_ok=True)
    except OSError as error:
        raise _refusal(path, error) from error


def _refusal(path: str, error: OSError) -> Refused:
    denied = error.errno in (errno.EACCES, errno.EPERM)
    hint = "run as root" if denied else "put right what stands in the way"
    return Refused(f"{path}: {error.strerror}", hint=hint)
