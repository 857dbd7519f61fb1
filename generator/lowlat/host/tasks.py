# SPDX-License-Identifier: GPL-2.0-or-later
"""Threads, read from their folders in /proc (proc_pid_stat(5), proc_pid_status(5))."""

import re
from dataclasses import dataclass
from typing import Optional

from lowlat.host.root import Root

#: include/linux/sched.h
_PF_KTHREAD = 0x00200000
_PF_NO_SETAFFINITY = 0x04000000

#: include/uapi/linux/sched.h
POLICIES = ("other", "fifo", "rr", "batch", "iso", "idle", "deadline", "ext")
REAL_TIME = ("fifo", "rr")


@dataclass(frozen=True)
class Task:
    """One thread. ``kernel``: a kernel thread; ``bound``: the kernel refuses to move it; ``start``
    is in clock ticks after the boot; ``cpu`` is its current or last CPU."""

    pid: int
    comm: str
    kernel: bool
    bound: bool
    start: int
    policy: str
    cpu: int


def parse(stat: str) -> Optional[Task]:
    """Parse a stat file; None if it is not one."""
    head, _, tail = stat.rpartition(")")
    pid, _, comm = head.partition(" (")
    fields = tail.split()
    try:
        numbers = (int(fields[number - 3]) for number in (9, 22, 39, 40, 41))
        flags, start, cpu, priority, policy = numbers
        own = int(pid)
    except (IndexError, ValueError):
        return None
    name = POLICIES[policy] if policy < len(POLICIES) else str(policy)
    scheduled = f"{name}:{priority}" if name in REAL_TIME else name
    kernel, bound = bool(flags & _PF_KTHREAD), bool(flags & _PF_NO_SETAFFINITY)
    return Task(own, comm, kernel, bound, start, scheduled, cpu)


def read(root: Root, folder: str) -> Optional[Task]:
    """The thread of a folder; None if it has ended."""
    return parse(root.read(f"{folder}/stat") or "")


def affinity(root: Root, folder: str) -> Optional[str]:
    """The mask of the CPUs on which it may run."""
    status = root.read(f"{folder}/status") or ""
    match = re.search(r"^Cpus_allowed:\s*(\S+)$", status, re.MULTILINE)
    return match[1] if match else None


def ran(root: Root, folder: str) -> tuple[int, int]:
    """Its CPU time in ns, and how often it was scheduled
    (Documentation/scheduler/sched-stats.rst)."""
    told = [*(root.read(f"{folder}/schedstat") or "").split(), "0", "0", "0"]
    time, runs = (int(text) if text.isdecimal() else 0 for text in (told[0], told[2]))
    return time, runs
