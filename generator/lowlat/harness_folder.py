# SPDX-License-Identifier: GPL-2.0-or-later
"""A private folder for what the harness records, gone with whoever asked for it.

Its owner holds it locked, so a folder that nobody holds was left by one that was killed; the next
one takes it away.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

#: Nobody names a folder of his own like that.
_PREFIX = ".lowlat-causes-"

#: Between making a folder and holding it passes less.
_NEW_S = 60.0


@contextmanager
def private_folder() -> Iterator[Path]:
    """A new folder (mode 0700) below $TMPDIR or /tmp. Raises OSError where none can be made."""
    _sweep(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as name, _held(Path(name)):
        yield Path(name)


def _sweep(parent: Path) -> None:
    for folder in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            status = folder.lstat()
            if status.st_uid == os.geteuid() and time.time() - status.st_mtime > _NEW_S:
                with _held(folder):
                    shutil.rmtree(folder)


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Lock the folder; raises OSError where somebody else holds it, or it is a link."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)
