# SPDX-License-Identifier: GPL-2.0-or-later
"""The data of ``top``: the harness's lines, one a second, as sources of interrupts for each CPU;
and the threads that ran there, observed from outside and without root by the change of each
thread's run time and last CPU in /proc. The time that the detector waited for its CPU is that of
all threads there, with those that came and went between two looks."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Optional

from lowlat.base.errors import LowlatError
from lowlat.base.typed_json import decode
from lowlat.host import tasks
from lowlat.host.root import Root
from lowlat.host.tasks import Task
from lowlat.measure.causes.context import PARTS, row_name
from lowlat.measure.remedies import Remedies, Thread
from lowlat.model.cpuset import CpuSet


@dataclass(frozen=True)
class Occupant:
    """A thread that ran on a CPU, and for how many ns since the previous look; ``task`` is its
    thread ID."""

    cpu: int
    name: str
    ran_ns: int
    task: int
    thread: Thread


@dataclass(frozen=True)
class Look:
    """The threads that ran since the previous look, the longest first; for how many ns the detector
    of each CPU waited for it; and how many threads were started, on all CPUs."""

    occupants: tuple[Occupant, ...] = ()
    waited_ns: Mapping[int, int] = field(default_factory=dict)
    started: int = 0


class Occupants:
    """Observes the threads on some CPUs again and again, except those of the harness."""

    def __init__(self, root: Root, cpus: CpuSet, harness: int) -> None:
        self._root = root
        self._cpus = cpus
        self._harness = str(harness)
        self._before: dict[int, int] = {}
        self._waited: dict[int, int] = {}
        self._started = 0
        self.look()

    def look(self) -> Look:
        before, self._before = self._before, {}
        occupants = []
        for task, ran in self._tasks():
            self._before[task.pid] = ran
            # A new thread is counted from its start.
            grown = ran - before.get(task.pid, 0)
            if grown > 0 and task.cpu in self._cpus:
                kind = Thread.of(kernel=task.kernel, bound=task.bound)
                occupants.append(Occupant(task.cpu, task.comm, grown, task.pid, kind))
        occupants.sort(key=lambda one: -one.ran_ns)
        waited, self._waited = self._waited, self._waits()
        grown_ns = {cpu: ns - waited.get(cpu, 0) for cpu, ns in self._waited.items()}
        started, self._started = self._started, self._starts()
        return Look(tuple(occupants), grown_ns, self._started - started)

    def _tasks(self) -> Iterator[tuple[Task, int]]:
        for pid in self._root.names("/proc"):
            if pid.isdigit() and pid != self._harness:
                for folder in self._folders(pid):
                    status = tasks.read(self._root, folder)
                    if status is not None:
                        yield status, tasks.ran(self._root, folder)[0]

    def _folders(self, pid: str) -> Iterator[str]:
        return (f"/proc/{pid}/task/{task}" for task in self._root.names(f"/proc/{pid}/task"))

    def _waits(self) -> dict[int, int]:
        """For how many ns the detector of each CPU has waited: the harness's busiest thread there
        (Documentation/scheduler/sched-stats.rst)."""
        busiest: dict[int, tuple[int, int]] = {}
        for folder in self._folders(self._harness):
            status = tasks.read(self._root, folder)
            told = (self._root.read(f"{folder}/schedstat") or "").split()
            if status is not None and status.cpu in self._cpus and len(told) == 3:
                times = (int(told[0]), int(told[1]))
                busiest[status.cpu] = max(busiest.get(status.cpu, (0, 0)), times)
        return {cpu: waited for cpu, (_, waited) in busiest.items()}

    def _starts(self) -> int:
        match = re.search(r"^processes (\d+)$", self._root.read("/proc/stat") or "", re.MULTILINE)
        return int(match[1]) if match else 0


SCHEMA = "lowlat.follow/1"

#: The assumed cost of an interrupt in us at most, to rank counted sources beside timed ones.
_USUAL_US = 5.0


@dataclass(frozen=True)
class Interrupter:
    """One source of interruptions: its count per second, None for a thread; its time in us per
    second, an estimate where it is only counted. ``task`` is the ID of a thread."""

    kind: str
    name: str
    per_s: Optional[float]
    us_per_s: float
    task: Optional[int] = None
    thread: Optional[Thread] = None

    def remedy(self, remedies: Remedies) -> str:
        """The setting that removes it; "" if none does."""
        if self.thread is not None:
            return remedies.of_thread(self.name, self.thread) or ""
        return remedies.of(self.kind, self.name) or ""


@dataclass(frozen=True)
class CpuSecond:
    """The counts of one CPU in a line's time, interrupts and softirqs by their row."""

    cpu: int
    gaps: int
    noise_ns: int
    noise_ppm: float
    max_ns: int
    interrupts: Mapping[str, float]
    softirqs: Mapping[str, float]


@dataclass(frozen=True)
class Second:
    """One line of ``lowlat-measure --follow``: s since the start, the line's own time, its CPUs,
    and what ran meanwhile."""

    schema: str
    time_s: float
    interval_s: float
    cpus: tuple[CpuSecond, ...]
    look: Look = Look()

    def gaps_per_s(self, cpu: CpuSecond) -> float:
        return cpu.gaps / self.interval_s

    def lost(self, cpu: CpuSecond) -> float:
        """The time lost there in us per second."""
        return cpu.noise_ns / 1000 / self.interval_s

    def interrupters(self, cpu: CpuSecond) -> list[Interrupter]:
        """The sources of interruptions of a CPU, the most costly first; together they take no more
        than what was lost."""
        lost = self.lost(cpu)
        threads = self._threads(cpu.cpu, lost)
        left = max(lost - sum(one.us_per_s for one in threads), 0.0)
        counted = [
            *((row_name(label), n) for label, n in cpu.interrupts.items() if label not in PARTS),
            *((("softirq", label), n) for label, n in cpu.softirqs.items()),
        ]
        rates = [n / self.interval_s for _, n in counted]
        each = min(_USUAL_US, left / max(sum(rates), 1e-9))
        rows = (
            Interrupter(*who, rate, rate * each) for (who, _), rate in zip(counted, rates) if rate
        )
        return sorted([*threads, *rows], key=lambda one: -one.us_per_s)

    def _threads(self, cpu: int, lost: float) -> list[Interrupter]:
        """The threads that ran there; one from another CPU may have run elsewhere too."""
        own = [one for one in self.look.occupants if one.cpu == cpu]
        known = sum(one.ran_ns for one in own) / 1000 / self.interval_s
        away = self.look.waited_ns.get(cpu)
        most = min(lost, known if away is None else away / 1000 / self.interval_s)
        share = min(most / known, 1.0) if known else 0.0
        threads = [
            Interrupter(
                *("thread", one.name, None, share * one.ran_ns / 1000 / self.interval_s),
                *(one.task, one.thread),
            )
            for one in own
        ]
        if most - known * share > 1.0:
            name = f"gone or moved on, {self.look.started} started on all CPUs"
            threads.append(Interrupter("thread", name, None, most - known * share))
        return threads


def parse_line(text: str, look: Look = Look()) -> Second:
    """A line, with what ran meanwhile. Raises LowlatError if it is malformed."""
    try:
        second = decode(Second, json.loads(text))
        if second.schema != SCHEMA or not second.interval_s:
            raise ValueError(f"schema {second.schema}, {second.interval_s:g} s")
    except ValueError as error:
        raise LowlatError(f"lowlat-measure wrote a line that cannot be read: {error}") from error
    return replace(second, look=look)
