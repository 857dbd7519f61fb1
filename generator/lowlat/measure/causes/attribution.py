# SPDX-License-Identifier: GPL-2.0-or-later
"""A run's document with the causes of its gaps: the harness's capture, joined and named."""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path
from typing import Any, Optional

from lowlat.base import reader
from lowlat.base.errors import LowlatError
from lowlat.base.typed_json import encode, encode_fields
from lowlat.catalogue import remedy
from lowlat.catalogue.remedies import Remedies
from lowlat.measure.causes import join, periods, together
from lowlat.measure.causes.around import Around, of_longest
from lowlat.measure.causes.capture import (
    Capture,
    CpuCapture,
    GapTimes,
    read_capture,
    read_gaps,
    read_switches,
    trace_file,
)
from lowlat.measure.causes.events import Seen, counted, lacking
from lowlat.measure.causes.timeline import Contexts
from lowlat.measure.causes.wakers import Wakers
from lowlat.model.cpuset import CpuSet
from lowlat.model.run import Cause, ChainLink, LongGap, PeriodicSource
from lowlat.trace.context import LOST
from lowlat.trace.ftrace import TraceEvent, parse, with_stacks
from lowlat.trace.senders import Senders

Document = dict[str, object]


def attach(
    document: Document, folder: Path, gaps: Path, remedies: Optional[Remedies] = None
) -> None:
    """Add causes, their sums and periods to each CPU of a run (schema lowlat.run/1).

    ``folder`` is the output of ``--capture``, ``gaps`` that of ``--events``; ``remedies`` are those
    of the host, None if it is not known. Raises LowlatError if the files cannot be read.
    """
    capture = read_capture(folder)
    gaps_of = read_gaps(gaps)
    around = of_longest(capture, gaps_of) if capture.observer == "trace" else None
    analyst = _Analyst(capture, remedies or Remedies(), document, around)
    captured = {cpu.cpu: cpu for cpu in capture.cpus}
    cpus = document.get("cpus")
    for item in cpus if isinstance(cpus, list) else ():
        if isinstance(item, dict) and item.get("cpu") in captured:
            cpu = captured[item["cpu"]]
            item.update(analyst.cpu(cpu, gaps_of[cpu.cpu], item))
            if capture.observer == "trace" and item.get("wakeup"):
                analyst.add_latest(cpu, item["wakeup"])
    if around is not None:
        document["longest_gap"] = encode(around.trace())
    document["together"] = encode(together.find(capture, gaps_of))
    notes = [*_notes(capture), *analyst.notes]
    document["attribution"] = {"observer": capture.observer, "notes": notes}


def _notes(capture: Capture) -> Iterator[str]:
    if capture.trace_error:
        yield f"the kernel's trace could not be used ({capture.trace_error}): it needs root"
    if capture.observer == "none":
        yield "the detectors' switches could not be recorded: run as root"
    elif capture.observer == "switches":
        yield "only the detectors' own switches were recorded: as root, --causes shows more"
    elif not capture.counter:
        yield "the trace's times are cut to microseconds"
    if capture.missing:
        yield f"this kernel has no trace events {', '.join(capture.missing)}"
    if capture.observer == "switches":
        for cpu in capture.cpus:
            if cpu.lost:
                yield f"CPU {cpu.cpu}: {cpu.lost} records were lost: the buffer was full"
    if capture.senders_lost:
        what = "who sent interrupts and woke stoppers"
        yield f"{capture.senders_lost} records of {what} were lost: the buffer was full"


class _Passing:
    """Counts the events of a CPU's trace within its loop as they pass: ``outs`` is how often the
    detector was switched out."""

    def __init__(self, cpu: CpuCapture, gaps: join.Places, around: Optional[Around]) -> None:
        self._cpu, self._gaps, self._around = cpu, gaps, around
        self.events = self.in_gaps = self.outs = 0

    def through(self, events: Iterable[TraceEvent]) -> Iterator[TraceEvent]:
        for event in events:
            if self._around is not None:
                self._around.note(self._cpu, event)
            if self._cpu.begin <= event.time < self._cpu.end:
                self.events += 1
                self.in_gaps += self._gaps.inside(event.time)
                self.outs += event.name == "sched_switch" and event.pid == self._cpu.thread
            yield event


