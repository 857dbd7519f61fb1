# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel threads as run-time targets: where they may run, and how they are scheduled.

The kernel offers both by system call only, so a thread has a name like a path here:
``kthread:COMM:PID:START:affinity`` or ``…:policy``. START (clock ticks after the boot) tells a
thread from a later one that got its number.
"""

import fnmatch
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Optional

from lowlat.host.root import Root
from lowlat.model.cpuset import CpuSet, CpuSetError

SCHEME = "kthread:"

_PATH = re.compile(r"kthread:([^\0\n]{1,64}):([1-9]\d{0,9}):(\d{1,20}):(affinity|policy)", re.ASCII)

#: include/linux/sched.h
_PF_KTHREAD = 0x00200000
_PF_NO_SETAFFINITY = 0x04000000

#: include/uapi/linux/sched.h
_POLICIES = ("other", "fifo", "rr", "batch", "iso", "idle", "deadline", "ext")
REAL_TIME = ("fifo", "rr")


@dataclass(frozen=True)
class Thread:
    """A kernel thread; ``bound``: the kernel does not let it be moved."""

    comm: str
    pid: int
    start: int
    bound: bool
    policy: str

    def path(self, what: str) -> str:
        return f"{SCHEME}{self.comm}:{self.pid}:{self.start}:{what}"


@dataclass(frozen=True)
class Stat:
    """The fields of /proc/PID/stat of any task; ``cpu`` is the one it runs on, or ran on last."""

    comm: str
    kernel: bool
    bound: bool
    start: int
    policy: str
    cpu: int


def parse_stat(text: str) -> Optional[Stat]:
    """Read a stat file (proc_pid_stat(5)); None where it is none."""
    head, _, tail = text.rpartition(")")
    fields = tail.split()
    try:
        numbers = (int(fields[number - 3]) for number in (9, 22, 39, 40, 41))
        flags, start, cpu, priority, policy = numbers
    except (IndexError, ValueError):
        return None
    name = _POLICIES[policy] if policy < len(_POLICIES) else str(policy)
    scheduled = f"{name}:{priority}" if name in REAL_TIME else name
    kernel, bound = bool(flags & _PF_KTHREAD), bool(flags & _PF_NO_SETAFFINITY)
    return Stat(head.partition("(")[2], kernel, bound, start, scheduled, cpu)


def parse(pid: int, stat: str) -> Optional[Thread]:
    """A kernel thread from its /proc/PID/stat; None for any other process."""
    found = parse_stat(stat)
    if found is None or not found.kernel:
        return None
    return Thread(found.comm, pid, found.start, found.bound, found.policy)


class Threads:
    """The kernel threads of a root, looked for once."""

    def __init__(self, root: Root) -> None:
        self._root = root

    @cached_property
    def _all(self) -> tuple[Thread, ...]:
        pids = (int(name) for name in self._root.names("/proc") if name.isdecimal())
        return tuple(thread for pid in sorted(pids) if (thread := _thread(self._root, pid)))

    def matching(self, target: str) -> Iterator[tuple[Thread, str]]:
        """The threads that ``kthread:GLOB:WHAT`` means, each with its path. An interrupt's thread
        has no affinity of its own: the kernel lets it follow the interrupt
        (irq_thread_check_affinity() in kernel/irq/manage.c)."""
        pattern, _, what = target[len(SCHEME) :].rpartition(":")
        for thread in self._all:
            follows = what == "affinity" and thread.comm.startswith("irq/")
            if fnmatch.fnmatchcase(thread.comm, pattern) and not follows:
                yield thread, thread.path(what)

    def value(self, thread: Thread, path: str) -> Optional[str]:
        """The same as read(), for a thread that was just found."""
        return _affinity(self._root, thread) if path.endswith(":affinity") else thread.policy


def is_path(text: str) -> bool:
    """Whether a text is the path of one thread's affinity or policy."""
    return bool(_PATH.fullmatch(text))


def read(root: Root, path: str) -> Optional[str]:
    """The CPU mask or the policy ("other", "fifo:N", …) at a path; None where it is gone."""
    thread, what = _find(root, path)
    if thread is None:
        return None
    return _affinity(root, thread) if what == "affinity" else thread.policy


def spoken(path: str) -> str:
    """A path as a person reads it: that of a kernel thread is none."""
    if not is_path(path):
        return path
    comm, pid, _, what = path[len(SCHEME) :].rsplit(":", 3)
    return f"{what} of kernel thread {comm} ({pid})"


def gone(root: Root, path: str) -> bool:
    return _find(root, path)[0] is None


def write(root: Root, path: str, value: str) -> str:
    """Move or reschedule the thread at a path; the problem in words, or ""."""
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
            os.sched_setscheduler(thread.pid, _POLICIES.index(name), param)
    except OSError as error:
        return error.strerror or "cannot be changed"
    except (CpuSetError, ValueError, OverflowError):
        return f"'{value[:40]}' is no {what}"
    return ""


def _find(root: Root, path: str) -> tuple[Optional[Thread], str]:
    """The thread of a path, if it still is that one; workers change their name with their work."""
    found = _PATH.fullmatch(path)
    if not found:
        return None, ""
    thread = _thread(root, int(found[2]))
    same = thread is not None and thread.start == int(found[3])
    return (thread if same else None), found[4]


def _affinity(root: Root, thread: Thread) -> Optional[str]:
    status = root.read(f"/proc/{thread.pid}/status") or ""
    found = re.search(r"^Cpus_allowed:\s*(\S+)$", status, re.MULTILINE)
    return found[1] if found else None


def _thread(root: Root, pid: int) -> Optional[Thread]:
    return parse(pid, root.read(f"/proc/{pid}/stat") or "")
