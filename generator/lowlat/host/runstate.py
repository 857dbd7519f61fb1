# SPDX-License-Identifier: GPL-2.0-or-later
"""What lowlat remembers of this boot, in /run/lowlat: it goes with the boot it belongs to."""

from __future__ import annotations

import errno
import os
import posixpath
from contextlib import suppress

from lowlat.base.errors import Refused
from lowlat.host.root import Root

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def keep(root: Root, path: str, text: str) -> None:
    """Write a file of ours whole or not at all, through no link. Raises Refused where that is not
    possible."""
    folder, name = posixpath.split(path)
    fresh = f"{name}.{os.getpid()}.new"
    try:
        with root.folder(folder, make=True) as at:
            with suppress(FileNotFoundError):
                os.unlink(fresh, dir_fd=at)
            fd = os.open(fresh, _NEW, 0o644, dir_fd=at)
            with os.fdopen(fd, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.rename(fresh, name, src_dir_fd=at, dst_dir_fd=at)
    except OSError as error:
        raise refusal(path, error) from error


def forget(root: Root, path: str) -> None:
    """Remove a file of ours, if it is there. Raises Refused where that is not possible."""
    folder, name = posixpath.split(path)
    try:
        with suppress(FileNotFoundError), root.folder(folder) as at:
            os.unlink(name, dir_fd=at)
    except OSError as error:
        raise refusal(path, error) from error


def refusal(path: str, error: OSError) -> Refused:
    """What to say where a file of ours cannot be written."""
    denied = error.errno in (errno.EACCES, errno.EPERM)
    hint = "run as root" if denied else "put right what stands in the way"
    linked = error.errno in (errno.ELOOP, errno.ENOTDIR)
    why = "a link or a file is in the way" if linked else error.strerror
    return Refused(f"{path}: {why}", hint=hint)
