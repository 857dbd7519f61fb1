# SPDX-License-Identifier: GPL-2.0-or-later
"""The contexts that ran on a CPU instead of the detector, from the trace's events: every moment
belongs to the innermost open context, so that each context has its net time."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Optional

from lowlat.measure.causes.wakers import Wakers
from lowlat.trace.clock import ClockPair
from lowlat.trace.context import ARM_IPI, LOST, Context, entered
from lowlat.trace.ftrace import TraceEvent, parse_switch
from lowlat.trace.senders import Senders

#: Events inside a context that name the function that ran in it.
_NAMING = {
    "hrtimer_expire_entry": "function",
    "timer_expire_entry": "function",
    "csd_function_entry": "func",
}


@dataclass(frozen=True)
class Stretch:
    """A stretch of time, in ticks, that belonged to one context."""

    begin: int
    end: int
    context: Context


class Contexts:
    """Follows one CPU's events; ``thread`` is the detector's thread ID; ``realtime``: the kernel is
    PREEMPT_RT, which may switch away from a softirq. A context without begin or end becomes
    LOST."""

    def __init__(
        self,
        thread: int,
        senders: Senders,
        wakers: Wakers,
        clock: ClockPair,
        *,
        realtime: bool = False,
    ) -> None:
        self._thread = thread
        self._realtime = realtime
        self._senders = senders
        self._wakers = wakers
        self._clock = clock
        self._last = 0
        self._pid = thread
        #: Open interrupts, innermost last; and each thread's open contexts, its own stay first.
        self._interrupts: list[Context] = []
        self._threads: dict[int, list[Context]] = {}
        self._begun: list[Context] = []

    def stretches(self, events: Iterable[TraceEvent]) -> Iterator[Stretch]:
        """The time between the events, each stretch with its innermost context."""
        for event in events:
            until, top = event.time, self._top()
            nmi = self._nmi(event) if event.name == "nmi_handler" else None
            if nmi is not None:
                until = nmi.begin
            if top is not None and self._last and until > self._last:
                yield Stretch(self._last, until, top)
            if nmi is not None:
                yield Stretch(nmi.begin, event.time, nmi)
            self._last = event.time
            if event.pid != self._pid:
                self._found(event)
            self._apply(event)
        for stack in (self._interrupts, *self._threads.values()):
            _lose_from(stack, 1)

    def begun(self) -> list[Context]:
        """The contexts that began since the last call, in order of time."""
        begun, self._begun = self._begun, []
        return begun

    def changing(self) -> set[Context]:
        """The contexts that a later event may still name, charge or lose."""
        others = self._threads.values() if self._realtime else ()
        softirqs = (one for stack in others for one in stack if one.kind == "softirq")
        latest = (*self._interrupts, *self._threads.get(self._pid, ()), *softirqs)
        return {part for one in latest for part in one.parts()}

    def _top(self) -> Optional[Context]:
        if self._interrupts:
            return self._interrupts[-1]
        stack = self._threads.get(self._pid)
        return stack[-1] if stack else None

    def _found(self, event: TraceEvent) -> None:
        """Another task than expected runs: at the beginning, or after events were lost."""
        _lose(self._interrupts)
        _lose(self._threads.pop(self._pid, []))
        self._pid = event.pid
        if event.pid != self._thread and event.pid not in self._threads:
            # The kernel prints <...> if it has forgotten the name.
            name = f"task {event.pid}" if event.comm in ("", "<...>") else event.comm
            self._threads[event.pid] = [
                Context("thread", name if event.pid else "idle", event.time)
            ]

    def _nmi(self, event: TraceEvent) -> Context:
        """The event comes at the end of the NMI, with its length."""
        length = self._clock.span(int(event.field("delta_ns") or 0))
        begin = max(event.time - length, self._last)
        return self._begin(Context("nmi", event.text.partition("(")[0], begin, row="NMI"))

    def _begin(self, context: Context) -> Context:
        self._begun.append(context)
        return context

    def _apply(self, event: TraceEvent) -> None:
        name = event.name
        if name == "sched_switch":
            self._switch(event)
        elif name in _NAMING:
            top = self._top()
            if top is not None:
                top.ran(event.symbol(_NAMING[name]))
        elif name.startswith("page_fault_"):
            if self._pid == self._thread:  # page faults of other threads belong to their own time
                self._begin(Context("exception", name.replace("_", " "), event.time))
        elif name.startswith("cpuhp_"):  # cpuhp_enter, cpuhp_multi_enter: the step's function
            top = self._top()
            if top is not None:
                top.ran(event.step)
        elif name == "workqueue_execute_start":
            self._work(event)
        elif name == "workqueue_execute_end":
            self._work_done()
        elif name.endswith("_entry"):
            self._enter(event)
        elif name.endswith("_exit") and name.replace("_exit", "_entry") not in _NAMING:
            self._leave(entered(event))

    def _enter(self, event: TraceEvent) -> None:
        context, top = entered(event), self._top()
        if context.row == ARM_IPI and top is not None and top.name == ARM_IPI:
            # arm64 reports the interrupt first, then its reason.
            top.name, top.row = context.name, context.row
            return
        self._begin(context)
        if context.kind == "ipi":
            context.origin = self._senders.origin(event.cpu, event.time, context.key)
        own = self._threads.setdefault(self._pid, [])
        _lose_from(self._interrupts, context.nests)
        _lose_from(own, context.nests)
        # A softirq in its own thread (PREEMPT_RT) is switched out together with the thread.
        (own if context.kind == "softirq" else self._interrupts).append(context)

    def _leave(self, wanted: Context) -> None:
        for stack in (self._interrupts, self._threads.get(self._pid, [])):
            for depth in range(len(stack) - 1, -1, -1):
                if stack[depth].key == wanted.key:
                    _lose(stack[depth + 1 :])
                    del stack[depth:]
                    return
        top = self._top()
        if top is None or top.row != ARM_IPI:  # arm64: the reason ends before its interrupt
            self._begin(Context(*LOST, wanted.begin))

    def _switch(self, event: TraceEvent) -> None:
        switch = parse_switch(event.text)
        if switch is None:
            return
        # No interrupt outlasts a switch; one that seems to has lost its end event.
        _lose(self._interrupts)
        left = self._threads.get(switch.before, [])
        if not self._realtime:
            _lose_from(left, 1)
        if not any(context.busy or context.kind == "softirq" for context in left):
            self._threads.pop(switch.before, None)
        self._pid = switch.after
        before = self._threads.get(switch.after, [])
        if switch.after == self._thread:
            self._threads[switch.after] = [_again(context, event.time) for context in before]
            return
        stay = Context("thread", switch.comm if switch.after else "idle", event.time)
        stay.origin = self._wakers.origin(switch.comm, event.time)
        if before and before[0].kind == "thread":
            stay.functions, stay.busy = before[0].functions[-1:], before[0].busy
        inner = [_again(context, event.time) for context in before if context.kind == "softirq"]
        self._threads[switch.after] = [self._begin(stay), *inner]

    def _work(self, event: TraceEvent) -> None:
        stack = self._threads.get(self._pid)
        if not stack or stack[0].kind != "thread":
            return
        # A worker's stay is named after its first work; a further work is a separate cause.
        if stack[0].functions and not stack[0].busy:
            stack[0] = self._begin(Context("thread", stack[0].name, event.time))
        stack[0].ran(event.work)
        stack[0].busy = True

    def _work_done(self) -> None:
        stack = self._threads.get(self._pid)
        if stack:
            stack[0].busy = False


def _lose(contexts: list[Context]) -> None:
    """Contexts that have lost their end."""
    _lose_from(contexts, 0)


def _lose_from(contexts: list[Context], level: int) -> None:
    """The same for the innermost ones within which nothing of this level begins."""
    while contexts and contexts[-1].nests >= level:
        contexts.pop().lose()


def _again(context: Context, time: int) -> Context:
    """A context that goes on after its thread was off the CPU: no new entry."""
    return Context(context.kind, context.name, time, context.key, earlier=context)
