# SPDX-License-Identifier: GPL-2.0-or-later
"""Which CPUs share a cache, level by level, and which caches a split leaves clean."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Machine


@dataclass(frozen=True)
class Level:
    """A level at which several cores share something. ``name`` is such as "L2 cache"; ``groups``
    are the CPUs that share one each, of several cores. ``known`` is False for a cluster, in which
    the cores need not share a cache (those of Ampere Altra share none)."""

    name: str
    groups: tuple[CpuSet, ...]
    known: bool = True

    @property
    def one(self) -> str:
        """The name with its article."""
        return f"{'an' if self.name.startswith('L') else 'a'} {self.name}"

    def beside(self, cpus: CpuSet) -> CpuSet:
        """All CPUs of the groups that hold one of these."""
        return CpuSet.of(cpu for group in self.groups if group.ids & cpus.ids for cpu in group.ids)


def levels(machine: Machine) -> tuple[Level, ...]:
    """The levels of this machine, the innermost first. Where no cache of several cores is known,
    the kernel's clusters are the only level (Documentation/admin-guide/cputopology.rst)."""
    found: defaultdict[int, dict[CpuSet, None]] = defaultdict(dict)
    for cache in machine.caches:
        if cache.kind != "instruction" and _of_several_cores(machine, cache.cpus):
            found[cache.level][cache.cpus] = None
    made = [Level(f"L{number} cache", tuple(groups)) for number, groups in sorted(found.items())]
    # Two levels with the same groups (L2 and L3 of POWER9) are one border.
    outer = [*made[1:], None]
    kept = [one for one, next in zip(made, outer) if not next or {*one.groups} != {*next.groups}]
    return tuple(kept) or _clusters(machine)


def _of_several_cores(machine: Machine, cpus: CpuSet) -> bool:
    return not cpus <= machine.core_of(cpus.first).cpus


def _clusters(machine: Machine) -> tuple[Level, ...]:
    found: defaultdict[tuple[object, ...], set[int]] = defaultdict(set)
    for core in machine.cores:
        if core.cluster is not None:
            found[core.package, core.die, core.cluster].update(core.cpus.ids)
    groups = tuple(map(CpuSet.of, found.values()))
    shared = tuple(group for group in groups if _of_several_cores(machine, group))
    return (Level("cluster", shared, known=False),) if shared and len(groups) > 1 else ()


def uncached(machine: Machine) -> CpuSet:
    """The CPUs of which no cache is known, where those of others are."""
    known = {cpu for cache in machine.caches for cpu in cache.cpus.ids}
    return machine.cpus.online - CpuSet.of(known) if known else CpuSet()


def split_caches(machine: Machine, isolated: CpuSet) -> Iterator[str]:
    """A warning for each level at which the isolated CPUs share some of several groups with the
    system."""
    kept = machine.cpus.online - isolated
    for level in levels(machine):
        groups = [cpus for cpus in level.groups if cpus & isolated and cpus & kept]
        cpus = CpuSet.of(cpu for group in groups for cpu in group.ids)
        what = f"{len(groups)} {level.name}s are" if len(groups) > 1 else f"{level.one} is"
        if groups and len(level.groups) > 1:
            yield (
                f"{what} shared by isolated CPU {cpus & isolated} and housekeeping CPU "
                f"{cpus & kept}"
            )


@dataclass(frozen=True)
class CleanCaches:
    """How many of the machine's last-level caches no CPU of the system shares; ``of`` is 0 if no
    cache of several cores is known. ``name`` is such as "L3 caches"."""

    clean: int
    of: int
    name: str

    def __str__(self) -> str:
        return f"{self.clean} of {self.of} {self.name}"


def clean_caches(machine: Machine, kept: CpuSet) -> CleanCaches:
    """The caches of several cores, of the last level that has any, that a split with these
    housekeeping CPUs leaves clean."""
    known = [level for level in levels(machine) if level.known]
    name, groups = (known[-1].name, known[-1].groups) if known else ("cache", ())
    clean = sum(not cpus.ids & kept.ids for cpus in groups)
    return CleanCaches(clean, len(groups), f"{name}s")
