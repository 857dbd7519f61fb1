# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel's trace tells while interrupts are counted: why the tick of a CPU goes on (event
timer:tick_stop, kernel/time/tick-sched.c), and who sends it interrupts (events ipi:ipi_send_cpu and
ipi:ipi_send_cpumask, include/trace/events/ipi.h, Linux 6.4 and newer). They are recorded in an
instance of the trace that nothing else uses and that is gone afterwards."""

import errno
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from lowlat.base import resources
from lowlat.measure.causes import ftrace, senders
from lowlat.measure.causes.capture import ClockPair
from lowlat.measure.causes.ftrace import TraceEvent
from lowlat.model.cpuset import CpuSet

#: Where a system mounts tracefs.
_PLACES = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))

#: For each CPU; older events give way.
_KIB = 16

#: Times are not looked at.
_CLOCK = ClockPair((0, 0), (1, 1))

_STOP = re.compile(r"([0-9]{1,5}):(\w{1,40})=([0-9]{1,9})", re.ASCII)
_SENT = re.compile(r"^sent ([0-9]{1,5}) (RES|CAL) ([0-9]{1,9}) (.{1,250})$", re.MULTILINE)

#: The rows of /proc/interrupts whose senders it names: to reschedule, to call a function.
ROWS = ("RES", "CAL")
_ERROR = r"^un{} (.*)$"

#: TICK_DEP_NAMES in include/trace/events/timer.h.
_WORDS = resources.texts("verify/tick_stops.ini")["words"]

#: How many senders are named.
_NAMED = 3


@dataclass
class Traced:
    """How often what kept the tick of which CPU; and how often who sent which CPU an interrupt, by
    CPU, row of /proc/interrupts and sender. None before, and where nobody could look: the errors
    say why."""

    stops: Optional[Mapping[tuple[int, str], int]] = None
    senders: Optional[Mapping[tuple[int, str, str], int]] = None
    error: str = ""
    unsent: str = ""

    def text(self) -> str:
        """As lines; parse() reads them."""
        return "\n".join((*self._stops(), *self._senders()))

    def _stops(self) -> Iterator[str]:
        if self.stops is None:
            yield f"untraced {self.error}"
        else:
            found = (f"{cpu}:{what}={times}" for (cpu, what), times in self.stops.items())
            yield " ".join(("tick_stops", *found))

    def _senders(self) -> Iterator[str]:
        yield "senders" if self.senders is not None else f"unsent {self.unsent}"
        for (cpu, row, who), times in (self.senders or {}).items():
            yield f"sent {cpu} {row} {times} {who}"


def parse(text: str) -> Traced:
    """What the lines say."""
    found = Traced(error=_error("traced", text), unsent=_error("sent", text))
    stops = re.search(r"^tick_stops\b(.*)$", text, re.MULTILINE)
    if stops:
        each = _STOP.findall(stops[1])
        found.stops = {(int(cpu), what): int(times) for cpu, what, times in each}
    if re.search(r"^senders$", text, re.MULTILINE):
        sent = _SENT.findall(text)
        found.senders = {(int(cpu), row, who): int(times) for cpu, row, times, who in sent}
    return found


def _error(what: str, text: str) -> str:
    said = re.search(_ERROR.format(what), text, re.MULTILINE)
    return said[1] if said else "it was not recorded"


def stops(events: Iterable[TraceEvent]) -> Mapping[tuple[int, str], int]:
    """What kept the tick of which CPU, and how often."""
    return Counter(
        (event.cpu, event.field("dependency"))
        for event in events
        if event.name == "tick_stop" and event.field("success") == "0"
    )


def sent(events: Iterable[TraceEvent], cpus: CpuSet) -> Mapping[tuple[int, str, str], int]:
    """Who sent which of these CPUs an interrupt of which row, and how often."""
    return Counter(
        (cpu, ROWS[not found.reschedule], _sender(event, found.origin))
        for event in events
        for found in (senders.sent(event),)
        for cpu in senders.receivers(event) & cpus
    )


def _sender(event: TraceEvent, origin: str) -> str:
    return f"CPU {event.cpu}, {event.comm} ({event.pid}){origin}"


def stop_words(traced: Traced, cpu: int) -> str:
    """What kept the tick of this CPU, the most frequent first."""
    if traced.stops is None:
        return f"why is not known: {traced.error}"
    own = Counter({what: n for (where, what), n in traced.stops.items() if where == cpu})
    if not own:
        return "timer:tick_stop never came there: the kernel did not try to stop it"
    total = sum(own.values())
    each = (f"{_WORDS.get(what, what)} ({n} of {total})" for what, n in own.most_common())
    return f"timer:tick_stop names {', '.join(each)}"


def sender_words(traced: Traced, cpu: int, row: str) -> str:
    """Who sent this CPU the interrupts of a row, the most frequent first."""
    if traced.senders is None:
        return f"who sends it is not known: {traced.unsent}"
    own = _own(traced.senders, cpu, row)
    if not own:
        return "the kernel's trace names nobody who sent it"
    total = sum(own.values())
    each = [f"{who} ({n} of {total})" for who, n in own.most_common(_NAMED)]
    more = f" and {len(own) - _NAMED} more" if len(own) > _NAMED else ""
    return f"sent by {'; '.join(each)}{more}"


def origin(traced: Traced, cpu: int, row: str) -> str:
    """Where most of them come from: " from CALLSITE (CALLBACK)", or ""."""
    (most, *_) = [who for who, _ in _own(traced.senders or {}, cpu, row).most_common(1)] or [""]
    _, word, rest = most.rpartition(" from ")
    return f"{word}{rest}" if word else ""


def _own(found: Mapping[tuple[int, str, str], int], cpu: int, row: str) -> Counter[str]:
    return Counter({who: n for (at, of, who), n in found.items() if (at, of) == (cpu, row)})


@contextmanager
def recording(cpus: CpuSet, places: tuple[Path, ...] = _PLACES) -> Iterator[Traced]:
    """Record what concerns these CPUs meanwhile; what was found is there afterwards."""
    traced = Traced()
    try:
        folder = _instance(places)
    except OSError as error:
        traced.error = traced.unsent = f"{error.strerror} ({error.filename})"
        yield traced
        return
    try:
        traced.error = _enable(folder, "timer/tick_stop", "success == 0")
        one = _enable(folder, "ipi/ipi_send_cpu", f"cpu & CPUS{{{cpus}}}")
        traced.unsent = _enable(folder, "ipi/ipi_send_cpumask", f"cpumask & CPUS{{{cpus}}}") or one
        yield traced
        (folder / "tracing_on").write_text("0")
        events = list(
            ftrace.parse((folder / "trace").read_text(errors="replace").splitlines(), _CLOCK)
        )
        traced.stops = None if traced.error else stops(events)
        traced.senders = None if traced.unsent else sent(events, cpus)
    except OSError as error:
        traced.error = traced.unsent = f"{error.strerror} ({error.filename})"
    finally:
        _remove(folder)


def _enable(folder: Path, event: str, wanted: str) -> str:
    """Record those of an event that are wanted; why that cannot be, or ""."""
    own = folder / "events" / event
    if not own.is_dir():
        return f"this kernel does not have the event {event.replace('/', ':')}"
    # It spares the buffer only: kernels before 6.6 know no set of CPUs.
    with suppress(OSError):
        (own / "filter").write_text(wanted)
    try:
        (own / "enable").write_text("1")
    except OSError as error:
        return f"{error.strerror} ({error.filename})"
    return ""


def _instance(places: tuple[Path, ...]) -> Path:
    """A new instance. Raises OSError."""
    mounted = [place / "instances" for place in places if (place / "instances").is_dir()]
    if not mounted:
        raise OSError(errno.ENOENT, "no tracefs is mounted", str(places[0]))
    (above, *_) = mounted
    for left in above.glob("lowlat-verify-*"):
        # Of one that was killed.
        if not Path("/proc", left.name.rpartition("-")[2]).exists():
            _remove(left)
    folder = above / f"lowlat-verify-{os.getpid()}"
    folder.mkdir(0o700)
    try:
        (folder / "buffer_size_kb").write_text(str(_KIB))
    except OSError:
        _remove(folder)
        raise
    return folder


def _remove(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()
