# SPDX-License-Identifier: GPL-2.0-or-later
"""How many cores the system needs: what plan warns of, and lint calls harmful."""

from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Machine
from lowlat.plan.housekeeping import Housekeeping, Terms
from lowlat.plan.regions import near_nodes, single_nodes


def cores_of(machine: Machine, cpus: CpuSet) -> int:
    """The number of cores that these CPUs are of."""
    return sum(bool(core.cpus.ids & cpus.ids) for core in machine.cores)


def least_cores(machine: Machine) -> int:
    """The number that the rules of the choice ask for, without those cores that only keep caches
    whole: of each node, or of near nodes together where these need fewer. 1 where nothing would be
    left to isolate: there a list may do what the choice may not."""
    terms = Terms(machine)
    least = min(Housekeeping(terms, of(machine)).least for of in (single_nodes, near_nodes))
    return least if least < len(machine.cores) else 1


def core_shortage(machine: Machine, system: CpuSet, least: int) -> str:
    """Why these CPUs are too few for the system, which needs so many cores; "" if they are not."""
    if cores_of(machine, system) >= least:
        return ""
    return (
        f"{cores_that_stay(machine, system)} for the system, which needs {least}: the interrupts, "
        "RCU callbacks and kernel threads of the other CPUs run there too"
    )


def cores_that_stay(machine: Machine, system: CpuSet) -> str:
    """Such as "1 of 48 cores stays"."""
    kept = cores_of(machine, system)
    return f"{kept} of {len(machine.cores)} cores stay{'s' if kept == 1 else ''}"
