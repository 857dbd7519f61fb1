# SPDX-License-Identifier: GPL-2.0-or-later
"""The threads that ran on some CPUs, observed from outside and without root by the change of each
thread's run time and last CPU in /proc. The time that a detector waited for its CPU is that of all
threads there, with those that came and went between two looks."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from lowlat.catalogue.remedies import Thread
from lowlat.host import tasks
from lowlat.host.root import Root
from lowlat.host.tasks import Task
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
