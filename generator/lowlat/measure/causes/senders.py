# SPDX-License-Identifier: GPL-2.0-or-later
"""Who sent an interrupt to another CPU: the trace events ipi_send_cpu and ipi_send_cpumask, which
kernels from 6.4 on have."""

from collections.abc import Iterable

from lowlat.measure.causes.capture import ClockPair
from lowlat.measure.causes.ftrace import TraceEvent
from lowlat.model.cpuset import CpuSet, CpuSetError

#: An interrupt that was sent longer ago than this, in ns, is not the one that arrives; on hardware
#: it takes microseconds, but a virtual CPU may not run for a while.
_LATEST_NS = 500_000_000

#: What the kernel names when the interrupt only tells of a queue.
_GENERIC = "generic_smp_call_function_single_interrupt"


class Senders:
    """What was sent to each CPU, in order of time. An arrival is asked for once, in that order."""

    def __init__(self, events: Iterable[TraceEvent], cpus: CpuSet, clock: ClockPair) -> None:
        self._reach = clock.span(_LATEST_NS)
        self._sent: dict[tuple[int, bool], list[TraceEvent]] = {}
        for event in events:
            for cpu in receivers(event) & cpus:
                self._sent.setdefault((cpu, reschedules(event)), []).append(event)
        self._next = dict.fromkeys(self._sent, 0)

    def origin(self, cpu: int, time: int, vector: str) -> str:
        """The origin of the interrupt that arrives now, or "". It is the latest that has been sent;
        earlier ones have arrived with it."""
        key = (cpu, vector == "reschedule")
        ways = self._sent.get(key, [])
        first = self._next.get(key, 0)
        after = first
        while after < len(ways) and ways[after].time <= time:
            after += 1
        self._next[key] = after
        if after == first or time - ways[after - 1].time > self._reach:
            return ""
        return origin(ways[after - 1])


def reschedules(event: TraceEvent) -> bool:
    """Whether what it tells of was sent to reschedule."""
    return not event.symbol("callback")


def origin(event: TraceEvent) -> str:
    """Where what it tells of comes from: " from CALLSITE (CALLBACK)", or ""."""
    callsite, callback = event.symbol("callsite"), event.symbol("callback")
    doing = f" ({callback})" if callback not in ("", _GENERIC) else ""
    return f" from {callsite}{doing}" if callsite else ""


def receivers(event: TraceEvent) -> CpuSet:
    """The CPUs that it was sent to; none of any other event."""
    try:
        if event.name == "ipi_send_cpu":
            return CpuSet.of([int(event.field("cpu"))])
        if event.name == "ipi_send_cpumask":
            return CpuSet.parse_mask(event.field("cpumask"))
    except (CpuSetError, ValueError):
        pass
    return CpuSet()
