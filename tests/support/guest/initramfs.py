# SPDX-License-Identifier: GPL-2.0-or-later
"""A small initramfs: busybox, an init script and kernel modules, packed for the kernel."""

from __future__ import annotations

import lzma
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from lowlat.rehearse.kernel import BootableKernel

_FOLDERS = ("bin", "dev", "etc", "proc", "run", "sys", "tmp")


def pack(files: Mapping[str, bytes], folders: Iterable[str] = ()) -> bytes:
    """A cpio archive in the format newc (Documentation/driver-api/early-userspace/
    buffer-format.rst) with these files, all executable, the folders above them and more folders."""
    parents = (str(parent) for path in files for parent in PurePosixPath(path).parents)
    made = sorted({*parents, *folders} - {"."})
    entries = [(path, stat.S_IFDIR | 0o755, b"") for path in made]
    entries += [(path, stat.S_IFREG | 0o755, data) for path, data in files.items()]
    entries.append(("TRAILER!!!", 0, b""))
    return b"".join(_entry(number, *entry) for number, entry in enumerate(entries, 1))


def _entry(number: int, path: str, mode: int, data: bytes) -> bytes:
    name = path.encode() + b"\0"
    # ino mode uid gid nlink mtime filesize devmajor devminor rdevmajor rdevminor namesize check
    numbers = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0)
    head = b"070701" + b"".join(b"%08X" % value for value in numbers) + name
    return _padded(head) + _padded(data)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)


def build(busybox: Path, init: str, more: Mapping[str, bytes]) -> bytes:
    """The archive with busybox as the shell of ``init``."""
    files = {"init": init.encode(), "bin/busybox": busybox.read_bytes(), **more}
    return pack(files, _FOLDERS)


def modules(kernel: BootableKernel, names: Iterable[str]) -> dict[str, bytes]:
    """The modules and their dependencies, decompressed, with the list for modprobe."""
    folder = kernel.image.parents[1] / "lib" / "modules" / kernel.release
    wanted = set(names)
    files: dict[str, bytes] = {}
    listed = []
    needed = dict(_dependencies((folder / "modules.dep").read_text()))
    for path in _closed(needed, wanted):
        files[f"lib/modules/{kernel.release}/{_plain(path)}"] = _unpacked(folder / path)
        listed.append(f"{_plain(path)}: {' '.join(map(_plain, needed[path]))}".rstrip())
    files[f"lib/modules/{kernel.release}/modules.dep"] = ("\n".join(listed) + "\n").encode()
    return files


def _dependencies(text: str) -> Iterator[tuple[str, list[str]]]:
    for line in text.splitlines():
        path, _, rest = line.partition(":")
        yield path, rest.split()


def _closed(needed: Mapping[str, list[str]], names: set[str]) -> list[str]:
    """The paths of the named modules and of all that they depend on."""
    found = [path for path in needed if _name(path) in names]
    return list(dict.fromkeys(path for first in found for path in (*needed[first], first)))


def _name(path: str) -> str:
    return PurePosixPath(path).name.partition(".")[0].replace("-", "_")


def _plain(path: str) -> str:
    return re.sub(r"\.xz$", "", path)


def _unpacked(path: Path) -> bytes:
    data = path.read_bytes()
    return lzma.decompress(data) if path.suffix == ".xz" else data
