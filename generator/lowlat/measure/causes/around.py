# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's trace around the longest gap of a run, as it is kept with the run."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Optional

from lowlat.measure.causes.capture import Capture, CpuCapture, GapTimes
from lowlat.trace.ftrace import STACK, TraceEvent

#: What is kept before the gap and after it, in ns; the most events of each of the two sides of its
#: begin, and the most characters of an event.
_BEFORE_NS, _AFTER_NS, _MOST, _WIDE = 1_000_000, 100_000, 100, 200


@dataclass(frozen=True)
class TracedEvent:
    """An event, in ns after the gap's begin, in the task that ran; negative: before it."""

    at_ns: int
    task: str
    event: str
    text: str


@dataclass(frozen=True)
class GapTrace:
    """The gap, and the events nearest to its begin; ``left_out`` are more."""

    cpu: int
    begin_s: float
    length_ns: int
    left_out: int
    events: tuple[TracedEvent, ...]


class Around:
    """Collects the events around a gap of one CPU, in ticks, as they pass by in order."""

    def __init__(self, capture: Capture, cpu: CpuCapture, begin: int, end: int) -> None:
        self._clock = capture.clock
        self._cpu = cpu
        self._begin, self._end = begin, end
        self._first = begin - self._clock.span(_BEFORE_NS)
        self._last = end + self._clock.span(_AFTER_NS)
        self._before: deque[TraceEvent] = deque(maxlen=_MOST)
        self._after: list[TraceEvent] = []
        self._seen = 0

    def note(self, cpu: CpuCapture, event: TraceEvent) -> None:
        """An event in the trace of a CPU."""
        if cpu != self._cpu or not self._first <= event.time <= self._last or event.name == STACK:
            return
        self._seen += 1
        if event.time < self._begin:
            self._before.append(event)
        elif len(self._after) < _MOST:
            self._after.append(event)

    def trace(self) -> GapTrace:
        ns = self._clock.ns
        events = tuple(
            TracedEvent(
                round(ns(event.time - self._begin)),
                f"{event.comm}-{event.pid}",
                event.name,
                event.text.strip()[:_WIDE],
            )
            for event in (*self._before, *self._after)
        )
        begin_s = round(ns(self._begin - self._cpu.begin) / 1e9, 6)
        length_ns = round(ns(self._end - self._begin))
        return GapTrace(self._cpu.cpu, begin_s, length_ns, self._seen - len(events), events)


def of_longest(capture: Capture, gaps_of: Mapping[int, GapTimes]) -> Optional[Around]:
    """A collector for the longest gap of all captured CPUs; None without a gap."""
    longest = []
    for cpu in capture.cpus:
        gaps = gaps_of[cpu.cpu]
        if gaps.begins:
            number = max(range(len(gaps)), key=lambda one: gaps.ends[one] - gaps.begins[one])
            begin, end = gaps.begins[number], gaps.ends[number]
            longest.append((end - begin, cpu, begin, end))
    if not longest:
        return None
    _, cpu, begin, end = max(longest, key=lambda one: one[0])
    return Around(capture, cpu, begin, end)
