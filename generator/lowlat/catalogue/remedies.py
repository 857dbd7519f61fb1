# SPDX-License-Identifier: GPL-2.0-or-later
"""The settings that remove causes on one host: the catalogue's, without those that the kernel
refuses there, and without those that change nothing."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Optional

from lowlat.catalogue import remedy
from lowlat.catalogue.entry import UNBOUND_THREAD, USER_TASK
from lowlat.host import tasks
from lowlat.host.root import Root
from lowlat.model.machine import Interrupt

_MASK, _MANAGED, _AFFINITY = "irq.smp_affinity", "isolcpus", "kthread.affinity"


class Thread(Enum):
    """Who a thread belongs to, and whether the kernel lets it move (PF_NO_SETAFFINITY); the value
    is the cause that stands for all of its kind, "" if nothing removes it."""

    USER = USER_TASK
    UNBOUND = UNBOUND_THREAD
    BOUND = ""

    @classmethod
    def of(cls, *, kernel: bool, bound: bool) -> "Thread":
        return (cls.BOUND if bound else cls.UNBOUND) if kernel else cls.USER


@dataclass(frozen=True)
class Remedies:
    """``useless`` settings are in effect here, or cannot be had. ``fixed`` are the numbers of the
    interrupts whose mask cannot be written, each with whether the kernel spreads it over the queues
    of its device. ``threads`` are the kinds of the host's threads by name."""

    useless: frozenset[str] = frozenset()
    fixed: Mapping[int, bool] = field(default_factory=dict)
    threads: Mapping[str, Thread] = field(default_factory=dict)

    def of(self, kind: str, cause: str) -> Optional[str]:
        """The setting that removes a cause of a class; None if none does."""
        thread = self.threads.get(cause.partition(" (")[0]) if kind == "thread" else None
        return self.of_thread(cause, thread) if thread else self._had(f"{kind}: {cause}")

    def of_thread(self, cause: str, thread: Thread) -> Optional[str]:
        """The same for a thread of a known kind."""
        named = None if thread is Thread.USER else self._had(f"thread: {cause}")
        if named is not None and (thread, named) != (Thread.BOUND, _AFFINITY):
            return named
        return self._had(thread.value)

    def _had(self, cause: str) -> Optional[str]:
        """The setting that can be had for a cause."""
        name = remedy(cause)
        number = re.search(r"\birq[ /](\d+)", cause)
        if name == _MASK and number is not None and int(number[1]) in self.fixed:
            name = _MANAGED if self.fixed[int(number[1])] else None
        return None if name in self.useless else name


def fixed(interrupts: Iterable[Interrupt]) -> Mapping[int, bool]:
    """The interrupts whose mask cannot be written, as in Remedies."""
    return {one.number: one.managed is True for one in interrupts if one.settable is False}


def threads(root: Root) -> Mapping[str, Thread]:
    """The kind of each thread of a host by its name; a name that several kinds have is left out."""
    kinds: dict[str, set[Thread]] = {}
    for pid in filter(str.isdecimal, root.names("/proc")):
        for tid in root.names(f"/proc/{pid}/task"):
            task = tasks.read(root, f"/proc/{pid}/task/{tid}")
            if task is not None:
                kind = Thread.of(kernel=task.kernel, bound=task.bound)
                kinds.setdefault(task.comm, set()).add(kind)
    return {name: kind for name, (kind, *more) in kinds.items() if not more}
