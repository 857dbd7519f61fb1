# SPDX-License-Identifier: GPL-2.0-or-later
"""Files and lines of places in objects, from their debug information: readelf(1) and addr2line(1)
of binutils, run with the rights of the user whose files they read."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple, Optional

from lowlat.audit.perf_script import Frame
from lowlat.base import process
from lowlat.base.errors import LowlatError
from lowlat.base.user import User

#: For one object, in seconds: the debug information of a browser takes this long.
_LIMIT_S = 120.0

#: Addresses of one command line.
_AT_ONCE = 1000

#: No debug information is fetched from the network (debuginfod_find_debuginfo(3)).
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "DEBUGINFOD_URLS": ""}

#: A loaded part of an object: its offset in the file, its address and its size there.
_SEGMENT = re.compile(r"^\s*LOAD\s+0x(\w+)\s+0x(\w+)\s+0x\w+\s+0x(\w+)", re.MULTILINE)

_PLACE = re.compile(r"(.*):(\d+)(?: \(discriminator \d+\))?")


class Line(NamedTuple):
    function: str
    file: str
    line: int


class Segment(NamedTuple):
    offset: int
    address: int
    size: int


def resolve(frames: Iterable[Frame], user: Optional[User] = None) -> Mapping[Frame, Line]:
    """The line of each frame that has one."""
    by_object: dict[str, list[Frame]] = defaultdict(list)
    for frame in sorted(set(frames), key=lambda frame: (frame.object, frame.offset)):
        if frame.object.startswith("/"):
            by_object[frame.object].append(frame)
    found: dict[Frame, Line] = {}
    for path, inside in by_object.items():
        found.update(_of_object(path, inside, user))
    return found


def _of_object(path: str, frames: Sequence[Frame], user: Optional[User]) -> Mapping[Frame, Line]:
    segments = parse_segments(_ask(("readelf", "-lW", path), user))
    known = {frame: at for frame in frames for at in [address(frame.offset, segments)] if at}
    found: dict[Frame, Line] = {}
    rest = iter(known.items())
    while part := dict(islice(rest, _AT_ONCE)):
        argv = ("addr2line", "-aifC", "-e", path, *map(hex, part.values()))
        lines = parse_lines(_ask(argv, user))
        found.update({frame: lines[at] for frame, at in part.items() if at in lines})
    return found


def _ask(argv: Sequence[str], user: Optional[User]) -> str:
    """The program's output; "" if it has none, for a place without its line is no error."""
    try:
        return process.run(argv, timeout=_LIMIT_S, env=_ENVIRONMENT, user=user).stdout
    except LowlatError:
        return ""


def parse_segments(text: str) -> Sequence[Segment]:
    """The loaded parts that ``readelf -lW`` prints."""
    return [Segment(*(int(part, 16) for part in found)) for found in _SEGMENT.findall(text)]


def address(offset: int, segments: Sequence[Segment]) -> Optional[int]:
    """The address, as debug information has it, of an offset in the object's file."""
    for segment in segments:
        if segment.offset <= offset < segment.offset + segment.size:
            return offset - segment.offset + segment.address
    return None


def parse_lines(text: str) -> Mapping[int, Line]:
    """What ``addr2line -aif`` prints: of the functions that were put in line at an address, the
    innermost one that lies outside the system's headers."""
    found: dict[int, Line] = {}
    for at, body in _blocks(text.splitlines()):
        lines = [line for line in map(_line, body[::2], body[1::2]) if line]
        own = [line for line in lines if not line.file.startswith("/usr/include/")]
        if lines:
            found[at] = (own or lines)[0]
    return found


def _blocks(lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    at, body = None, list[str]()
    for line in lines:
        if re.fullmatch(r"0x[0-9a-f]+", line):
            if at is not None:
                yield at, body
            at, body = int(line, 16), []
        else:
            body.append(line)
    if at is not None:
        yield at, body


def _line(function: str, place: str) -> Optional[Line]:
    found = _PLACE.fullmatch(place)
    known = found and found[1] != "??" and found[2] != "0"
    return Line(function, found[1], int(found[2])) if found and known else None
