# SPDX-License-Identifier: GPL-2.0-or-later
"""lowlat's state of this boot, in /run/lowlat, which a reboot clears; and its locks."""

import os
import posixpath
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress

from lowlat.base import files
from lowlat.base.errors import Refused
from lowlat.host.root import Root

FOLDER = "/run/lowlat"

_LOCK = f"{FOLDER}/lock"

#: In seconds: the lock's holder may wait for systemctl several times.
_PATIENT_S = 120.0


def exclusive_lock(root: Root) -> AbstractContextManager[None]:
    """The lock for changing the running kernel: start, stop and restore never overlap. Raises
    Refused if the other holder does not end. boot.transaction documents the order of all locks."""
    taken = Refused("another lowlat-gen is changing the running kernel", hint="let it end first")
    return locked(root, _LOCK, taken, _PATIENT_S)


@contextmanager
def locked(root: Root, path: str, taken: Refused, wait: float = 0.0) -> Iterator[None]:
    """Hold a lock of this boot. Raises ``taken`` after ``wait`` seconds if another holds it."""
    folder, name = posixpath.split(path)
    with ExitStack() as held:
        with files.reporting_errors(path):
            at = held.enter_context(root.folder(folder, make=True))
            held.enter_context(files.locked(name, os.O_RDWR | os.O_CREAT, at, wait, taken))
        yield


def keep(root: Root, path: str, text: str) -> None:
    """Write one of lowlat's files whole or not at all, through no link. All users can read it,
    whatever root's umask is. Raises Refused if that fails."""
    folder, name = posixpath.split(path)
    with files.reporting_errors(path), root.folder(folder, make=True) as at:
        files.replace(name, text.encode(), at, lambda fd: os.fchmod(fd, 0o644))


def forget(root: Root, path: str) -> None:
    """Remove one of lowlat's files, if it exists, and what killed writers of it left. Raises
    Refused if that fails."""
    folder, name = posixpath.split(path)
    with files.reporting_errors(path), suppress(FileNotFoundError), root.folder(folder) as at:
        files.remove_leftovers(at, name)
        os.unlink(name, dir_fd=at)


def sweep_run_folder(root: Root) -> None:
    """Remove what killed writers left in lowlat's folder."""
    with suppress(OSError), root.folder(FOLDER) as at:
        files.remove_leftovers(at)


def forget_folder(root: Root, path: str) -> None:
    """Remove a folder that keep() may have made, unless it has other files."""
    folder, name = posixpath.split(path)
    with suppress(OSError), root.folder(folder) as at:
        os.rmdir(name, dir_fd=at)
