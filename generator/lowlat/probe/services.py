# SPDX-License-Identifier: GPL-2.0-or-later
"""What else manages this system: daemons, TuneD's profile, control groups, page merging."""

from __future__ import annotations

from typing import Optional

from lowlat.machine import Services
from lowlat.root import Root

#: The daemons that also move CPUs, interrupts or frequencies about, by their process name.
_MANAGERS = frozenset(
    {
        "irqbalance",
        "tuned",
        "tlp",
        "numad",
        "power-profiles-daemon",
        "tuned-ppd",
        "thermald",
        "auto-cpufreq",
    }
)


def read_managers(root: Root) -> tuple[str, ...]:
    """Running daemons that also manage CPUs, interrupts or frequency."""
    # Asked as one question, so that a capture keeps none of the other processes' names.
    said = root.answer("managers", lambda live: "\n".join(sorted(_running(live))))
    return tuple(sorted(_MANAGERS.intersection(said.split())))


def _running(root: Root) -> set[str]:
    found: set[str] = set()
    for name in root.names("/proc"):
        if name.isdigit():
            # comm holds 15 characters at most
            comm = root.read(f"/proc/{name}/comm") or ""
            found.update(manager for manager in _MANAGERS if comm and manager[:15] == comm)
    return found


def read_services(root: Root) -> Services:
    ksm = root.read_int("/sys/kernel/mm/ksm/run")
    return Services(
        cgroup=_cgroup(root),
        tuned_profile=root.read("/etc/tuned/active_profile") or None,
        ksm=None if ksm is None else ksm == 1,
    )


def _cgroup(root: Root) -> Optional[str]:
    if root.exists("/sys/fs/cgroup/cgroup.controllers"):
        return "v2"
    if root.exists("/sys/fs/cgroup/unified/cgroup.controllers"):
        return "hybrid"
    return "v1" if root.names("/sys/fs/cgroup") else None
