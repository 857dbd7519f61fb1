# SPDX-License-Identifier: GPL-2.0-or-later
"""Core types: which CPUs are more capable than others, by what the kernel says of them and by the
caches that they have."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from lowlat.host.root import CPU, Root
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Cache, CoreType, Cpus


def read_core_types(
    root: Root, cpus: Cpus, caches: Iterable[Cache], arm: bool
) -> tuple[CoreType, ...]:
    """Core types, most capable first; empty if all cores are alike or no source tells. Sources in
    order of trust: the perf units of hybrid x86, cpu_capacity, CPPC highest_perf, maximum
    frequency. The first that shows a difference counts: Linux shows a capacity of 1024 for all CPUs
    where the device tree has none (drivers/base/arch_topology.c). The last two also differ between
    equal cores (favoured cores of x86), so only a clear step separates types; on ARM, equal cores
    have equal frequencies. Cores without the L3 that others have are the last type. A type without
    CPUs is one that is offline as a whole."""
    types = _by_third_level(_by_capability(root, cpus.online, arm), cpus.online, caches)
    found = tuple(kind for kind in types if kind.cpus or cpus.offline)
    return found if len(found) > 1 else ()


def _by_third_level(
    types: Sequence[CoreType], online: CpuSet, caches: Iterable[Cache]
) -> tuple[CoreType, ...]:
    """Intel's low-power cores lie on another tile (Meteor, Arrow and Panther Lake)."""
    at: dict[int, set[int]] = {2: set(), 3: set()}
    for cache in caches:
        at.get(cache.level, set()).update(cache.cpus.ids)
    without = CpuSet.of(at[2] - at[3])
    if not at[3] or not without:
        return tuple(types)
    kinds = types or (CoreType("L3 cache", online, "cache"),)
    kept = (kind for kind in kinds if not kind.cpus or kind.cpus - without)
    others = (replace(kind, cpus=kind.cpus - without) for kind in kept)
    return (*others, CoreType("no L3 cache", without, "cache"))


def _by_capability(root: Root, online: CpuSet, arm: bool) -> tuple[CoreType, ...]:
    named = _perf_unit_types(root, online)
    if named:
        return named
    for name, unit, path, step in (
        ("capacity", "", "cpu_capacity", 0.90),
        ("CPPC highest_perf", "", "acpi_cppc/highest_perf", 0.80),
        ("maximum frequency", " kHz", "cpufreq/cpuinfo_max_freq", 0.99 if arm else 0.85),
    ):
        types = _types_by_value(name, unit, _values(root, online, path), step)
        if types:
            return types
    return ()


def _values(root: Root, online: CpuSet, path: str) -> Mapping[int, int]:
    """Each online CPU's number in a file; empty if one CPU has none."""
    values: dict[int, int] = {}
    for cpu in online:
        value = root.read_int(f"{CPU}/cpu{cpu}/{path}")
        if not value or value < 0:
            return {}
        values[cpu] = value
    return values


def _perf_unit_types(root: Root, online: CpuSet) -> tuple[CoreType, ...]:
    """Low-power cores are in cpu_atom or in a unit of their own, as they are like the efficiency
    cores or not (arch/x86/events/intel/core.c); their caches tell them apart."""
    core, *others = (
        root.read_cpus(f"/sys/devices/{unit}/cpus")
        for unit in ("cpu_core", "cpu_atom", "cpu_lowpower")
    )
    if core is None or others == [None, None]:
        return ()
    performance = core & online
    efficiency = CpuSet.of(cpu for cpus in others if cpus for cpu in cpus) & online
    if performance | efficiency != online:
        return ()
    source = "/sys/devices/cpu_*/cpus"
    return (
        CoreType("performance", performance, source),
        CoreType("efficiency", efficiency, source),
    )


def _types_by_value(
    name: str, unit: str, values: Mapping[int, int], step: float
) -> tuple[CoreType, ...]:
    groups: list[list[int]] = []
    for value in sorted(set(values.values()), reverse=True):
        if not groups or value < groups[-1][-1] * step:
            groups.append([])
        groups[-1].append(value)
    if len(groups) < 2:
        return ()
    members = (
        CpuSet.of(cpu for cpu, value in values.items() if group[-1] <= value <= group[0])
        for group in groups
    )
    named = (f"{name} {group[0]}{unit}" for group in groups)
    return tuple(CoreType(of, cpus, name) for of, cpus in zip(named, members))
