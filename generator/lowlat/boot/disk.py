# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of the host on disk: read, written and removed whole, never through a symbolic link."""

import errno
import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Optional

from lowlat.base import files
from lowlat.host.root import Root

#: Suffix of a temporary file, which is then renamed. grub-mkconfig runs no script whose name ends
#: in "~"; systemd, TuneD and the boot loaders read no such file.
BESIDE = ".lowlat~"

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_LARGEST = 64 << 20


@dataclass(frozen=True)
class FileSnapshot:
    """A file as a value, with everything needed to restore it exactly: a regular file, or a
    symbolic link whose content is its target. Its JSON form is the journal's."""

    content: bytes
    mode: int = 0o644
    uid: int = field(default_factory=os.geteuid)
    gid: int = field(default_factory=os.getegid)
    xattrs: Mapping[str, bytes] = field(default_factory=dict)
    link: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.mode <= 0o7777:
            raise ValueError("no mode of a file")

    def finish(self, fd: int) -> None:
        """Set owner, mode and extended attributes of a file that has the content."""
        if (self.uid, self.gid) != (os.geteuid(), os.getegid()):
            os.fchown(fd, self.uid, self.gid)
        os.fchmod(fd, self.mode)
        for label, value in self.xattrs.items():
            os.setxattr(fd, label, value)


def digest(held: Optional[FileSnapshot]) -> str:
    """Identifies type, mode, owner and content of a file; "absent" if there is no file."""
    if held is None:
        return "absent"
    kind = "link" if held.link else f"{held.mode:o} {held.uid} {held.gid}"
    return hashlib.sha256(kind.encode() + b"\0" + held.content).hexdigest()


class Disk:
    """The tree below a Root. Every method raises Refused, naming the path, if the file system
    refuses or a symbolic link is in the way."""

    def __init__(self, root: Root) -> None:
        self.root = root

    @contextmanager
    def folder(self, path: str) -> Iterator[int]:
        """The open folder, reached without any symbolic link."""
        with files.reporting_errors(path), self.root.folder(path) as fd:
            yield fd

    @contextmanager
    def above(self, path: str) -> Iterator[tuple[int, str]]:
        """The open folder of a file, and the file's name in it."""
        folder, _, name = path.rpartition("/")
        with self.folder(folder or "/") as at, files.reporting_errors(path):
            yield at, name

    def get(self, path: str) -> Optional[FileSnapshot]:
        """The file; None if it or its folder does not exist."""
        if self.root.absent(path):
            return None
        with self.above(path) as (at, name):
            try:
                status = os.stat(name, dir_fd=at, follow_symlinks=False)
            except FileNotFoundError:
                return None
            if stat.S_ISLNK(status.st_mode):
                target = os.fsencode(os.readlink(name, dir_fd=at))
                return FileSnapshot(target, 0o777, status.st_uid, status.st_gid, link=True)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(errno.EINVAL, "is not a regular file")
            return _read(os.open(name, _READ, dir_fd=at))

    def put(self, path: str, held: FileSnapshot) -> None:
        """Replace the file: write a temporary one, then rename it; both reach the disk."""
        self.stage(path, held)
        self.commit(path)

    def stage(self, path: str, held: FileSnapshot) -> str:
        """Write the temporary file; returns its path, to be checked before commit()."""
        with self.above(path) as (at, name):
            _write(at, name + BESIDE, held)
        return path + BESIDE

    def commit(self, path: str) -> None:
        """Rename the temporary file into place; if that fails, put the old file back."""
        before = self.get(path)
        with self.above(path) as (at, name):
            try:
                os.rename(name + BESIDE, name, src_dir_fd=at, dst_dir_fd=at)
                _sync_place(at, name)
                os.fsync(at)
            except OSError:
                with suppress(OSError):
                    _put_back(at, name, before)
                raise

    def unstage(self, path: str) -> None:
        """Remove a temporary file that was left behind."""
        self.remove(path + BESIDE)

    def remove(self, path: str) -> None:
        """Remove the file if it exists."""
        if self.root.absent(path):
            return
        with self.above(path) as (at, name):
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=at)
            os.fsync(at)

    def set(self, path: str, held: Optional[FileSnapshot]) -> None:
        """Write the file, or remove it (None)."""
        if held is None:
            self.remove(path)
        else:
            self.put(path, held)

    def make_folder(self, path: str) -> None:
        with self.above(path) as (at, name):
            try:
                os.mkdir(name, 0o700, dir_fd=at)
            except FileExistsError:
                return  # another process made it
            fd = os.open(name, _FOLDER, dir_fd=at)
            os.fchmod(fd, 0o755)
            os.close(fd)
            os.fsync(at)

    def make_folders(self, path: str) -> list[str]:
        """Make the missing folders above a file; returns them, the uppermost first."""
        missing = self.missing_folders(path)
        for folder in missing:
            self.make_folder(folder)
        return missing

    def remove_folder(self, path: str) -> None:
        """Remove the folder if it is empty."""
        if self.root.absent(path):
            return
        with self.above(path) as (at, name):
            try:
                os.rmdir(name, dir_fd=at)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.EBUSY):
                    raise
            os.fsync(at)

    def missing_folders(self, path: str) -> list[str]:
        """The folders above a file that do not exist, the uppermost first."""
        parts = path.strip("/").split("/")[:-1]
        above = ["/" + "/".join(parts[: count + 1]) for count in range(len(parts))]
        return [folder for folder in above if self.root.absent(folder)]


def _read(fd: int) -> FileSnapshot:
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(fd)
        content = file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise OSError(errno.EFBIG, "is too large")
        xattrs = {name: os.getxattr(fd, name) for name in _xattr_names(fd)}
    return FileSnapshot(content, stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid, xattrs)


def _xattr_names(fd: int) -> list[str]:
    try:
        return os.listxattr(fd)
    except OSError:
        return []  # the file system has no extended attributes


def _sync_place(at: int, name: str) -> None:
    """On FAT, where a renamed file lies is written with the file, not with its folder, and the
    clusters of the file it replaces may be freed before (vfat_rename() of fs/fat/namei_vfat.c)."""
    if stat.S_ISREG(os.lstat(name, dir_fd=at).st_mode):
        with os.fdopen(os.open(name, _READ, dir_fd=at), "rb") as file:
            os.fsync(file.fileno())


def _put_back(at: int, name: str, before: Optional[FileSnapshot]) -> None:
    if before is not None:
        _write(at, name + BESIDE, before)
        os.rename(name + BESIDE, name, src_dir_fd=at, dst_dir_fd=at)
        return
    for path in (name + BESIDE, name):
        with suppress(FileNotFoundError):
            os.unlink(path, dir_fd=at)


def _write(at: int, name: str, held: FileSnapshot) -> None:
    if held.link:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=at)
        os.symlink(held.content, os.fsencode(name), dir_fd=at)
    else:
        files.stage(name, held.content, at, 0o600, held.finish)
