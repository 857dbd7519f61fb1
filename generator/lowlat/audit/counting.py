# SPDX-License-Identifier: GPL-2.0-or-later
"""From the records to counts by kind and place."""

import math
import re
import signal
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple, Optional

from lowlat.audit import calls
from lowlat.audit.calls import Call
from lowlat.audit.kinds import EVENTS
from lowlat.audit.perf_script import Frame, Lost, Record, Sample, Started
from lowlat.model.cpuset import CpuSet

_KINDS = {event.name: event.kind for event in EVENTS}

#: Where distributions keep shared libraries, whose callers are the program's own places.
_LIBRARIES = re.compile(r"/(?:usr/)?lib(?:32|64|exec)?/|\[")

#: How many own callers are kept: the first one with debug information is the place.
_KEPT = 8

_SENDS = {"write", "writev", "sendto", "sendmsg"}
_AT_MARK = {*_SENDS, "read", "readv", "recvfrom", "recvmsg", "close"}


@dataclass(frozen=True)
class Scope:
    """What counts: events on ``cpus`` between two times in ns (CLOCK_MONOTONIC); from the start of
    the program of process ``pid`` on if ``from_start``; up to the second message on ``mark_fd``,
    whose own calls do not count. ``executable`` is the program's path, ``machine`` uname(2)'s."""

    cpus: CpuSet
    pid: int
    machine: str
    executable: str = ""
    begin_ns: int = 0
    end_ns: float = math.inf
    from_start: bool = False
    mark_fd: Optional[int] = None


class Site(NamedTuple):
    """One row: its kind; the call, the signal, or the library's function; the callers in the
    program itself, the innermost first, and if there is none, the innermost frame of all."""

    kind: str
    what: str
    callers: tuple[Frame, ...]
    foreign: Optional[Frame] = None


@dataclass
class Counts:
    """``elsewhere`` counts events on other CPUs by kind. Of ``lost`` events nothing is known."""

    sites: Counter[Site] = field(default_factory=Counter)
    elsewhere: Counter[str] = field(default_factory=Counter)
    lost: int = 0


@dataclass
class _ThreadState:
    """What a thread did, its last call and CPU, and whether it is in a call about the mark."""

    sites: Counter[Site] = field(default_factory=Counter)
    elsewhere: Counter[str] = field(default_factory=Counter)
    call: Call = Call("")
    cpu: int = -1
    at_mark: bool = False

    def forget(self) -> None:
        self.sites.clear()
        self.elsewhere.clear()


def count(records: Iterable[Record], scope: Scope) -> Counts:
    return _Counting(scope).run(records)


class _Counting:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._threads: dict[int, _ThreadState] = defaultdict(_ThreadState)
        self._running = not scope.from_start

    def run(self, records: Iterable[Record]) -> Counts:
        tally = Counts()
        for record in records:
            if isinstance(record, Lost):
                tally.lost += record.events
            elif isinstance(record, Started):
                self._running = self._running or record.pid == self._scope.pid
            elif self._counts(record) and record.event in _KINDS:
                self._take(record, self._threads[record.tid])
        for thread in self._threads.values():
            tally.sites += thread.sites
            tally.elsewhere += thread.elsewhere
        return tally

    def _counts(self, sample: Sample) -> bool:
        return self._running and self._scope.begin_ns <= sample.time_ns <= self._scope.end_ns

    def _take(self, sample: Sample, thread: _ThreadState) -> None:
        kind = _KINDS[sample.event]
        if kind == "calls":
            thread.call = calls.parse(sample.detail, self._scope.machine)
            thread.at_mark = self._is_about_mark(thread.call, sample.pid)
        before, thread.cpu = thread.cpu, sample.cpu
        if thread.at_mark and kind == "calls":
            self._reach_mark(thread)
        elif thread.at_mark and kind == "switches":
            pass
        elif kind != "ipis" or self._is_own_interrupt(sample, thread.call):
            left = kind == "migrations" and before in self._scope.cpus
            if sample.cpu in self._scope.cpus or left:
                self._add(kind, sample, thread)
            else:
                thread.elsewhere[kind] += 1

    def _is_about_mark(self, call: Call, pid: int) -> bool:
        fd = self._scope.mark_fd
        return call.name in _AT_MARK and [fd] == call.arguments[:1] and pid == self._scope.pid

    def _reach_mark(self, thread: _ThreadState) -> None:
        """The first message came before anything was recorded, so that another one is the last; who
        only now waits for the answer was on the way to it."""
        if thread.call.name in _SENDS:
            self._running = False
        else:
            thread.forget()

    def _is_own_interrupt(self, sample: Sample, last: Call) -> bool:
        """Interrupts for flushes are those of tlb:tlb_flush, which x86 has; of all others, which
        may be sent for anybody, those of membarrier are the program's."""
        flushes = () if self._scope.machine == "x86_64" else calls.MAPPINGS
        return sample.event == "tlb:tlb_flush" or last.name in ("membarrier", *flushes)

    def _add(self, kind: str, sample: Sample, thread: _ThreadState) -> None:
        callers = own_callers(sample.frames, self._scope.executable)
        foreign = sample.frames[0] if sample.frames and not callers else None
        what = _what(kind, sample, thread.call, callers)
        thread.sites[Site(kind, what, callers, foreign)] += 1
        if kind == "calls" and thread.call.waits_for_futex:
            thread.sites[Site("futex-waits", what, callers, foreign)] += 1


def own_callers(frames: tuple[Frame, ...], executable: str) -> tuple[Frame, ...]:
    """The frames in the program and its own libraries."""
    own = (
        frame
        for frame in frames
        if frame.object == executable or not _LIBRARIES.match(frame.object)
    )
    return tuple(islice(own, _KEPT))


def _what(kind: str, sample: Sample, call: Call, callers: tuple[Frame, ...]) -> str:
    if kind == "calls":
        return call.name
    number = re.match(r"sig=(\d+)", sample.detail)
    if number:
        return _signal(int(number[1]))
    inside_library = callers and sample.frames[0] != callers[0]
    return plain_name(sample.frames[0].symbol) if inside_library else ""


def plain_name(symbol: str) -> str:
    """A symbol as people know it: "__GI___madvise@@GLIBC_2.2.5" is madvise."""
    name = symbol.partition("@")[0]
    return re.sub(r"^(?:__GI_)?_*", "", name) or name


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
