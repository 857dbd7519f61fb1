# SPDX-License-Identifier: GPL-2.0-or-later
"""Last-level caches and the split: who shares one with whom, and which isolated CPUs go first."""

from __future__ import annotations

from collections.abc import Mapping

from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Machine


def domains(machine: Machine) -> Mapping[int, CpuSet]:
    """The CPUs of each last-level cache, by its lowest CPU."""
    found: dict[int, CpuSet] = {}
    for core in machine.cores:
        if core.cache is not None:
            found[core.cache] = found.get(core.cache, CpuSet()) | core.cpus
    return found


def sharing(machine: Machine, isolated: CpuSet) -> CpuSet:
    """The isolated CPUs whose last-level cache serves the system too."""
    mixed = (cpus & isolated for cpus in domains(machine).values() if cpus - isolated)
    return CpuSet.of(cpu for cpus in mixed for cpu in cpus)


def preferred(machine: Machine, isolated: CpuSet) -> tuple[int, ...]:
    """The isolated CPUs in the order in which threads shall get them: one of each core first, and
    of these the ones with a cache of their own, then the most capable, then the lowest."""
    rank = {cpu: place for place, kind in enumerate(machine.core_types) for cpu in kind.cpus}
    shared = sharing(machine, isolated)

    def key(cpu: int) -> tuple[int, bool, int, int]:
        siblings = sorted(machine.core_of(cpu).cpus & isolated)
        return siblings.index(cpu), cpu in shared, rank.get(cpu, 0), cpu

    return tuple(sorted(isolated & machine.cpus.online, key=key))


def unequal(machine: Machine) -> tuple[str, ...]:
    """The warning where the third-level caches differ in size."""
    sizes: dict[str, CpuSet] = {}
    for cache in machine.caches:
        if cache.level == 3 and cache.size:
            sizes[cache.size] = sizes.get(cache.size, CpuSet()) | cache.cpus
    if len(sizes) < 2:
        return ()
    shown = ", ".join(f"{size} for CPU {cpus}" for size, cpus in sizes.items())
    return (f"the last-level caches differ in size ({shown}): choose with --isolate",)
