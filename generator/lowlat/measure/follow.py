# SPDX-License-Identifier: GPL-2.0-or-later
"""The data of ``top``: the harness's lines, one a second, as sources of interrupts for each CPU;
and the threads that ran there, observed from outside and without root by the change of each
thread's run time and last CPU in /proc."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
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


class Occupants:
    """Observes the threads on some CPUs again and again, except those of one process."""

    def __init__(self, root: Root, cpus: CpuSet, besides: int) -> None:
        self._root = root
        self._cpus = cpus
        self._besides = str(besides)
        self._before = {task.pid: ran for task, ran in self._tasks()}

    def look(self) -> tuple[Occupant, ...]:
        """The threads that ran since the previous look, the longest first."""
        before, self._before = self._before, {}
        occupants = []
        for task, ran in self._tasks():
            self._before[task.pid] = ran
            # A new thread is counted from its start.
            grown = ran - before.get(task.pid, 0)
            if grown > 0 and task.cpu in self._cpus:
                kind = Thread.of(kernel=task.kernel, bound=task.bound)
                occupants.append(Occupant(task.cpu, task.comm, grown, task.pid, kind))
        return tuple(sorted(occupants, key=lambda one: -one.ran_ns))

    def _tasks(self) -> Iterator[tuple[Task, int]]:
        for pid in self._root.names("/proc"):
            if not pid.isdigit() or pid == self._besides:
                continue
            for task in self._root.names(f"/proc/{pid}/task"):
                folder = f"/proc/{pid}/task/{task}"
                status = tasks.read(self._root, folder)
                if status is not None:
                    yield status, tasks.ran(self._root, folder)[0]


SCHEMA = "lowlat.follow/1"

#: The assumed cost of an interrupt in us, to rank counted sources beside timed ones.
_USUAL_US = 5.0


@dataclass(frozen=True)
class Interrupter:
    """One source of interruptions: its count per second, or its run time in us per second; ``task``
    is the ID of a thread."""

    kind: str
    name: str
    per_s: Optional[float]
    us_per_s: Optional[float]
    task: Optional[int] = None
    thread: Optional[Thread] = None

    def remedy(self, remedies: Remedies) -> str:
        """The setting that removes it; "" if none does."""
        if self.thread is not None:
            return remedies.of_thread(self.name, self.thread) or ""
        return remedies.of(self.kind, self.name) or ""

    @property
    def weight(self) -> float:
        """The cost in us per second; an estimate for sources that are only counted."""
        return (self.per_s or 0.0) * _USUAL_US if self.us_per_s is None else self.us_per_s


@dataclass(frozen=True)
class CpuSecond:
    """The counts of one CPU in a line's time, interrupts and softirqs by their row."""

    cpu: int
    gaps: int
    noise_ppm: float
    max_ns: int
    interrupts: Mapping[str, float]
    softirqs: Mapping[str, float]


@dataclass(frozen=True)
class Second:
    """One line of ``lowlat-measure --follow``: s since the start, the line's own time, its CPUs,
    and the threads that ran meanwhile."""

    schema: str
    time_s: float
    interval_s: float
    cpus: tuple[CpuSecond, ...]
    occupants: tuple[Occupant, ...] = ()

    def gaps_per_s(self, cpu: CpuSecond) -> float:
        return cpu.gaps / self.interval_s

    def interrupters(self, cpu: CpuSecond) -> list[Interrupter]:
        """The sources of interruptions of a CPU, the most costly first."""
        interrupters = [
            *(
                Interrupter(*row_name(label), count / self.interval_s, None)
                for label, count in cpu.interrupts.items()
                if label not in PARTS
            ),
            *(self._thread(one) for one in self.occupants if one.cpu == cpu.cpu),
            *(
                Interrupter("softirq", label, count / self.interval_s, None)
                for label, count in cpu.softirqs.items()
            ),
        ]
        return sorted(interrupters, key=lambda one: -one.weight)

    def _thread(self, one: Occupant) -> Interrupter:
        # A thread from another CPU may have run for longer than the interval.
        us_per_s = min(one.ran_ns / 1000 / self.interval_s, 1e6)
        return Interrupter("thread", one.name, None, us_per_s, one.task, one.thread)


def parse_line(text: str, occupants: Iterable[Occupant] = ()) -> Second:
    """A line, with the threads that ran meanwhile. Raises LowlatError if it is malformed."""
    try:
        second = decode(Second, json.loads(text))
        if second.schema != SCHEMA or not second.interval_s:
            raise ValueError(f"schema {second.schema}, {second.interval_s:g} s")
    except ValueError as error:
        raise LowlatError(f"lowlat-measure wrote a line that cannot be read: {error}") from error
    return replace(second, occupants=tuple(occupants))
