# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's trace while interrupts are counted: why the tick of a CPU goes on (event
timer:tick_stop, kernel/time/tick-sched.c), and who sends interrupts to the CPU (events
ipi:ipi_send_cpu and ipi:ipi_send_cpumask, include/trace/events/ipi.h, Linux 6.4 and newer). The
events go to a trace instance of this run alone, which is removed afterwards."""

import errno
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from lowlat.base import resources
from lowlat.model.cpuset import CpuSet
from lowlat.trace import ftrace, senders
from lowlat.trace.clock import ClockPair
from lowlat.trace.ftrace import TraceEvent

#: Where a system mounts tracefs.
_PLACES = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))

#: Size of each CPU's buffer in KiB; older events give way.
_KIB = 16

#: Times of the events are not used.
_CLOCK = ClockPair((0, 0), (1, 1))

#: The key of the tick, and the rows of /proc/interrupts whose senders the kernel names: reschedule
#: and function-call interrupts.
TICK, SENT = "TICK", ("RES", "CAL")

_SEEN = re.compile(r"^seen ([0-9]{1,5}) (TICK|RES|CAL) ([0-9]{1,9}) (.{1,250})$", re.MULTILINE)
_UNSEEN = re.compile(r"^unseen (TICK|RES|CAL) (.*)$", re.MULTILINE)

#: TICK_DEP_NAMES in include/trace/events/timer.h.
_WORDS = resources.texts("verify/tick_stops.ini")["words"]

#: The number of senders that a message names.
_NAMED = 3


@dataclass
class Traced:
    """``seen`` counts by CPU, row (TICK or one of /proc/interrupts) and cause: the reason of the
    tick or the sender. ``errors`` has the reason why a row could not be traced."""

    seen: Counter[tuple[int, str, str]] = field(default_factory=Counter)
    errors: dict[str, str] = field(default_factory=dict)

    def text(self) -> str:
        """The lines that parse() reads."""
        seen = (f"seen {cpu} {row} {n} {what}" for (cpu, row, what), n in self.seen.items())
        unseen = (f"unseen {row} {why}" for row, why in self.errors.items())
        return "\n".join(("traced", *seen, *unseen))

    def of(self, cpu: int, row: str) -> Counter[str]:
        """The counts of one CPU and row, by cause."""
        return Counter(
            {what: n for (at, of, what), n in self.seen.items() if (at, of) == (cpu, row)}
        )


def parse(text: str) -> Traced:
    """Parses the lines of text()."""
    traced = re.search(r"^traced$", text, re.MULTILINE)
    errors = {} if traced else dict.fromkeys((TICK, *SENT), "it was not recorded")
    seen = {(int(cpu), row, what): int(n) for cpu, row, n, what in _SEEN.findall(text)}
    return Traced(Counter(seen), {**errors, **dict(_UNSEEN.findall(text))})


def seen(events: Iterable[TraceEvent], cpus: CpuSet) -> Counter[tuple[int, str, str]]:
    """The counts of these CPUs, from the events."""
    return Counter(found for event in events for found in _seen(event, cpus))


def _seen(event: TraceEvent, cpus: CpuSet) -> Iterator[tuple[int, str, str]]:
    if event.name == "tick_stop" and event.field("success") == "0" and event.cpu in cpus:
        yield event.cpu, TICK, event.field("dependency")
    for cpu in senders.receivers(event) & cpus:
        who = f"CPU {event.cpu}, {event.comm} ({event.pid}){senders.origin(event)}"
        yield cpu, SENT[not senders.reschedules(event)], who


def stop_words(traced: Traced, cpu: int) -> str:
    """Reasons why the tick of this CPU went on, the most frequent first."""
    if TICK in traced.errors:
        return f"why is not known: {traced.errors[TICK]}"
    own = traced.of(cpu, TICK)
    if not own:
        return "timer:tick_stop never came there: the kernel did not try to stop it"
    each = (f"{_WORDS.get(what, what)} {share}" for what, share in _shares(own))
    return f"timer:tick_stop names {', '.join(each)}"


def sender_words(traced: Traced, cpu: int, row: str) -> str:
    """The senders of a row's interrupts to this CPU, the most frequent first."""
    if row in traced.errors:
        return f"who sends it is not known: {traced.errors[row]}"
    own = traced.of(cpu, row)
    if not own:
        return "the kernel's trace names no sender"
    each = [f"{who} {share}" for who, share in _shares(own)]
    more = f" and {len(own) - _NAMED} more" if len(own) > _NAMED else ""
    return f"sent by {'; '.join(each[:_NAMED])}{more}"


def _shares(own: Counter[str]) -> Iterator[tuple[str, str]]:
    total = sum(own.values())
    return ((what, f"({n} of {total})") for what, n in own.most_common())


def origin(traced: Traced, cpu: int, row: str) -> str:
    """The call site of most of them: " from CALLSITE (CALLBACK)", or ""."""
    for who, _ in traced.of(cpu, row).most_common(1):
        _, word, rest = who.rpartition(" from ")
        return f"{word}{rest}" if word else ""
    return ""


@contextmanager
def recording(cpus: CpuSet, places: tuple[Path, ...] = _PLACES) -> Iterator[Traced]:
    """Record the events of these CPUs during the block; the value is filled after it."""
    traced = Traced()
    try:
        folder = _instance(places)
    except OSError as error:
        traced.errors = dict.fromkeys((TICK, *SENT), f"{error.strerror} ({error.filename})")
        yield traced
        return
    try:
        tick = _enable(folder, "timer/tick_stop", "success == 0")
        one = _enable(folder, "ipi/ipi_send_cpu", f"cpu & CPUS{{{cpus}}}")
        many = _enable(folder, "ipi/ipi_send_cpumask", f"cpumask & CPUS{{{cpus}}}")
        errors = {TICK: tick, **dict.fromkeys(SENT, one or many)}
        traced.errors = {row: why for row, why in errors.items() if why}
        yield traced
        (folder / "tracing_on").write_text("0")
        lines = (folder / "trace").read_text(errors="replace").split("\n")
        traced.seen = seen(ftrace.parse(lines, _CLOCK), cpus)
    except OSError as error:
        traced.errors = dict.fromkeys((TICK, *SENT), f"{error.strerror} ({error.filename})")
    finally:
        _remove(folder)


def _enable(folder: Path, event: str, wanted: str) -> str:
    """Record the wanted events of a kind; returns the reason if that fails, else ""."""
    own = folder / "events" / event
    if not own.is_dir():
        return f"this kernel does not have the event {event.replace('/', ':')}"
    # Only to spare the buffer: kernels before 6.6 cannot filter by a set of CPUs.
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
        # Left by a process that was killed.
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
