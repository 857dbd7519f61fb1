# SPDX-License-Identifier: GPL-2.0-or-later
"""A captured machine as one text archive: what a probe asked of its root, with the answers.

The first line names the format. Then one record a line, with a blank between its words:

    f PATH TEXT     a file of one line          l PATH TARGET   a symbolic link
    f PATH          any other file; its lines   d PATH NAMES    a folder's names
                    follow, each after a "|"    m PATH MODE     permission bits, octal
    e PATH          something is there          # TEXT          a remark

A lone "\\" ends a file whose last line has no newline. Bytes that are not printable text,
backslashes, and blanks in paths and names are written as \\xNN. Missing files have no record: the
evidence lists those that were looked for in an answer.
"""

import io
import os
import posixpath
import re
import stat
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Callable, Optional, TypeVar

from lowlat import __version__
from lowlat.base import bounds, files, reader
from lowlat.base.errors import Refused
from lowlat.host import tar_file
from lowlat.host.root import ANSWERS, Root

SCHEMA = "lowlat.capture/1"

#: The bytes that tell what a file is: a block of tar.
_HEAD = 512

#: The answer that lists what a capture looked for in vain, a path a line.
ABSENT = "absent"

_UNPRINTABLE = re.compile("[\\\\\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_ESCAPE = re.compile(rb"\\x[0-9a-f]{2}")

#: A chain of more links is no machine's. Each may lead through as many folders as a path has.
_LINKS = 8

_T = TypeVar("_T")


@dataclass
class Contents:
    """The answers of a root, by path."""

    files: dict[str, bytes] = field(default_factory=dict)
    folders: dict[str, tuple[str, ...]] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    modes: dict[str, int] = field(default_factory=dict)
    present: set[str] = field(default_factory=set)

    def paths(self) -> set[str]:
        return {*self.files, *self.folders, *self.links, *self.modes, *self.present}


class Archive(Root):
    """A root that answers from an archive, and never from this host."""

    def __init__(self, path: str, contents: Contents) -> None:
        self.path = path
        self.live = False
        self._contents = contents

    def read_bytes(self, path: str) -> Optional[bytes]:
        return self._contents.files.get(path)

    def names(self, path: str) -> tuple[str, ...]:
        return self._contents.folders.get(path, ())

    def absent(self, path: str) -> bool:
        return not self.exists(path)

    def known_absent(self, path: str) -> bool:
        """Whether the capture looked for the path or a folder above it in vain, or has the names in
        one of these folders without it."""
        return not self.exists(path) and any(
            each in self._looked_for or self._is_unlisted(each) for each in _upwards(path)
        )

    def _is_unlisted(self, path: str) -> bool:
        folder, _, name = path.rpartition("/")
        listed = self._contents.folders.get(folder)
        return listed is not None and name not in listed and not self.exists(path)

    @cached_property
    def _looked_for(self) -> frozenset[str]:
        return frozenset((self.read(f"{ANSWERS}/{ABSENT}") or "").splitlines())

    def exists(self, path: str) -> bool:
        """Whether the path or anything below it was recorded."""
        return self._next(path) == path or self._next(f"{path}/").startswith(f"{path}/")

    def _next(self, path: str) -> str:
        """The recorded path that equals this one or sorts next after it."""
        first = bisect_left(self._paths, path)
        return self._paths[first] if first < len(self._paths) else ""

    def link(self, path: str) -> Optional[str]:
        return self._contents.links.get(path)

    def mode(self, path: str) -> Optional[int]:
        return self._contents.modes.get(path)

    def check_owned(self, path: str) -> None:
        """Accepts every file: the content of an archive is neither run nor booted."""

    def host(self, path: str) -> str:
        raise Refused(f"{self.path}: nothing can be written into an archive")

    @contextmanager
    def folder(self, path: str, *, make: bool = False) -> Iterator[int]:
        self.host(path)
        yield -1

    @cached_property
    def _paths(self) -> list[str]:
        return sorted(self._contents.paths())


class Snapshot(Archive):
    """The /proc and /sys of a machine in a tar file, with its symbolic links."""

    def read_bytes(self, path: str) -> Optional[bytes]:
        return super().read_bytes(self._real(path))

    def names(self, path: str) -> tuple[str, ...]:
        return super().names(self._real(path))

    def exists(self, path: str) -> bool:
        return super().exists(self._real(path))

    def _real(self, path: str, links: int = 0) -> str:
        """The path without links; of a ring or a longer chain, the link at which it was left. Every
        path is followed once, whatever asks for it, and every folder on the way."""
        if path not in self._reals:
            self._reals[path] = path  # a ring comes back here
            folder, _, name = path.rpartition("/")
            above = self._real(folder, links) if folder else ""
            at = f"{above}/{name}"
            target = self.link(at) if links < _LINKS else None
            if target is not None:
                at = self._real(posixpath.normpath(posixpath.join(above or "/", target)), links + 1)
            self._reals[path] = at
        return self._reals[path]

    @cached_property
    def _reals(self) -> dict[str, str]:
        return {}


class Recorder(Root):
    """A root that passes every question to another root and records the answers."""

    def __init__(self, inner: Root) -> None:
        super().__init__(inner.path)
        self.contents = Contents()
        self._inner = inner

    def read_bytes(self, path: str) -> Optional[bytes]:
        return _keep(self.contents.files, path, self._inner.read_bytes(path))

    def names(self, path: str) -> tuple[str, ...]:
        return _keep(self.contents.folders, path, self._inner.names(path) or None) or ()

    def exists(self, path: str) -> bool:
        there = self._inner.exists(path)
        if there:
            self.contents.present.add(path)
        return there

    def link(self, path: str) -> Optional[str]:
        return _keep(self.contents.links, path, self._inner.link(path))

    def mode(self, path: str) -> Optional[int]:
        return _keep(self.contents.modes, path, self._inner.mode(path))

    def answer(self, name: str, ask: Callable[[Root], str]) -> str:
        said = self._inner.answer(name, ask)
        self.contents.files[f"{ANSWERS}/{name}"] = said.encode("utf-8", "replace")
        return said


def _upwards(path: str) -> Iterator[str]:
    """The path and the folders above it."""
    while path:
        yield path
        path = path.rpartition("/")[0]


def _keep(answers: dict[str, _T], path: str, answer: Optional[_T]) -> Optional[_T]:
    if answer is not None:
        answers[path] = answer
    return answer


def dump(contents: Contents, remarks: tuple[str, ...] = ()) -> str:
    """The archive's text, sorted by path."""
    lines = [f"{SCHEMA} lowlat-gen {__version__}"]
    lines += [f"# {remark}" for remark in remarks]
    for path in sorted(contents.paths()):
        lines += _records(contents, path)
    return "\n".join(lines) + "\n"


def _records(contents: Contents, path: str) -> Iterator[str]:
    where = _word(path)
    if path in contents.folders:
        yield " ".join(["d", where, *map(_word, contents.folders[path])])
    if path in contents.links:
        yield f"l {where} {_word(contents.links[path])}"
    if path in contents.modes:
        yield f"m {where} {contents.modes[path]:04o}"
    if path in contents.files:
        yield from _file_records(where, contents.files[path])
    elif path in contents.present:
        yield f"e {where}"


def _file_records(where: str, data: bytes) -> Iterator[str]:
    lines = [_escape(line) for line in data.decode("utf-8", "surrogateescape").split("\n")]
    if len(lines) == 2 and lines[0] and not lines[1]:
        yield f"f {where} {lines[0]}"
        return
    yield f"f {where}"
    unended = lines.pop()
    yield from (f"|{line}" for line in lines)
    if unended:
        yield f"|{unended}"
        yield "\\"


def _escape(text: str) -> str:
    return _UNPRINTABLE.sub(_hex, text)


def _hex(match: re.Match[str]) -> str:
    return "".join(f"\\x{byte:02x}" for byte in match[0].encode("utf-8", "surrogateescape"))


def _word(text: str) -> str:
    return _escape(text).replace(" ", "\\x20").replace("\t", "\\x09")


def is_capture(path: Path, *, inside: Optional[Path] = None) -> bool:
    """Whether a captured machine lies there, by the looks of it: a folder with /proc or /sys, or a
    file that begins as an archive does, plain or compressed. Raises Refused if it cannot be read,
    or does not lie ``inside`` the folder that was given."""
    with files.reporting_errors(str(path)):
        if path.is_dir():
            return (path / "proc").is_dir() or (path / "sys").is_dir()
        if not path.is_file():
            return False
        head = reader.read(path, _HEAD, inside=inside, whole=False)
    return head.startswith((SCHEMA.encode(), b"\x1f\x8b")) or tar_file.is_tar(head)


def load(path: str, *, inside: Optional[Path] = None) -> Archive:
    """The archive in a file, or the tar file of a machine, plain or compressed with gzip. Raises
    Refused, naming the line, if it is damaged or no archive."""
    with files.reporting_errors(f"--root {path}"):
        data = reader.read(path, bounds.ARCHIVE, inside=inside)
    return machine_in(path, data)


def machine_in(path: str, data: bytes) -> Archive:
    """The machine in the content of a file; as load() otherwise."""
    try:
        data, name = bounds.unpack(data, bounds.ARCHIVE), str(Path(path).absolute())
        if tar_file.is_tar(data):
            return Snapshot(name, Contents(*tar_file.read(data)))
        return Archive(name, parse(data))
    except ValueError as error:
        hint = "give what 'lowlat-gen capture' wrote, a node's sysinfo.tgz, or a folder"
        raise Refused(f"--root {path}: not a capture archive, {error}", hint=hint) from error


def parse(data: bytes) -> Contents:
    """Read an archive. Raises ValueError, with the line, if it is not one."""
    if data.partition(b"\n")[0].endswith(b"\r"):  # a mail program's, or an editor's, line ends
        data = data.replace(b"\r\n", b"\n")
    if data.partition(b"\n")[0].split(b" ")[0] != SCHEMA.encode():
        raise ValueError(f"it does not start with {SCHEMA}")
    if not data.endswith(b"\n"):
        raise ValueError("its last line is cut off")
    if data.count(b"\n") > bounds.ARCHIVE_ENTRIES:
        raise ValueError("it has more lines than any machine's")
    reader = _Reader()
    for number, line in enumerate(io.BytesIO(data), 1):
        try:
            if number > 1:
                reader.take(line[:-1])
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from error
    reader.end_file()
    return reader.contents


class _Reader:
    """Reads an archive line by line; a file of several lines ends at the next record."""

    def __init__(self) -> None:
        self.contents = Contents()
        self._path = ""
        self._lines: list[bytes] = []
        self._names = 0

    def take(self, line: bytes) -> None:
        if self._path and line.startswith(b"|"):
            self._lines.append(_plain(line[1:]) + b"\n")
        elif self._path and line == b"\\":
            self.end_file(newline=False)
        else:
            self.end_file()
            kind, _, rest = line.partition(b" ")
            if kind != b"#":
                self._record(kind, *rest.partition(b" "))

    def end_file(self, *, newline: bool = True) -> None:
        if self._path:
            data = b"".join(self._lines)
            self.contents.files[self._path] = data if newline else data[:-1]
        self._path, self._lines = "", []

    def _record(self, kind: bytes, first: bytes, blank: bytes, rest: bytes) -> None:
        path, contents = _path(first), self.contents
        if kind == b"f":
            if path in contents.files:
                raise ValueError(f"{path[:80]} is there twice")
            if blank:
                contents.files[path] = _plain(rest) + b"\n"
            else:
                self._path = path
        elif kind == b"d":
            self._names += rest.count(b" ") + 1
            if self._names > bounds.ARCHIVE_ENTRIES:
                raise ValueError("more names than any machine's folders have")
            contents.folders[path] = tuple(map(_text, rest.split(b" ")))
        elif kind == b"l":
            contents.links[path] = _text(rest)
            bounds.check_path(contents.links[path])
        elif kind == b"m":
            contents.modes[path] = int(_text(rest)[:8], 8)
        elif kind == b"e":
            contents.present.add(path)
        else:
            raise ValueError("no such kind of record")


def _path(word: bytes) -> str:
    path = _text(word)
    if not path.startswith("/"):
        raise ValueError("no path")
    bounds.check_path(path)
    return path


def _text(word: bytes) -> str:
    return _plain(word).decode("utf-8", "surrogateescape")


def _plain(line: bytes) -> bytes:
    if b"\\" not in line:
        return line
    if len(_ESCAPE.findall(line)) != line.count(b"\\"):
        raise ValueError("a backslash that is no escape")
    return line.decode("unicode_escape").encode("latin-1")


def open_root(path: str, *, trusted: bool = False, inside: Optional[Path] = None) -> Root:
    """The root that a user named with ``--root``: a folder, an archive of ``capture``, or a tar
    file of a machine; programs may run of a folder that is ``trusted``. Raises Refused if it is
    none of these, or does not lie ``inside`` the folder that was given."""
    hint = "give the folder or the archive of a captured machine"
    try:
        # Path("") is the current folder.
        mode = os.stat(path).st_mode  # noqa: PTH116
    except (OSError, ValueError) as error:
        raise Refused(f"--root {path}: no such folder or archive", hint=hint) from error
    if stat.S_ISDIR(mode):
        with files.reporting_errors(f"--root {path}"):
            reader.check_inside(path, inside)
            _refuse_must_gather(Path(path))
        return Root(path, trusted=trusted)
    if not stat.S_ISREG(mode):
        raise Refused(f"--root {path}: neither a folder nor an archive", hint=hint)
    return load(path, inside=inside)


def _refuse_must_gather(folder: Path) -> None:
    """Raises Refused for what 'oc adm must-gather' wrote: its nodes are the machines."""
    if folder.joinpath("sys").is_dir():
        return
    nodes = (node for top in ("", "*/") for node in folder.glob(f"{top}nodes/*/sysinfo.tgz"))
    if node := next(nodes, None):
        why = f"--root {folder}: is a must-gather, not one machine"
        raise Refused(why, hint=f"give a node of it: --root {node}")
