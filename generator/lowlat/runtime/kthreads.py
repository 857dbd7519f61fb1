# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel threads as run-time targets: their affinity and their scheduling policy.

The kernel offers both by system call only, so a thread has a path-like name
(host/kernel_threads.py).
"""

import fnmatch
import os
from collections.abc import Iterator
from functools import cached_property
from typing import Optional

from lowlat.host import tasks
from lowlat.host.kernel_threads import PATH, SCHEME
from lowlat.host.root import Root
from lowlat.host.tasks import POLICIES, Task
from lowlat.model.cpuset import CpuSet, CpuSetError


class Threads:
    """The kernel threads of a root, listed once."""

    def __init__(self, root: Root) -> None:
        self._root = root

    @cached_property
    def all(self) -> tuple[Task, ...]:
        pids = (int(name) for name in self._root.names("/proc") if name.isdecimal())
        each = (tasks.read(self._root, f"/proc/{pid}") for pid in sorted(pids))
        return tuple(task for task in each if task and task.kernel)

    def matching(self, target: str) -> Iterator[tuple[Task, str]]:
        """The threads that ``kthread:GLOB:WHAT`` matches, each with its path. Threads of interrupts
        have no affinity of their own: the kernel makes them follow the interrupt
        (irq_thread_check_affinity() in kernel/irq/manage.c)."""
        pattern, _, what = target[len(SCHEME) :].rpartition(":")
        for thread in self.all:
            follows = what == "affinity" and thread.comm.startswith("irq/")
            if fnmatch.fnmatchcase(thread.comm, pattern) and not follows:
                yield thread, f"{SCHEME}{thread.comm}:{thread.pid}:{thread.start}:{what}"


def read(root: Root, path: str) -> Optional[str]:
    """The CPU mask or the policy ("other", "fifo:N", …) at a path; None if the thread is gone."""
    thread, what = _find(root, path)
    return None if thread is None else value(root, thread, what)


def gone(root: Root, path: str) -> bool:
    return _find(root, path)[0] is None


def write(root: Root, path: str, value: str) -> str:
    """Move or reschedule the thread at a path. Returns the problem as text, or ""."""
    if not root.live:
        return "a captured machine's threads cannot be changed"
    thread, what = _find(root, path)
    if thread is None:
        return "is not there"
    try:
        if what == "affinity":
            os.sched_setaffinity(thread.pid, CpuSet.parse_mask(value).ids)
        else:
            name, _, priority = value.partition(":")
            param = os.sched_param(int(priority or "0"))
            os.sched_setscheduler(thread.pid, POLICIES.index(name), param)
    except OSError as error:
        return error.strerror or "cannot be changed"
    except (CpuSetError, ValueError, OverflowError):
        return f"'{value[:40]}' is no {what}"
    return ""


def command(path: str, value: str) -> str:
    """What write() does, as a command."""
    _, pid, _, what = path[len(SCHEME) :].rsplit(":", 3)
    if what == "affinity":
        return f"taskset -p {value} {pid}"
    name, _, priority = value.partition(":")
    return f"chrt --{name} -p {priority or 0} {pid}"


def _find(root: Root, path: str) -> tuple[Optional[Task], str]:
    """The thread of a path, if it still is that thread; its name may have changed with its work."""
    match = PATH.fullmatch(path)
    if not match:
        return None, ""
    thread = tasks.read(root, f"/proc/{match[2]}")
    same = thread is not None and thread.kernel and thread.start == int(match[3])
    return (thread if same else None), match[4]


def value(root: Root, thread: Task, what: str) -> Optional[str]:
    """The value of read() for a thread that was just listed."""
    return tasks.affinity(root, f"/proc/{thread.pid}") if what == "affinity" else thread.policy
