# SPDX-License-Identifier: GPL-2.0-or-later
"""The host's files, live or captured, behind one small reading interface.

Paths are those of the host ("/sys/devices/system/cpu/online"). ``None`` means that a file cannot be
read: unknown, never absent. Only this module opens the host's files for reading.
"""

from __future__ import annotations

import fnmatch
import os
import posixpath
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Callable, Optional

from lowlat.base import bounds, reader, trust
from lowlat.model.cpuset import CpuSet, CpuSetError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

CPU = "/sys/devices/system/cpu"

#: A new number in every boot (Documentation/admin-guide/sysctl/kernel.rst, random).
BOOT_ID = "/proc/sys/kernel/random/boot_id"

#: Prefixes of files with one value each.
_VALUES = ("/sys/", "/proc/sys/", "/proc/cmdline", "/proc/irq/")

#: Where a captured machine keeps the answers of the host's programs and libraries.
ANSWERS = "/.lowlat"


class Root:
    """The tree below a folder: ``/`` for the running machine, another folder for a captured one.
    Programs of a tree may run only if it is ``trusted``: this machine's, or one that the user had
    a verb write to."""

    trusted = False

    def __init__(self, path: str = "/", *, trusted: bool = False) -> None:
        self.path = os.path.realpath(path)
        self.live = self.path == "/"
        self.trusted = trusted or self.live
        self._prefix = "" if self.live else self.path

    def read_bytes(self, path: str) -> Optional[bytes]:
        """The file's content, unpacked if gzip compressed it; None if it is missing, vanished,
        unreadable or a link loop."""
        try:
            with self.opened(path) as fd:
                return bounds.unpack(reader.read_open_file(fd, bounds.HOST_FILE), bounds.HOST_FILE)
        except (OSError, ValueError):  # a name from a file may hold a NUL
            return None

    def open(self, path: str, flags: int) -> int:
        """Open a file of the host; in a captured tree, only a plain file inside the tree. Raises
        OSError otherwise, for opening a device makes its driver act; ValueError for an impossible
        name."""
        if self.live:
            return os.open(path, flags)
        return reader.open_file(self._prefix + path, flags, inside=self.path)

    @contextmanager
    def opened(self, path: str) -> Iterator[int]:
        """A file of the host for reading while the block runs; raises as open()."""
        fd = self.open(path, reader.READ)
        try:
            yield fd
        finally:
            os.close(fd)

    def host(self, path: str) -> str:
        """The real path of a host's path, for the few callers that write."""
        return self._prefix + path

    def check_owned(self, path: str) -> None:
        """Raises Refused, for root, if others than root can change or create this file."""
        trust.check(path, self.path)

    @contextmanager
    def folder(self, path: str, *, make: bool = False) -> Iterator[int]:
        """The folder's descriptor for callers that write, opened without following any link;
        ``make`` creates missing folders, which all users can read. Raises OSError if that fails or
        a link is in the way."""
        fd = os.open(self.path, _FOLDER)
        try:
            for part in filter(None, path.split("/")):
                made = False
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, 0o755, dir_fd=fd)
                        made = True
                below = os.open(part, _FOLDER, dir_fd=fd)
                if made:
                    os.fchmod(below, 0o755)  # whatever root's umask is
                os.close(fd)
                fd = below
            yield fd
        finally:
            os.close(fd)

    def names(self, path: str) -> tuple[str, ...]:
        """The sorted names in a folder; empty if it is missing."""
        try:
            if self.live:
                return tuple(sorted(os.listdir(path)))
            return tuple(reader.list_folder(self._prefix + path, inside=self.path))
        except (OSError, ValueError):
            return ()

    def exists(self, path: str) -> bool:
        return os.path.lexists(self._prefix + path)

    def absent(self, path: str) -> bool:
        """Whether the file certainly does not exist; False also if permission is lacking."""
        try:
            os.lstat(self._prefix + path)
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return True
        except OSError:
            return False
        return False

    def known_absent(self, path: str) -> bool:
        """As absent(); of a captured machine only what its capture looked for."""
        return self.absent(path)

    def link(self, path: str) -> Optional[str]:
        """The target of a symbolic link, as written."""
        try:
            return os.readlink(self._prefix + path)
        except OSError:
            return None

    def mode(self, path: str) -> Optional[int]:
        """The permission bits of a file."""
        try:
            return os.stat(self._prefix + path).st_mode & 0o7777
        except (OSError, ValueError):
            return None

    def answer(self, name: str, ask: Callable[[Root], str]) -> str:
        """The answer of ``ask``; a capture records it, a captured machine repeats it."""
        said = None if self.live else self.read(f"{ANSWERS}/{name}")
        return ask(self) if said is None else said

    # The methods below use only the seven above.

    def read(self, path: str) -> Optional[str]:
        data = self.read_bytes(path)
        if data is None or (len(data) > bounds.HOST_VALUE and path.startswith(_VALUES)):
            return None
        return data.decode("utf-8", "replace").strip("\n\0 \t")

    def read_int(self, path: str) -> Optional[int]:
        text = self.read(path)
        try:
            return None if text is None or len(text) > 20 else int(text, 10)
        except ValueError:
            return None

    def read_cpus(self, list_path: str, mask_path: Optional[str] = None) -> Optional[CpuSet]:
        """The CPUs in a list file, or in the mask file beside it if there is no list."""
        for path, parse in ((list_path, CpuSet.parse_list), (mask_path, CpuSet.parse_mask)):
            text = self.read(path) if path else None
            if text is None:
                continue
            try:
                return parse(text)
            except CpuSetError:
                continue
        return None


def glob(root: Root, pattern: str) -> list[str]:
    """The existing paths that match a pattern; a path without wildcards is returned as it is."""
    if not is_glob(pattern):
        return [pattern]
    paths = [""]
    for part in pattern.strip("/").split("/"):
        paths = [
            f"{folder}/{name}"
            for folder in paths
            for name in (root.names(folder or "/") if is_glob(part) else (part,))
            if name == part or fnmatch.fnmatchcase(name, part)
        ]
    return [path for path in paths if root.exists(path)]


def real_path(root: Root, path: str) -> str:
    """The path with a linked folder resolved: CPUs that share a frequency have one policy
    (cpu1/cpufreq is ../cpufreq/policy0)."""
    folder, _, name = path.rpartition("/")
    link = root.link(folder) if folder.startswith("/") else None
    return path if link is None else posixpath.normpath(f"{folder}/../{link}/{name}")


def is_glob(text: str) -> bool:
    return any(sign in text for sign in "*[?")
