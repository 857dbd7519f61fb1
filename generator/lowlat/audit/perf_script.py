# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``perf script`` prints, as values. The form: perf-script(1), tools/perf/builtin-script.c."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Optional, Union

#: The fields to ask perf for, by type of event.
FIELDS = "pid,tid,cpu,time,event,ip,sym,symoff,dso"


@dataclass(frozen=True)
class Frame:
    """One caller: its place in the object's file in bytes, and its symbol, "" if not known."""

    offset: int
    symbol: str
    object: str


@dataclass(frozen=True)
class Sample:
    """One event; ``frames`` are its callers in user mode, the innermost first. ``detail`` is what
    a tracepoint says."""

    pid: int
    tid: int
    cpu: int
    time_ns: int
    event: str
    detail: str
    frames: tuple[Frame, ...] = ()


@dataclass(frozen=True)
class Lost:
    """So many events that found no room."""

    events: int


@dataclass(frozen=True)
class Started:
    """A process has replaced itself by a program (execve)."""

    pid: int
    time_ns: int


Record = Union[Sample, Lost, Started]

_HEAD = r"\s*(-?\d+)/(-?\d+)\s+\[(\d+)\]\s+(\d+\.\d{9}):\s+"
_SAMPLE = re.compile(_HEAD + r"([a-z_]+(?:[:-][a-z_]+)*):\s*(.*)")
_FRAME = re.compile(r"\s+([0-9a-f]+) (?:(.*)\+0x[0-9a-f]+|\[unknown\]) \((.*)\)")
_LOST = re.compile(r".*PERF_RECORD_LOST(?:_SAMPLES)?.* lost (\d+)")
_EXEC = re.compile(_HEAD + r"PERF_RECORD_COMM exec: .*:(\d+)/\d+")


def parse(lines: Iterable[str]) -> Iterator[Record]:
    """The records in perf's order, which is that of time. Lines that are none are passed over."""
    head: Optional[re.Match[str]] = None
    frames: list[Frame] = []
    for line in lines:
        frame = _FRAME.fullmatch(line) if head else None
        if frame:
            frames.append(Frame(int(frame[1], 16), frame[2] or "", frame[3]))
            continue
        if head:
            yield _sample(head, frames)
        head, frames = _SAMPLE.fullmatch(line), []
        if not head:
            yield from _told(line)
    if head:
        yield _sample(head, frames)


def _sample(head: "re.Match[str]", frames: Iterable[Frame]) -> Sample:
    pid, tid, cpu, time, event, detail = head.groups()
    name = event.removesuffix(":u")
    return Sample(int(pid), int(tid), int(cpu), _ns(time), name, detail, tuple(frames))


def _ns(time: str) -> int:
    """Nanoseconds of a time with nine decimal places."""
    return int(time.replace(".", ""))


def _told(line: str) -> Iterator[Record]:
    lost, started = _LOST.fullmatch(line), _EXEC.fullmatch(line)
    if lost:
        yield Lost(int(lost[1]))
    if started:
        yield Started(int(started[5]), _ns(started[4]))