class _Analyst:
    """Works through a capture, CPU by CPU."""

    def __init__(
        self,
        capture: Capture,
        remedies: Remedies,
        document: Document,
        around: Optional[Around] = None,
    ) -> None:
        self._capture = capture
        self._around = around
        self._remedies = remedies
        self._hz = _ticks_per_s(document)
        # Only a real-time thread is throttled, so that its CPU idles (kernel/sched/rt.c).
        self._throttled = str(document.get("policy")).startswith(("fifo:", "rr:"))
        self.notes: list[str] = []
        self._slack = 0 if capture.counter else capture.clock.span(1000)
        if capture.observer == "trace":
            cpus = CpuSet.of(cpu.cpu for cpu in capture.cpus)
            path = trace_file(capture, None)
            self._senders = Senders(parse(_lines(path), capture.clock), cpus, capture.clock)
            self._wakers = Wakers(parse(with_stacks(_lines(path)), capture.clock))
        elif capture.observer == "switches":
            self._switches = read_switches(capture)

    def cpu(self, cpu: CpuCapture, gaps: GapTimes, item: Document) -> Document:
        """The keys to add to one CPU of the run."""
        joined = join.Joined()
        sums: Document = {"records_lost": cpu.lost}
        if self._capture.observer == "trace":
            joined = self._traced(cpu, gaps, sums, item)
        elif self._capture.observer == "switches":
            joined = join.join_switches(gaps, self._switches[cpu.cpu])
        sums["gaps_with_cause"] = joined.explained
        return {
            "causes": self._causes(joined),
            "attribution": sums,
            "longest": encode(self._longest_gaps(cpu, joined)),
            "periods": self._periods(cpu, gaps, joined),
        }

    def add_latest(self, cpu: CpuCapture, woken: dict[str, Any]) -> None:
        """Add the causes of the latest wake-up of the thread that slept there."""
        latest = GapTimes(*(array("q", [ticks]) for ticks in woken["max_ticks"]))
        own = replace(cpu, thread=woken["thread"])
        woken["longest"] = encode(self._longest_gaps(cpu, self._traced(own, latest, {})))

    def _traced(
        self, cpu: CpuCapture, gaps: GapTimes, sums: Document, item: Optional[Document] = None
    ) -> join.Joined:
        """The gaps joined with the trace. The sums of the events are those of a CPU of the run."""
        events = parse(_lines(trace_file(self._capture, cpu.cpu)), self._capture.clock)
        contexts = Contexts(
            *(cpu.thread, self._senders, self._wakers, self._capture.clock),
            realtime=self._capture.realtime,
        )
        first = next(events, None)
        since = first.time if cpu.lost and first is not None else 0
        seen = Seen(counted(item or {}, self._capture.counted_ns / 1e9), self._capture.window)
        passing = _Passing(cpu, join.Places(gaps, self._slack), self._around if item else None)
        passed = passing.through(chain([first] if first is not None else [], events))
        joined = join.Join(gaps, since, self._slack, seen.add).of(contexts, passed)
        lost = joined.causes.get(LOST)
        if lost is not None:
            us = self._capture.clock.ns(lost.ticks) / 1000
            self.notes.append(
                f"CPU {cpu.cpu}: the trace lacks the begin or the end of stays: "
                f"{us:,.1f} us belong to no cause"
            )
        sums["kernel_events"] = passing.events
        sums["kernel_events_in_gaps"] = passing.in_gaps
        if item is not None:
            self._count(cpu, seen, passing.outs, sums)
        return joined

    def _count(self, cpu: CpuCapture, seen: Seen, outs: int, sums: Document) -> None:
        """Add how many events of each class are in the trace, and how many IPIs have a sender."""
        classes = seen.classes(outs)
        sums["classes"] = encode(classes)
        sums["ipis"], sums["ipis_with_sender"] = seen.ipis, seen.sent
        if cpu.lost:
            why = f"{cpu.lost} records were lost: the buffer was full; {lacking(classes)}"
            self.notes.append(f"CPU {cpu.cpu}: {why}")
        if seen.sent < seen.ipis:
            some = f"{seen.sent:,} of {seen.ipis:,}"
            self.notes.append(f"CPU {cpu.cpu}: the senders of {some} IPIs are known")

    def _longest_gaps(self, cpu: CpuCapture, joined: join.Joined) -> list[LongGap]:
        ns = self._capture.clock.ns
        return [
            LongGap(
                round(ns(begin - cpu.begin) / 1e9, 6),
                round(ns(length)),
                tuple(ChainLink(*cause, round(ns(ticks))) for cause, ticks in links),
            )
            for length, begin, links in sorted(joined.longest, reverse=True)
        ]

    def _causes(self, joined: join.Joined) -> list[Document]:
        ns = self._capture.clock.ns
        return [
            encode(
                Cause(
                    *(*cause, tally.events, round(ns(tally.ticks))),
                    remedy=self._remedy(*cause),
                    max_ns=round(ns(tally.most)),
                )
            )
            for cause, tally in sorted(joined.causes.items(), key=lambda item: -item[1].ticks)
        ]

    def _remedy(self, kind: str, cause: str) -> Optional[str]:
        if (kind, cause) == ("thread", "idle") and not self._throttled:
            return None
        return self._remedies.of(kind, cause)

    def _periods(self, cpu: CpuCapture, gaps: GapTimes, joined: join.Joined) -> list[Document]:
        """The periods of each cause, searched separately so that none hides another."""
        scale = self._capture.clock.ns(1) / 1e9
        causes = list(joined.causes) or [("", "")]
        times: defaultdict[join.Cause, array[float]] = defaultdict(lambda: array("d"))
        for begin, place in zip(gaps.begins, joined.first or repeat(0)):
            times[causes[place]].append((begin - cpu.begin) * scale)
        span = (cpu.end - cpu.begin) * scale
        found = ((one, cause) for cause, own in times.items() for one in periods.find(own, span))
        return [
            encode_fields(self._period(one, *cause))
            for one, cause in sorted(found, key=lambda each: -each[0].power)
        ]

    def _period(self, period: periods.Period, kind: str, cause: str) -> PeriodicSource:
        own = self._hz and abs(period.frequency_hz / self._hz - 1) < 2 * periods.CLOCKS_APART
        ticks = own and remedy(f"{kind}: {cause}") == "nohz_full"
        return PeriodicSource(
            frequency_hz=round(period.frequency_hz, 4),
            name=f"the tick, HZ={self._hz}" if ticks else _every(1 / period.frequency_hz),
            rate_per_s=round(period.rate_per_s, 4),
            power=round(period.power, 1),
            cause=f"{kind}: {cause}" if kind else None,
        )


def _every(seconds: float) -> str:
    """A period in words, with three digits."""
    return f"every {seconds * 1000:.3g} ms" if seconds < 0.9995 else f"every {seconds:.3g} s"


def _ticks_per_s(document: Document) -> Optional[int]:
    """The ticks per second of the run's kernel, None if not known."""
    host = document.get("host")
    hz = host.get("hz") if isinstance(host, dict) else None
    return hz if isinstance(hz, int) and hz > 0 else None


def _lines(path: Path) -> Iterator[str]:
    try:
        yield from reader.read_lines(path)
    except OSError as error:
        raise LowlatError(f"{path}: {error.strerror}") from error
