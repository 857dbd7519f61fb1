# SPDX-License-Identifier: GPL-2.0-or-later
"""Replays a log of cut.c on an ext4 image and stores what a power cut leaves after each call.

    unshare -m replay.py LOG ROOT IMAGE OUT

IMAGE has the tree before the verb; calls outside of ROOT are skipped. The image is mounted with
data=ordered, noauto_da_alloc and a commit interval that never elapses, so the kernel itself
determines what a cut leaves. ext4 commits its metadata in order; an fsync commits all of it so far,
and a file's data at the latest with the file's own fsync. So after each call the disk is copied
twice: as it is (content since the last fsync may be missing: "none"), and after an fsync of another
file committed the metadata (a rename is there, data without an fsync is not: "metadata").
test_cuts.py covers the states with all data.

Each copy gets its journal replayed and passes e2fsck without repairs. Its files are written to
OUT/NUMBER, once per content. The last line of the output is JSON: the number of copies, and the
states with the call and the kind of the first cut that led to them.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, NamedTuple

_OPTIONS = "loop,data=ordered,noauto_da_alloc,commit=300"
#: The folders that a cut changes and that the tests restore.
KEPT = ("boot", "etc", "var")


class Call(NamedTuple):
    """One call, in the order of the log; ``number`` is cut.c's number."""

    number: int
    name: str
    path: str
    first: int
    second: int
    data: bytes


def read_log(path: Path) -> Iterator[Call]:
    with path.open("rb") as file:
        for row in file:
            number, name, where, first, second, size = row.decode().rstrip("\n").split("\t")
            data = file.read(int(size))
            assert file.read(1) == b"\n"
            yield Call(int(number), name, where, int(first), int(second), data)


def calls_below(path: Path, root: Path) -> list[Call]:
    """The calls that changed the stored folders."""
    tops = tuple(f"{root / top}/" for top in KEPT)
    return [call for call in read_log(path) if f"{call.path}/".startswith(tops)]


def redo(call: Call, old: str, new: str) -> None:
    """Repeat the call in another tree. An unknown call raises KeyError."""

    def moved(path: str) -> Path:
        assert path.startswith(f"{old}/"), path
        return Path(new + path[len(old) :])

    path = moved(call.path)
    if call.name == "open":
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | call.first, call.second))
    elif call.name in ("write", "fsync"):
        fd = os.open(path, os.O_RDONLY if path.is_dir() else os.O_WRONLY)
        if call.name == "write":
            os.pwrite(fd, call.data, call.first)
        else:
            os.fsync(fd)
        os.close(fd)
    else:
        names: dict[str, Callable[[], object]] = {
            "chmod": lambda: path.chmod(call.first),
            "chown": lambda: os.chown(path, call.first, call.second),
            "mkdir": lambda: path.mkdir(call.first),
            "rename": lambda: path.rename(moved(os.fsdecode(call.data))),
            "rmdir": path.rmdir,
            "symlink": lambda: path.symlink_to(os.fsdecode(call.data)),
            "truncate": lambda: os.truncate(path, call.first),
            "unlink": path.unlink,
        }
        names[call.name]()


def must(*words: object) -> None:
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, (words, done.returncode, done.stdout, done.stderr)


def content_of(tree: Path, tops: Sequence[str] = KEPT) -> str:
    """A digest of the content of these folders of a tree."""
    found = hashlib.sha256()
    for top in tops:
        for path in sorted((tree / top).rglob("*")):
            held = path.lstat()
            data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            if path.is_symlink():
                data = os.fsencode(path.readlink())
            row = (str(path.relative_to(tree)), held.st_mode, held.st_uid, held.st_gid, len(data))
            found.update(repr(row).encode() + data)
    return found.hexdigest()


@dataclass
class Disk:
    """The image during the writes, and the states found on its copies."""

    image: Path
    out: Path
    copies: int = 0
    seen: set[str] = field(default_factory=set)
    states: list[dict[str, object]] = field(default_factory=list)

    def cut(self, number: int, call: Call, kind: str, root: str) -> None:
        self.copies += 1
        data = self.image.read_bytes()
        name = hashlib.sha256(data).hexdigest()
        if name in self.seen:
            return
        self.seen.add(name)
        copy = self.out / "copy"
        copy.write_bytes(data)
        must("e2fsck", "-y", "-E", "journal_only", copy)
        must("e2fsck", "-fn", copy)
        tree = self.out / str(len(self.states))
        tree.mkdir()
        must("debugfs", "-R", f"rdump {' '.join(KEPT)} {tree}", copy)
        content = content_of(tree)
        if content in self.seen:
            shutil.rmtree(tree)
            return
        self.seen.add(content)
        where = f"{number} ({call.name} {call.path[len(root) :]}), {kind}"
        self.states.append({"folder": str(tree), "where": where})


def main() -> None:
    log, root, image, out = map(Path, sys.argv[1:])
    above = str(root).rstrip("/")
    mounted = out / "mounted"
    mounted.mkdir(parents=True)
    os.umask(0o022)
    must("mount", "-t", "ext4", "-o", _OPTIONS, image, mounted)
    bystander = os.open(mounted / "bystander", os.O_RDWR | os.O_CREAT, 0o600)
    os.fsync(bystander)
    disk = Disk(image, out)
    try:
        for number, call in enumerate(calls_below(log, root), 1):
            redo(call, above, str(mounted))
            disk.cut(number, call, "none", above)
            # One byte more: with an unchanged modification time there would be nothing to commit.
            os.pwrite(bystander, b".", number)
            os.fsync(bystander)
            disk.cut(number, call, "metadata", above)
    finally:
        os.close(bystander)
        must("umount", mounted)
    print(json.dumps({"copies": disk.copies, "states": disk.states}))


if __name__ == "__main__":
    main()
