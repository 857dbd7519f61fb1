# SPDX-License-Identifier: GPL-2.0-or-later
"""The CPUs that are online, compared with those that a plan reckons with."""

from typing import Optional

from lowlat.host.root import CPU, Root
from lowlat.model.cpuset import CpuSet
from lowlat.model.plan import Plan

ONLINE = f"{CPU}/online"


def read_online(root: Root) -> Optional[CpuSet]:
    return root.read_cpus(ONLINE)


def difference(plan: Plan, online: Optional[CpuSet]) -> str:
    """What differs, in words and with the remedy; "" if nothing does or it is not known. A CPU of
    the system that is offline does no harm: firmware may keep one off at every boot."""
    parts = []
    more = (online or CpuSet()) - plan.cpus.online
    if more:
        parts.append(
            f"CPU {more} is online and the plan does not reckon with it: it takes tasks of the "
            f"system and may share cores with isolated CPUs; 'chcpu -d {more}' switches it off"
        )
    less = plan.isolated - (plan.isolated if online is None else online)
    if less:
        parts.append(f"isolated CPU {less} is offline; 'chcpu -e {less}' switches it on")
    return "; ".join([*parts, "or 'lowlat-gen apply' plans anew"]) if parts else ""
