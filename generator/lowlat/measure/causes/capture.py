# SPDX-License-Identifier: GPL-2.0-or-later
"""The folder that ``lowlat-measure --capture`` leaves: its records and their clock."""

from __future__ import annotations

import csv
from array import array
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Optional

from lowlat.base import reader
from lowlat.base.errors import LowlatError
from lowlat.base.typed_json import decode_fields, read_document
from lowlat.trace.clock import ClockPair

SCHEMA = "lowlat.run-capture/1"


@dataclass(frozen=True)
class CpuCapture:
    """One CPU's detector: its thread, its loop in ticks, and how many records were lost."""

    cpu: int
    thread: int
    begin: int
    end: int
    lost: int


@dataclass(frozen=True)
class Capture:
    """The summary in the folder. ``observer`` is "trace", "switches" or "none"; the counters grew
    during ``counted_ns``; ``trace_error`` is the reason why the trace could not be used, "" if it
    was not requested; ``realtime``: the kernel is PREEMPT_RT."""

    observer: str
    clock_name: str = field(metadata={"json": "clock"})
    first: tuple[int, int]
    last: tuple[int, int]
    begin_raw_ns: int
    end_raw_ns: int
    counted_ns: int
    cpus: tuple[CpuCapture, ...]
    missing: tuple[str, ...] = ()
    senders_lost: int = 0
    realtime: bool = False
    trace_error: str = ""
    folder: Path = Path()

    @property
    def counter(self) -> bool:
        """Whether the trace's clock counts the run's own ticks."""
        return self.clock_name == "x86-tsc"

    @cached_property
    def clock(self) -> ClockPair:
        return ClockPair(self.first, self.last)

    @cached_property
    def window(self) -> tuple[int, int]:
        """The start and the end of the time in which the counters grew, in ticks."""
        return self.clock.ticks(self.begin_raw_ns), self.clock.ticks(self.end_raw_ns)


@dataclass(frozen=True)
class GapTimes:
    """The gaps of one CPU in order, in ticks of the run's clock. A noisy machine has millions, so
    they are kept as numbers."""

    begins: array[int] = field(default_factory=lambda: array("q"))
    ends: array[int] = field(default_factory=lambda: array("q"))

    def __len__(self) -> int:
        return len(self.begins)


def read_capture(folder: Path) -> Capture:
    """Read the summary in the folder. Raises Refused if it is missing or damaged."""
    path, writer = folder / "capture.json", "'lowlat-measure --capture'"
    build = partial(decode_fields, Capture, measured=True)
    return replace(read_document(path, build, SCHEMA, writer, "measure again"), folder=folder)


def read_gaps(path: Path) -> defaultdict[int, GapTimes]:
    """The gaps of each CPU from the harness's event file."""
    gaps: defaultdict[int, GapTimes] = defaultdict(GapTimes)
    for cpu, begin, end in _rows(path):
        gaps[cpu].begins.append(begin)
        gaps[cpu].ends.append(end)
    return gaps


def read_switches(capture: Capture) -> defaultdict[int, list[int]]:
    """The times at which the detector of each CPU was switched out, in ticks."""
    switches: defaultdict[int, list[int]] = defaultdict(list)
    for cpu, raw_ns, out in _rows(capture.folder / "switches.csv"):
        if out:
            switches[cpu].append(capture.clock.ticks(raw_ns))
    return switches


def _rows(path: Path) -> Iterator[tuple[int, int, int]]:
    try:
        rows = csv.reader(reader.read_lines(path))
        next(rows, None)
        for first, second, third in rows:
            yield int(first), int(second), int(third)
    except OSError as error:
        raise LowlatError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise LowlatError(f"{path}: not a table of three whole numbers") from error


def trace_file(capture: Capture, cpu: Optional[int]) -> Path:
    """The kernel's trace of one CPU as text; of all senders of interrupts for None."""
    return capture.folder / ("trace.senders" if cpu is None else f"trace.{cpu}")
