# SPDX-License-Identifier: GPL-2.0-or-later
"""The tasks that may run on isolated CPUs (proc_pid_stat(5), proc_pid_status(5))."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Optional

from lowlat.host import tasks
from lowlat.host.root import Root
from lowlat.model.cpuset import CpuSet, CpuSetError

#: The limit of processes: no host has so many, but a made-up tree could.
_MOST = 100_000

#: So many threads of a process are named with their remedy.
_NAMED = 16


@dataclass(frozen=True)
class TaskSeen:
    """One thread of the kind "user", "kernel", or "bound" (a kernel thread whose affinity cannot
    change). ``cpu`` is where it runs or ran last; ``runs`` counts how often it got a CPU,
    ``ran_ns`` for how long in all (Documentation/scheduler/sched-stats.rst); ``group`` is the last
    part of its control group, "" if not known."""

    tid: int
    pid: int
    kind: str
    policy: str
    cpu: int
    allowed: CpuSet
    runs: int
    ran_ns: int
    group: str
    comm: str

    @property
    def kernel(self) -> bool:
        return self.kind != "user"

    @property
    def name(self) -> str:
        policy = f", {self.policy}" if self.policy.startswith(tasks.REAL_TIME) else ""
        who = self.tid if self.tid == self.pid else f"thread {self.tid} of {self.pid}"
        return f"{self.comm} ({who}{policy})"

    def line(self) -> str:
        numbers = f"{self.cpu} {self.allowed} {self.runs} {self.ran_ns}"
        who = f"{self.group or '-'} {self.comm}"
        return f"{self.tid} {self.pid} {self.kind} {self.policy} {numbers} {who}"


@dataclass(frozen=True)
class UnexpectedTask:
    """One process, or a kernel thread. ``seconds`` is how long it was observed, 0.0 if it was seen
    once; ``runs`` and ``ran_ns`` count in that time. ``task`` is the thread that is there or ran
    most, ``threads`` all of the process that were not placed there; ``placed``: others were."""

    task: TaskSeen
    runs: int = 0
    ran_ns: int = 0
    seconds: float = 0.0
    threads: tuple[int, ...] = ()
    placed: bool = False

    @property
    def words(self) -> str:
        """Its name, and how often it ran there."""
        count = len(self.threads) - 1
        more = f" and {count} more thread{'s' if count > 1 else ''}" if count else ""
        where = f"{self.task.name}{more} on CPU {self.task.cpu}"
        if not self.seconds:
            return where
        share = self.ran_ns / self.seconds / 1e7
        return f"{where}, {self.runs / self.seconds:.1f} runs a second, {share:.1f} %"

    def moved_to(self, cpus: CpuSet) -> str:
        """The command that moves these threads, and no other: --all-tasks (-a) of taskset, the
        group of a service or of a container would take their CPUs from threads that were placed."""
        first, *more = self.threads
        if not more:
            return f"taskset -p -c {cpus} {first}"
        named = " ".join(map(str, self.threads[:_NAMED]))
        rest = len(self.threads) - _NAMED
        loop = f"for t in {named}; do taskset -p -c {cpus} $t; done"
        return f"{loop}; so for {rest} more of its threads" if rest > 0 else loop


def parse(text: str) -> tuple[TaskSeen, ...]:
    """Parses the text of listing(); malformed lines are left out."""
    return tuple(task for line in text.split("\n") if (task := _parse(line)))


def _parse(line: str) -> Optional[TaskSeen]:
    words = line.split(" ", 9)
    if len(words) != 10:
        return None
    tid, pid, kind, policy, cpu, allowed, runs, ran, group, comm = words
    try:
        numbers = int(tid), int(pid), kind, policy, int(cpu)
        cpus = CpuSet.parse_list(allowed)
        return TaskSeen(*numbers, cpus, int(runs), int(ran), "" if group == "-" else group, comm)
    except (ValueError, CpuSetError):
        return None


def read(root: Root, isolated: CpuSet) -> tuple[TaskSeen, ...]:
    """The tasks of a host now; of a captured machine, the recorded ones."""
    return parse(root.answer("tasks", lambda tree: listing(tree, isolated)))


def listing(root: Root, isolated: CpuSet) -> str:
    """A line for each task that may run on one of these CPUs."""
    return "\n".join(task.line() for task in _tasks(root, isolated))


def _tasks(root: Root, isolated: CpuSet) -> Iterator[TaskSeen]:
    own = str(os.getpid()) if root.live else ""
    pids = [name for name in root.names("/proc") if name.isdecimal() and name != own]
    for pid in sorted(pids, key=int)[:_MOST]:
        for tid in root.names(f"/proc/{pid}/task") or ("",):
            folder = f"/proc/{pid}/task/{tid}" if tid else f"/proc/{pid}"
            allowed = _allowed(root, folder)
            if allowed & isolated:
                task = _task(root, int(pid), int(tid or pid), folder, allowed)
                if task:
                    yield task


def _allowed(root: Root, folder: str) -> CpuSet:
    try:
        return CpuSet.parse_mask(tasks.affinity(root, folder) or "0")
    except CpuSetError:
        return CpuSet()


def _task(root: Root, pid: int, tid: int, folder: str, allowed: CpuSet) -> Optional[TaskSeen]:
    task = tasks.read(root, folder)
    if task is None:
        return None
    groups = re.findall(r"^\d+:[^:]*:(.*)$", root.read(f"/proc/{pid}/cgroup") or "", re.M)
    group = groups[-1].rstrip("/").rpartition("/")[2] if groups else ""
    ran_ns, runs = tasks.ran(root, folder)
    who = group.replace(" ", "_"), task.comm.replace("\n", "?")
    kind = ("bound" if task.bound else "kernel") if task.kernel else "user"
    return TaskSeen(tid, pid, kind, task.policy, task.cpu, allowed, runs, ran_ns, *who)


def between(
    before: Sequence[TaskSeen], after: Sequence[TaskSeen]
) -> Iterator[tuple[TaskSeen, int, int]]:
    """The tasks in ``after``, with how often and for how many ns they ran since ``before``."""
    known = {task.tid: task for task in before}
    for task in after:
        first = known.get(task.tid)
        runs, ran_ns = (first.runs, first.ran_ns) if first else (0, 0)
        yield task, max(task.runs - runs, 0), max(task.ran_ns - ran_ns, 0)
