# SPDX-License-Identifier: GPL-2.0-or-later
"""Write a file that a user named, whole or not at all; and the folders of lowlat's files."""

import errno
import fcntl
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Callable, Optional, Union

from lowlat.base import resources
from lowlat.base.errors import Refused

#: Where root's plans and runs are kept.
STATE = "/var/lib/lowlat"

#: How often a waiting process looks again, in seconds.
LOOK_S = 0.05

_HINT = "name a file you can write"

#: The name of a new file, until it takes the place of the old one: the file's name and the writer.
_FRESH = re.compile(r"(.+)\.([1-9][0-9]*)\.new")

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

#: The hint for each error, by the name of its errno.
_HINTS = resources.texts("base/hints.ini")["hints"]


@contextmanager
def reporting_errors(path: str, hint: Optional[str] = None) -> Iterator[None]:
    """Turn OSError in the block, or ValueError for an impossible path, into Refused with the path
    and a hint."""
    try:
        yield
    except (OSError, ValueError) as error:
        number = getattr(error, "errno", 0)
        why = getattr(error, "strerror", None) or "no such name is possible"
        if number in (errno.ELOOP, errno.ENOTDIR):
            why = "a symbolic link or a file is in the way"
        known = _HINTS.get(errno.errorcode.get(number, ""))
        raise Refused(f"{path}: {why}", hint=hint or known) from error


def stage(
    name: str,
    data: bytes,
    dir_fd: Optional[int] = None,
    mode: int = 0o644,
    finish: Callable[[int], None] = lambda fd: None,
) -> None:
    """Write a new file, through no link, and sync it to disk; ``finish`` may set its owner by its
    descriptor. A file that an earlier call left is removed first; if this call fails, the new file
    is removed."""
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=dir_fd)
    try:
        with os.fdopen(os.open(name, _NEW, mode, dir_fd=dir_fd), "wb") as file:
            file.write(data)
            file.flush()
            finish(file.fileno())
            os.fsync(file.fileno())
    except OSError:
        with suppress(OSError):
            os.unlink(name, dir_fd=dir_fd)
        raise


def replace(
    name: str,
    data: bytes,
    dir_fd: Optional[int] = None,
    finish: Callable[[int], None] = lambda fd: None,
) -> None:
    """Replace a file, whole or not at all; ``finish`` as for stage(). Raises OSError. What killed
    writers of this file left is removed."""
    remove_leftovers(str(Path(name).parent) if dir_fd is None else dir_fd, Path(name).name)
    fresh = f"{name}.{os.getpid()}.new"
    stage(fresh, data, dir_fd, finish=finish)
    try:
        os.rename(fresh, name, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
    except OSError:
        with suppress(OSError):
            os.unlink(fresh, dir_fd=dir_fd)
        raise


def remove_leftovers(folder: Union[str, int], name: str = "") -> None:
    """Remove the new files of a folder, or those of one file, whose writers were killed."""
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY) if isinstance(folder, str) else folder
    try:
        for found in filter(None, map(_FRESH.fullmatch, os.listdir(at))):  # noqa: PTH208 (a descriptor)
            if name in ("", found[1]) and not Path("/proc", found[2]).exists():
                with suppress(OSError):
                    os.unlink(found[0], dir_fd=at)
    finally:
        if at != folder:
            os.close(at)


def check(what: str, out: str) -> None:
    """Raises Refused if write() could not write there; called before the data is made."""
    with reporting_errors(f"{what} {out}", _HINT):
        if os.path.lexists(out) and not stat.S_ISREG(os.lstat(out).st_mode):
            raise Refused(f"{what} {out}: is there and is not a plain file", hint=_HINT)
        fresh = f"{out}.{os.getpid()}.new"
        stage(fresh, b"")
        Path(fresh).unlink()


def write(what: str, out: str, data: bytes) -> None:
    """Write the data beside the file, then rename it into place; ``what`` is the option's name.
    Raises Refused if that fails, and then leaves nothing behind."""
    check(what, out)
    with reporting_errors(f"{what} {out}", _HINT):
        replace(out, data)


@contextmanager
def locked(
    path: Union[str, Path],
    flags: int = os.O_RDONLY,
    dir_fd: Optional[int] = None,
    wait: float = 0.0,
    taken: Optional[Refused] = None,
) -> Iterator[int]:
    """Lock a file or folder while the block runs; yields the descriptor. Raises ``taken``, or
    BlockingIOError, if another process holds the lock for over ``wait`` seconds; OSError if it is a
    link or cannot be opened; FileNotFoundError also if the previous holder removed it."""
    until = time.monotonic() + wait
    fd = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=dir_fd)
    try:
        while not _held(fd):
            if time.monotonic() >= until:
                raise taken or BlockingIOError(errno.EWOULDBLOCK, "somebody else holds it")
            time.sleep(LOOK_S)
        if not os.path.samestat(os.fstat(fd), os.stat(path, dir_fd=dir_fd)):
            raise FileNotFoundError(errno.ENOENT, "is another one now")
        yield fd
    finally:
        os.close(fd)


def _held(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def make_folder(folder: Path, option: str) -> Path:
    """Create a folder for lowlat's files if it is missing. Raises Refused if that fails or the
    folder is a symbolic link; the hint then suggests ``option`` to name a file elsewhere."""
    hint = f"name a file with {option}"
    with reporting_errors(str(folder), hint):
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    if folder.is_symlink():
        raise Refused(f"{folder}: is a symbolic link", hint=hint)
    return folder


def state_folder() -> Path:
    """/var/lib/lowlat for root, else lowlat in the user's XDG state folder."""
    if os.geteuid() == 0:
        return Path(STATE)
    return user_folder("XDG_STATE_HOME", ".local/state")


def user_folder(variable: str, default: str) -> Path:
    """lowlat's folder below an XDG base directory. Raises Refused for a user without a home."""
    base = os.environ.get(variable, "")
    if base.startswith("/"):  # the specification has relative paths ignored
        return Path(base) / "lowlat"
    try:
        return Path.home() / default / "lowlat"
    except RuntimeError as error:
        raise Refused("this user has no home folder", hint=f"set HOME or {variable}") from error
