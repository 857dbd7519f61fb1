# SPDX-License-Identifier: GPL-2.0-or-later
"""The kinds of events that are counted, perf's events for them, and which can be seen here."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Optional

from lowlat.base import process
from lowlat.host.root import Root

#: Where a system mounts tracefs; perf looks there too.
_TRACEFS = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")

#: CAP_PERFMON and CAP_SYS_ADMIN in include/uapi/linux/capability.h.
_CAPABILITIES = 1 << 38 | 1 << 21


@dataclass(frozen=True)
class Event:
    """An event as perf names it, the kind that it counts for, and the kernel's filter, as
    Documentation/trace/events.rst has it."""

    name: str
    kind: str
    only: str = ""

    @property
    def traced(self) -> bool:
        return ":" in self.name


#: By kind, in the order of the table: its title.
TITLES = {
    "calls": "system calls",
    "minor-faults": "minor page faults",
    "major-faults": "major page faults",
    "switches": "voluntary switches",
    "futex-waits": "futex waits",
    "signals": "signals",
    "migrations": "migrations",
    "ipis": "interrupts sent to siblings",
}

#: Sums, and a kind that is part of another, by name.
SUMS = {
    "page-faults": ("minor-faults", "major-faults"),
    "entries": ("calls", "minor-faults", "major-faults"),
}

#: prev_state: interruptible, uninterruptible, stopped, traced or idle (include/linux/sched.h); a
#: task that is preempted, yields or ends has none of these. reason: TLB_REMOTE_SEND_IPI
#: (include/linux/mm_types.h): on x86 once for each flush by interrupts.
EVENTS = (
    Event("raw_syscalls:sys_enter", "calls"),
    Event("minor-faults", "minor-faults"),
    Event("major-faults", "major-faults"),
    Event("sched:sched_switch", "switches", "prev_state & 143"),
    Event("signal:signal_deliver", "signals"),
    Event("migrations", "migrations"),
    Event("tlb:tlb_flush", "ipis", "reason == 4"),
    Event("ipi:ipi_send_cpumask", "ipis"),
    Event("ipi:ipi_send_cpu", "ipis"),
)

#: What the kernel counts of each process for everybody, without places.
ACCOUNTED = ("minor-faults", "major-faults", "switches")


@dataclass(frozen=True)
class Sight:
    """The events that perf will record, and whether also those that happen in kernel mode. What is
    not seen is told by kind, or part of a kind, with the reason."""

    events: tuple[Event, ...] = ()
    kernel: bool = False
    unseen: Mapping[str, str] = field(default_factory=dict)

    @property
    def accounted(self) -> tuple[str, ...]:
        """The kinds of which the kernel's accounts know more than perf."""
        whole = {event.kind for event in self.events if self.kernel}
        return tuple(kind for kind in ACCOUNTED if kind not in whole)

    def without_lines(self) -> "Sight":
        why = f"addr2line is not installed: {process.package_hint('addr2line')}"
        return replace(self, unseen={**self.unseen, "files and lines": why})


def sight(root: Root) -> Sight:
    """What can be recorded here."""
    if not _is_capable(root):
        return _user_sight(root)
    there = tuple(event for event in EVENTS if not event.traced or _exists(event.name, root))
    lacking = "this kernel has no event {}"
    if not any(root.names(f"{place}/events") for place in _TRACEFS):
        lacking = "{} needs tracefs: mount -t tracefs tracefs /sys/kernel/tracing"
    missing = {event.kind: event.name for event in reversed(EVENTS) if event not in there}
    for event in there:
        missing.pop(event.kind, None)
    if "calls" in missing:
        missing["futex-waits"] = missing["calls"]
    if not _exists("ipi:ipi_send_cpumask", root):
        missing["interrupts sent by membarrier"] = "ipi:ipi_send_cpumask (Linux 6.4)"
    unseen = {kind: lacking.format(name) for kind, name in missing.items()}
    return Sight(there, True, {kind: unseen[kind] for kind in unseen if kind not in ACCOUNTED})


def _user_sight(root: Root) -> Sight:
    why = "needs root, or CAP_PERFMON and the right to read tracefs"
    # Debian's and Ubuntu's kernels know levels above 2.
    if (root.read_int("/proc/sys/kernel/perf_event_paranoid") or 0) > 2:
        return blind(f"kernel.perf_event_paranoid is above 2: {why}")
    # In user mode the kernel shows them to everybody.
    faults = tuple(event for event in EVENTS if event.kind in SUMS["page-faults"])
    return Sight(faults, False, blind(why).unseen)


def blind(why: str) -> Sight:
    """Only the kernel's accounts are there."""
    return Sight(unseen={kind: why for kind in TITLES if kind not in ACCOUNTED})


def _is_capable(root: Root) -> bool:
    """Whether this process may observe the kernel: CapEff in proc_pid_status(5)."""
    held = re.search(r"^CapEff:\s*([0-9a-f]+)$", root.read("/proc/self/status") or "", re.MULTILINE)
    return bool(held and int(held[1], 16) & _CAPABILITIES)


def _exists(name: str, root: Root) -> bool:
    path = f"events/{name.replace(':', '/')}/id"
    return any(root.read(f"{place}/{path}") for place in _TRACEFS)


def parts_of(name: str) -> tuple[str, ...]:
    """The kinds that a limit's name stands for; () if there is no such name."""
    return SUMS.get(name) or ((name,) if name in TITLES else ())


def why_unseen(name: str, unseen: Mapping[str, str]) -> Optional[str]:
    """Why a limit of this name cannot be judged; None if it can."""
    return next((unseen[kind] for kind in parts_of(name) if kind in unseen), None)
