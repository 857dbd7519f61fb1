# SPDX-License-Identifier: GPL-2.0-or-later
"""The folder that ``lowlat-measure --capture`` leaves: what was recorded, on which clock."""

from __future__ import annotations

import csv
from array import array
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

from lowlat.base.errors import LowlatError
from lowlat.base.json_fields import Fields, read_document

SCHEMA = "lowlat.run-capture/1"


@dataclass(frozen=True)
class ClockPair:
    """Two moments, each in ticks of the run's clock and in ns of CLOCK_MONOTONIC_RAW."""

    first: tuple[int, int]
    last: tuple[int, int]

    def ticks(self, raw_ns: int) -> int:
        """The run's ticks at a moment of CLOCK_MONOTONIC_RAW."""
        (t0, r0), (t1, r1) = self.first, self.last
        return t0 + (raw_ns - r0) * (t1 - t0) // max(r1 - r0, 1)

    def ns(self, ticks: float) -> float:
        """A duration in ns."""
        (t0, r0), (t1, r1) = self.first, self.last
        return ticks * (r1 - r0) / max(t1 - t0, 1)

    def span(self, ns: float) -> int:
        """A duration in whole ticks."""
        return int(ns / max(self.ns(1), 1e-9))


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
    """``observer`` is "trace", "switches" or "none"; ``counter`` tells whether the trace's clock
    counts the run's own ticks; ``begin`` and ``end`` (ticks) enclose the growth of the counters,
    which took ``counted_ns``; ``trace_error`` is why the trace could not be used, "" where it was
    not asked for."""

    folder: Path
    observer: str
    counter: bool
    clock: ClockPair
    begin: int
    end: int
    counted_ns: int
    cpus: tuple[CpuCapture, ...]
    missing: tuple[str, ...]
    senders_lost: int
    trace_error: str


@dataclass(frozen=True)
class GapTimes:
    """The gaps of one CPU in order, in ticks of the run's clock. A noisy machine has millions, so
    they are kept as numbers."""

    begins: array[int] = field(default_factory=lambda: array("q"))
    ends: array[int] = field(default_factory=lambda: array("q"))

    def __len__(self) -> int:
        return len(self.begins)


def read_capture(folder: Path) -> Capture:
    """Read the summary in the folder. Raises Refused where it is not there or damaged."""
    fields = read_document(folder / "capture.json", SCHEMA, "'lowlat-measure --capture'")
    clock = ClockPair(_pair(fields, "first"), _pair(fields, "last"))
    return Capture(
        folder=folder,
        observer=fields.text("observer"),
        counter=fields.text("clock") == "x86-tsc",
        clock=clock,
        begin=clock.ticks(_whole(fields, "begin_raw_ns")),
        end=clock.ticks(_whole(fields, "end_raw_ns")),
        counted_ns=_whole(fields, "counted_ns"),
        cpus=tuple(
            CpuCapture(**{name: _whole(item, name) for name in CpuCapture.__annotations__})
            for item in fields.children("cpus")
        ),
        missing=fields.texts("missing") if fields.has("missing") else (),
        senders_lost=_whole(fields, "senders_lost") if fields.has("senders_lost") else 0,
        trace_error=fields.text("trace_error") if fields.has("trace_error") else "",
    )


def _whole(fields: Fields, key: str) -> int:
    value = fields.value(key)
    # A tick count has more digits than a float.
    return value if isinstance(value, int) else int(fields.number(key))


def _pair(fields: Fields, key: str) -> tuple[int, int]:
    value = fields.value(key)
    if isinstance(value, list) and len(value) == 2 and all(isinstance(n, int) for n in value):
        return value[0], value[1]
    raise LowlatError(f"{fields.where}: '{key}' is not a pair of whole numbers")


def read_gaps(path: Path) -> defaultdict[int, GapTimes]:
    """The gaps of each CPU from the harness's event file."""
    gaps: defaultdict[int, GapTimes] = defaultdict(GapTimes)
    for cpu, begin, end in _rows(path):
        gaps[cpu].begins.append(begin)
        gaps[cpu].ends.append(end)
    return gaps


def read_switches(capture: Capture) -> defaultdict[int, list[int]]:
    """When the detector of each CPU was taken off it, in ticks."""
    switches: defaultdict[int, list[int]] = defaultdict(list)
    for cpu, raw_ns, out in _rows(capture.folder / "switches.csv"):
        if out:
            switches[cpu].append(capture.clock.ticks(raw_ns))
    return switches


def _rows(path: Path) -> Iterator[tuple[int, int, int]]:
    try:
        with path.open(newline="") as file:
            reader = csv.reader(file)
            next(reader, None)
            for first, second, third in reader:
                yield int(first), int(second), int(third)
    except OSError as error:
        raise LowlatError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise LowlatError(f"{path}: not a table of three whole numbers") from error


def trace_file(capture: Capture, cpu: Optional[int]) -> Path:
    """The kernel's text of one CPU; None: of who sent interrupts."""
    return capture.folder / ("trace.senders" if cpu is None else f"trace.{cpu}")
