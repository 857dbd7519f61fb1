# SPDX-License-Identifier: GPL-2.0-or-later
"""Which threads ran on a CPU, seen from outside and without root: each thread's run time and last
CPU in /proc (schedstat and stat, proc_pid_stat(5)), compared between two looks."""

from collections.abc import Iterator
from dataclasses import dataclass

from lowlat.host.root import Root
from lowlat.model.cpuset import CpuSet

#: Field 39 of /proc/PID/stat, "processor", counted from the state, which is field 3.
_PROCESSOR = 36


@dataclass(frozen=True)
class Occupant:
    """A thread that ran on a CPU, and for how many ns in all since the look before; ``task`` is
    its own number."""

    cpu: int
    name: str
    ran_ns: int
    task: int


class Occupants:
    """Looks again and again at the threads on some CPUs, leaving out those of one process."""

    def __init__(self, root: Root, cpus: CpuSet, besides: int) -> None:
        self._root = root
        self._cpus = cpus
        self._besides = str(besides)
        self._before = {task: ran for task, _, _, ran in self._tasks()}

    def look(self) -> tuple[Occupant, ...]:
        """Who ran since the look before, the longest first."""
        before, self._before = self._before, {}
        found = []
        for task, cpu, name, ran in self._tasks():
            self._before[task] = ran
            # One that has come since is counted from its start.
            grown = ran - before.get(task, 0)
            if grown > 0 and cpu in self._cpus:
                found.append(Occupant(cpu, name, grown, int(task)))
        return tuple(sorted(found, key=lambda one: -one.ran_ns))

    def _tasks(self) -> Iterator[tuple[str, int, str, int]]:
        for pid in self._root.names("/proc"):
            if not pid.isdigit() or pid == self._besides:
                continue
            for task in self._root.names(f"/proc/{pid}/task"):
                folder = f"/proc/{pid}/task/{task}"
                name, cpu = parse_stat(self._root.read(f"{folder}/stat") or "")
                ran = (self._root.read(f"{folder}/schedstat") or "").partition(" ")[0]
                yield task, cpu, name, int(ran) if ran.isdigit() else 0


def parse_stat(text: str) -> tuple[str, int]:
    """The name and the last CPU of a thread; "" and -1 where the text is not a stat."""
    head, _, rest = text.rpartition(")")
    fields = rest.split()
    if len(fields) <= _PROCESSOR or not fields[_PROCESSOR].isdigit():
        return "", -1
    return head.partition("(")[2], int(fields[_PROCESSOR])
