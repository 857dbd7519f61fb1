# SPDX-License-Identifier: GPL-2.0-or-later
"""Senders of interrupts to other CPUs, by the trace events ipi_send_cpu and ipi_send_cpumask
(kernel 6.4 and newer)."""

from array import array
from bisect import bisect_right
from collections.abc import Iterable

from lowlat.model.cpuset import CpuSet, CpuSetError
from lowlat.trace.clock import ClockPair
from lowlat.trace.ftrace import TraceEvent

#: In ns: an interrupt sent longer ago is not the one that arrives. Hardware delivers it within
#: microseconds, but a virtual CPU may not run for a while.
_LATEST_NS = 500_000_000

#: The callback named if the interrupt only announces a queue.
_GENERIC = "generic_smp_call_function_single_interrupt"


class Senders:
    """The interrupts sent to each CPU, in order of time. Look arrivals up once, in order."""

    def __init__(self, events: Iterable[TraceEvent], cpus: CpuSet, clock: ClockPair) -> None:
        self._reach = clock.span(_LATEST_NS)
        #: Times, and numbers of origins: a kernel of many CPUs sends millions.
        self._sent: dict[tuple[int, bool], tuple[array[int], array[int]]] = {}
        origins: dict[str, int] = {}
        for event in events:
            for cpu in receivers(event) & cpus:
                key = cpu, reschedules(event)
                times, words = self._sent.setdefault(key, (array("q"), array("l")))
                times.append(event.time)
                told = f"{origin(event)}, sent by {doer(event)}"
                words.append(origins.setdefault(told, len(origins)))
        self._origins = list(origins)
        self._next = dict.fromkeys(self._sent, 0)

    def origin(self, cpu: int, time: int, vector: str) -> str:
        """The origin of the interrupt that arrives now, or "": the latest one that was sent.
        Earlier ones have arrived with it."""
        key = (cpu, vector == "reschedule")
        if key not in self._sent:
            return ""
        times, words = self._sent[key]
        first = self._next[key]
        after = self._next[key] = bisect_right(times, time, first)
        if after == first or time - times[after - 1] > self._reach:
            return ""
        return self._origins[words[after - 1]]


def doer(event: TraceEvent) -> str:
    """The task that an event is of, and its CPU."""
    # The kernel prints <...> if it has forgotten the name.
    who = event.comm if event.comm not in ("", "<...>") else f"task {event.pid}"
    return f"{who} on CPU {event.cpu}"


def reschedules(event: TraceEvent) -> bool:
    """Whether the event's interrupt was sent to reschedule."""
    return not event.symbol("callback")


def origin(event: TraceEvent) -> str:
    """The origin of the event's interrupt: " from CALLSITE (CALLBACK)", or ""."""
    callsite, callback = event.symbol("callsite"), event.symbol("callback")
    doing = f" ({callback})" if callback not in ("", _GENERIC) else ""
    return f" from {callsite}{doing}" if callsite else ""


def receivers(event: TraceEvent) -> CpuSet:
    """The CPUs that the interrupt was sent to; none for any other event."""
    try:
        if event.name == "ipi_send_cpu":
            return CpuSet.of([int(event.field("cpu"))])
        if event.name == "ipi_send_cpumask":
            return CpuSet.parse_mask(event.field("cpumask"))
    except (CpuSetError, ValueError):
        pass
    return CpuSet()
