# SPDX-License-Identifier: GPL-2.0-or-later
"""Opens and reads files that a user named or that others gave: only plain files, none larger than
its limit, and below a folder that was given only what lies inside it.

Opening a device makes its driver act, and opening a FIFO waits: neither is ever opened.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Optional, Union

from lowlat.base import bounds

READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
_FOLDER = os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY

_CHUNK = 1 << 16

_Path = Union[str, PathLike[str]]


def open_file(path: _Path, flags: int = READ, *, inside: Optional[_Path] = None) -> int:
    """The descriptor of a plain file, which lies ``inside`` this folder once every link is
    followed. Raises OSError if it is no such file, ValueError for an impossible name."""
    at = os.open(path, os.O_PATH | os.O_CLOEXEC | flags & os.O_NOFOLLOW)
    try:
        mode = os.fstat(at).st_mode
        if stat.S_ISDIR(mode):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "not a plain file")
        _check(at, inside)
        return os.open(f"/proc/self/fd/{at}", flags & ~os.O_NOFOLLOW)
    finally:
        os.close(at)


@contextmanager
def opened_file(path: _Path, flags: int = READ, *, inside: Optional[_Path] = None) -> Iterator[int]:
    """As open_file(), for the block alone."""
    fd = open_file(path, flags, inside=inside)
    try:
        yield fd
    finally:
        os.close(fd)


def read(
    path: _Path,
    limit: int,
    *,
    inside: Optional[_Path] = None,
    follow: bool = True,
    whole: bool = True,
) -> bytes:
    """The content of a plain file, at most ``limit`` bytes; as open_file() otherwise. A path that
    is itself a link is followed only with ``follow``; with ``whole`` unset, what is larger is cut.
    """
    with opened_file(path, READ if follow else READ | os.O_NOFOLLOW, inside=inside) as fd:
        size = os.fstat(fd).st_size
        data = b"" if whole and size > limit else read_open_file(fd, limit + 1)
    if whole and max(size, len(data)) > limit:
        raise OSError(errno.EFBIG, f"larger than {_amount(limit)}")
    return data[:limit]


def read_open_file(fd: int, limit: int) -> bytes:
    """What an open file holds from here on, cut to so many bytes."""
    chunks = []
    size, wanted = 0, os.fstat(fd).st_size
    while size < limit:
        chunk = os.read(fd, min(limit - size, max(wanted - size, _CHUNK)))
        if not chunk:
            break
        chunks.append(chunk)
        size += len(chunk)
    return b"".join(chunks)


def read_lines(path: _Path) -> Iterator[str]:
    """The lines of a plain file of any size, one at a time; one too long for a line is cut in
    several. Raises as open_file()."""
    with os.fdopen(open_file(path), encoding="utf-8", errors="replace") as file:
        yield from iter(partial(file.readline, bounds.LINE), "")


def list_folder(folder: _Path, *, inside: Optional[_Path] = None) -> list[str]:
    """The sorted names in a folder. Raises OSError if it cannot be read, lies outside, or has more
    names than any folder."""
    fd = os.open(folder, _FOLDER)
    try:
        _check(fd, inside)
        with os.scandir(fd) as entries:
            found = [entry.name for entry in islice(entries, bounds.FOLDER + 1)]
    finally:
        os.close(fd)
    if len(found) > bounds.FOLDER:
        raise OSError(errno.EFBIG, "more names than any folder has")
    return sorted(found)


def _amount(size: int) -> str:
    return f"{size >> 20} MiB" if size >> 20 else f"{size >> 10} KiB"


def check_inside(path: _Path, folder: Optional[_Path]) -> None:
    """Raises OSError if what has this path lies outside the folder, once every link is followed."""
    at = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        _check(at, folder)
    finally:
        os.close(at)


def _check(fd: int, folder: Optional[_Path]) -> None:
    """Raises OSError, as openat2(2) does below a folder, if an open file does not lie in it."""
    if folder is None:
        return
    place = f"{Path(f'/proc/self/fd/{fd}').readlink()}/"
    top = os.fspath(folder)
    # Resolving takes a call for each part of the path, and most callers know the real one.
    if not (top and place.startswith(f"{top}/")):
        top = os.path.realpath(top)
        if not place.startswith(f"{top.rstrip('/')}/"):
            raise OSError(errno.EXDEV, f"leads out of {top}")
