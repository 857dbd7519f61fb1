# SPDX-License-Identifier: GPL-2.0-or-later
"""The folder that ``lowlat-measure --capture`` leaves: what was recorded, on which clock."""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional, overload

from lowlat.base.errors import LowlatError
from lowlat.base.json_fields import Fields, read_document

SCHEMA = "lowlat.run-capture/1"


@dataclass(frozen=True)
class Clock:
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
    """One CPU's detector: its thread, its loop in ticks, the records kept and lost."""

    cpu: int
    thread: int
    begin: int
    end: int
    entries: int
    lost: int
    steal_s: float


@dataclass(frozen=True)
class Capture:
    """``observer`` is "trace", "switches" or "none"; ``counter`` tells whether the trace's clock
    counts the run's own ticks; ``begin`` and ``end`` (ticks) enclose the growth of the counters;
    ``trace_error`` is why the trace could not be used, "" where it was not asked for."""

    folder: Path
    observer: str
    counter: bool
    clock: Clock
    begin: int
    end: int
    cpus: tuple[CpuCapture, ...]
    missing: tuple[str, ...]
    senders_lost: int
    trace_error: str


#: A gap: begin and end in ticks of the run's clock.
Gap = tuple[int, int]


class Gaps(Sequence[Gap]):
    """The gaps of one CPU, in order. A noisy machine has millions, so they are kept as numbers."""

    def __init__(self, gaps: Iterable[Gap] = ()) -> None:
        self._begins, self._ends = array("q"), array("q")
        for gap in gaps:
            self.append(gap)

    def append(self, gap: Gap) -> None:
        self._begins.append(gap[0])
        self._ends.append(gap[1])

    def __len__(self) -> int:
        return len(self._begins)

    @overload
    def __getitem__(self, place: int) -> Gap: ...

    @overload
    def __getitem__(self, place: slice) -> Gaps: ...

    def __getitem__(self, place: int | slice) -> Gap | Gaps:
        if isinstance(place, slice):
            return Gaps(zip(self._begins[place], self._ends[place]))
        return self._begins[place], self._ends[place]


def read_capture(folder: Path) -> Capture:
    """Read the summary in the folder. Raises Refused where it is not there or damaged."""
    fields = read_document(folder / "capture.json", SCHEMA, "'lowlat-measure --capture'")
    clock = Clock(_pair(fields, "first"), _pair(fields, "last"))
    return Capture(
        folder=folder,
        observer=fields.text("observer"),
        counter=fields.text("clock") == "x86-tsc",
        clock=clock,
        begin=clock.ticks(_whole(fields, "begin_raw_ns")),
        end=clock.ticks(_whole(fields, "end_raw_ns")),
        cpus=tuple(_cpu(item) for item in fields.children("cpus")),
        missing=fields.texts("missing") if fields.has("missing") else (),
        senders_lost=_whole(fields, "senders_lost") if fields.has("senders_lost") else 0,
        trace_error=fields.text("trace_error") if fields.has("trace_error") else "",
    )


def _cpu(fields: Fields) -> CpuCapture:
    whole = {name: _whole(fields, name) for name in _WHOLE}
    return CpuCapture(**whole, steal_s=fields.number("steal_s"))


_WHOLE = ("cpu", "thread", "begin", "end", "entries", "lost")


def _whole(fields: Fields, key: str) -> int:
    value = fields.value(key)
    # A tick count has more digits than a float.
    return value if isinstance(value, int) else int(fields.number(key))


def _pair(fields: Fields, key: str) -> tuple[int, int]:
    value = fields.value(key)
    if isinstance(value, list) and len(value) == 2 and all(isinstance(n, int) for n in value):
        return value[0], value[1]
    raise LowlatError(f"{fields.where}: '{key}' is not a pair of whole numbers")


def read_gaps(path: Path) -> dict[int, Gaps]:
    """The gaps of each CPU from the harness's event file."""
    gaps: dict[int, Gaps] = {}
    for cpu, begin, end in _rows(path):
        found = gaps.get(cpu)
        if found is None:
            found = gaps[cpu] = Gaps()
        found.append((begin, end))
    return gaps


def read_switches(capture: Capture) -> dict[int, list[tuple[int, bool]]]:
    """The switches of each CPU's detector: ticks, and whether it was taken off its CPU."""
    switches: dict[int, list[tuple[int, bool]]] = {}
    for cpu, raw_ns, out in _rows(capture.folder / "switches.csv"):
        switches.setdefault(cpu, []).append((capture.clock.ticks(raw_ns), bool(out)))
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
