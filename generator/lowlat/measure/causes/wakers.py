# SPDX-License-Identifier: GPL-2.0-or-later
"""Who has a stopper (migration/N) or a hotplug thread (cpuhp/N) work, by the trace event
sched_waking and the stack that led to it."""

import re
from collections.abc import Iterable
from typing import Optional

from lowlat.trace.ftrace import STACK, TraceEvent, calls
from lowlat.trace.senders import doer

_WOKEN = re.compile(r"comm=((?:migration|cpuhp)/\d+) pid=")

#: The ways to wake a thread up and to hand it work (kernel/sched/core.c, kernel/stop_machine.c,
#: kernel/cpu.c); the function beyond them is the caller.
_WAYS = re.compile(
    r"trace_event_|try_to_wake_up|wake_up_|swake_up_|complete|kthread_|_*cpuhp_kick|"
    r"_*cpu_stop_queue_|stop_(one_cpu|two_cpus|machine|core)|queue_stop_cpus|_*stop_cpus"
)


class Wakers:
    """The wake-ups of such threads, in order of time. Look the stays of a thread up once, in
    order."""

    def __init__(self, events: Iterable[TraceEvent]) -> None:
        self._woken: dict[str, list[tuple[int, str]]] = {}
        #: The last wake-up on each CPU, which a stack may follow.
        last: dict[int, tuple[list[tuple[int, str]], TraceEvent]] = {}
        for event in events:
            woken = _WOKEN.match(event.text) if event.name == "sched_waking" else None
            if woken is not None:
                own = self._woken.setdefault(woken[1], [])
                own.append((event.time, f", woken by {doer(event)}"))
                last[event.cpu] = own, event
            elif event.name == STACK and event.cpu in last:
                own, before = last.pop(event.cpu)
                caller = _caller(event)
                if before.pid == event.pid and caller is not None:
                    own[-1] = (before.time, f" from {caller}{own[-1][1]}")

    def origin(self, thread: str, time: int) -> str:
        """Who had the thread run that begins now, or "": the latest wake-up."""
        own, found = self._woken.get(thread, []), ""
        while own and own[0][0] <= time:
            found = own.pop(0)[1]
        return found


def _caller(stack: TraceEvent) -> Optional[str]:
    return next((name for name in calls(stack) if not _WAYS.match(name)), None)
