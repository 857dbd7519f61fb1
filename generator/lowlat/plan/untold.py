# SPDX-License-Identifier: GPL-2.0-or-later
"""What nothing tells of cores that come back as a whole: sysfs describes online CPUs only."""

from collections.abc import Mapping

from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Machine
from lowlat.plan.caches import uncached

TYPE, NODE, CACHES = "core type", "NUMA node", "caches"

#: The system keeps a core without these. One of unknown caches may be isolated, and is used last.
KEPT = (TYPE, NODE)


def untold(machine: Machine, returning: CpuSet) -> Mapping[str, CpuSet]:
    """The CPUs of which nothing tells the core type, the node or the caches in the boot that the
    machine stands for, each under the first of these. ``returning`` are offline before it."""
    back = returning.ids
    kinds = (kind.cpus.ids for kind in machine.core_types if not kind.source)
    nodeless = (core.cpus.ids for core in machine.cores if machine.nodes and not core.nodes)
    found: dict[str, CpuSet] = {}
    for what, cpus in (
        (TYPE, set().union(*kinds)),
        (NODE, set().union(*(ids for ids in nodeless if ids <= back))),
        (CACHES, uncached(machine).ids & back),
    ):
        found[what] = CpuSet.of(cpus) - CpuSet.of(cpu for one in found.values() for cpu in one)
    return found
