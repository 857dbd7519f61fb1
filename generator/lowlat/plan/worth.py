# SPDX-License-Identifier: GPL-2.0-or-later
"""What an isolated CPU is worth: which are used first, and which are unlike the others."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Optional

from lowlat.base.amounts import readable
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import CoreType, Machine
from lowlat.model.plan import RoleReason
from lowlat.plan.caches import levels, uncached
from lowlat.plan.locality import Near, busiest_nodes


def ranks(machine: Machine) -> Mapping[int, int]:
    """The place of each CPU's core type, 0 for the most capable; empty without core types."""
    return {cpu: place for place, kind in enumerate(machine.core_types) for cpu in kind.cpus.ids}


def serving_types(machine: Machine) -> tuple[CoreType, ...]:
    """The core types that serve the system: cores without the L3 that others have, and the least
    capable type of the others. The layout decides: Linux counts the low-power cores of Meteor Lake
    as cpu_atom, and those of Arrow Lake as cpu_lowpower (arch/x86/events/intel/core.c)."""
    third = {cpu for cache in machine.caches if cache.level == 3 for cpu in cache.cpus.ids}
    known = [kind for kind in machine.core_types if kind.source and kind.cpus]
    bare = [kind for kind in known if third and not kind.cpus.ids & third]
    others = [kind for kind in known if kind not in bare]
    return (*others[1:][-1:], *bare)


def left_to_others(machine: Machine, isolated: CpuSet) -> str:
    """How many cores of the faster types other programs keep, and how to leave them more; "" if
    they keep at least half of them."""
    serving = serving_types(machine)
    unknown = (kind for kind in machine.core_types if not kind.source)
    slow = {cpu for kind in (*serving, *unknown) for cpu in kind.cpus.ids}
    fast = [core.cpus for core in machine.cores if not core.cpus.ids <= slow]
    kept = sum(not cpus & isolated for cpus in fast)
    if 2 * kept >= len(fast) or kept + 1 >= len(fast):
        return ""
    kind = "fast cores" if serving else "cores"
    return (
        f"Other programs keep {kept} of {len(fast)} {kind}; '--isolate-cores 1' leaves them "
        f"{len(fast) - 1}."
    )


def preferred(machine: Machine, isolated: CpuSet, near: Optional[Near] = None) -> tuple[int, ...]:
    """The isolated CPUs in the order in which threads get them: one CPU of each core first; among
    these the most capable, then those with memory on their node, then those that share the fewest
    levels of cache with the system, the innermost counting most, those of unknown caches last; then
    those of the device's own place, then node by node, that of the busiest devices first, then the
    lowest."""
    rank = ranks(machine)
    system = machine.cpus.online - isolated
    shared = [uncached(machine).ids, *(level.beside(system).ids for level in levels(machine))]
    place = near.device.cpus.ids if near and near.device.cpus else isolated.ids
    turn = {cpu: n for core in machine.cores for n, cpu in enumerate(core.cpus & isolated)}

    bare = {cpu for node in machine.nodes if node.memory_kib == 0 for cpu in node.cpus.ids}
    nodes = enumerate(busiest_nodes(machine))
    node = {cpu: number for number, one in nodes for cpu in one.cpus.ids}

    def key(cpu: int) -> tuple[int, int, bool, tuple[bool, ...], bool, int, int]:
        beside = tuple(cpu in cpus for cpus in shared)
        worth = turn[cpu], rank.get(cpu, 0), cpu in bare, beside
        return (*worth, cpu not in place, node.get(cpu, 0), cpu)

    return tuple(sorted(turn.keys() & isolated.ids, key=key))


def shares_told(
    machine: Machine, isolated: CpuSet, why: str, note: str = ""
) -> Iterator[RoleReason]:
    """The reasons of isolated CPUs: ``why``, and which level of cache they share with the system,
    the innermost that counts; ``note`` stands at the last of them."""
    system, unknown = machine.cpus.online - isolated, uncached(machine) & isolated
    rest = isolated - unknown
    for level in levels(machine):
        shared = level.beside(system) & rest
        rest = rest - shared
        told = f"every isolated CPU shares {level.one} with the system"
        if rest or unknown:
            told = f"these CPUs share {level.one} with the system's"
            told += _used_last(ranks(machine), shared, rest)
        last = note if not rest else ""
        yield RoleReason(shared, "isolated", "; ".join(filter(None, (why, last, told))))
    yield RoleReason(rest, "isolated", "; ".join(filter(None, (why, note))))
    last = _used_last(ranks(machine), unknown, isolated - unknown)
    yield RoleReason(unknown, "isolated", f"{why}; nothing tells the caches of these CPUs{last}")


def _used_last(rank: Mapping[int, int], shared: CpuSet, rest: CpuSet) -> str:
    """Whether others of their core type are used before these CPUs."""
    types, others = ({rank.get(cpu, 0) for cpu in cpus.ids} for cpus in (shared, rest))
    if not types & others:
        return ""
    return ", so 'run' uses them last" + (" of their core type" if len(types | others) > 1 else "")


def _third_level_sizes(machine: Machine) -> Mapping[str, CpuSet]:
    found: defaultdict[str, set[int]] = defaultdict(set)
    for cache in machine.caches:
        if cache.level == 3 and cache.size:
            found[readable(cache.size)].update(cache.cpus.ids)
    return {size: CpuSet.of(cpus) for size, cpus in found.items()}


def unlike(machine: Machine, isolated: CpuSet, first: int) -> Iterator[str]:
    """Warnings if the isolated CPUs differ in core type or in the size of their L3 cache. Each
    names the CPUs that are like ``first`` in both."""
    types = {kind.words: kind.cpus & isolated for kind in machine.core_types}
    sizes = {size: cpus & isolated for size, cpus in _third_level_sizes(machine).items()}
    alike = isolated
    for cpus in (*types.values(), *sizes.values()):
        alike = alike & cpus if first in cpus else alike
    told: set[frozenset[CpuSet]] = set()
    for what, kinds in (
        ("the isolated CPUs mix core types", types),
        ("the L3 caches of the isolated CPUs differ in size", sizes),
    ):
        parts = {name: cpus for name, cpus in kinds.items() if cpus}
        if len(parts) > 1 and frozenset(parts.values()) not in told:
            told.add(frozenset(parts.values()))
            shown = "; ".join(f"{name}: CPU {cpus}" for name, cpus in parts.items())
            yield (
                f"{what} ({shown}): --isolate {alike} takes CPUs that are alike"
                f"{_cost_of_caches(machine, alike)}"
            )


def _cost_of_caches(machine: Machine, alike: CpuSet) -> str:
    """What it takes to leave the system whole caches of its own, where these CPUs do."""
    system = machine.cpus.online - alike
    if any(level.beside(system) & alike for level in levels(machine)):
        return ""
    kept = sum(not core.cpus & alike for core in machine.cores)
    cost = f"{kept} of {len(machine.cores)} cores, more than it gets unasked"
    return f" and share no cache with the system, which then has {cost}"
