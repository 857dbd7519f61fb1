# SPDX-License-Identifier: GPL-2.0-or-later
"""CPUs, cores, nodes and caches from sysfs (sysfs-devices-system-cpu and
sysfs-devices-node in Documentation/ABI/stable). The kernel's sibling lists define a core: on real
machines, core_id and physical_package_id repeat, are -1 or are missing."""

import re
from collections.abc import Iterable
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.host.root import CPU, Root
from lowlat.model.cpuset import MAX_CPU, CpuSet
from lowlat.model.machine import Cache, Core, Cpus, Node

NODE = "/sys/devices/system/node"


def read_cpus(root: Root, cpuinfo: str) -> Cpus:
    """The kernel's CPU sets; the online CPUs come from the best available source. A CPU of s390 in
    standby counts as not present: no boot configures it (cpu_configure_show() in
    arch/s390/kernel/smp.c)."""
    present_dirs = CpuSet.of(numbered(root.names(CPU), "cpu"))
    online = _read_online(root, present_dirs, cpuinfo)
    if not online:
        hint = "expected sys/devices/system/cpu/online or proc/cpuinfo below it"
        raise Refused(f"{root.path}: no CPU list can be had", hint=hint)
    present = root.read_cpus(f"{CPU}/present")
    if present is None:
        present = (root.read_cpus(f"{CPU}/offline") or present_dirs) & present_dirs
    standby = (cpu for cpu in present - online if root.read(f"{CPU}/cpu{cpu}/configure") == "0")
    present = present - CpuSet.of(standby)
    possible = root.read_cpus(f"{CPU}/possible")
    if possible is None:
        possible = present | online
    return Cpus(
        online=online,
        offline=present - online,
        possible=possible,
        boot=0 if 0 in online else online.first,
        isolated=root.read_cpus(f"{CPU}/isolated"),
        nohz_full=root.read_cpus(f"{CPU}/nohz_full"),
        siblings_known=bool(_siblings(root, online.first)),
    )


def _read_online(root: Root, present: CpuSet, cpuinfo: str) -> CpuSet:
    online = root.read_cpus(f"{CPU}/online")
    if online:
        return online
    # Without the list, a CPU counts as online if its switch is not 0 and it has a topology folder.
    switched_on = CpuSet.of(
        cpu
        for cpu in present
        if root.read(f"{CPU}/cpu{cpu}/online") != "0" and root.names(f"{CPU}/cpu{cpu}/topology")
    )
    if switched_on:
        return switched_on
    stat = re.findall(r"^cpu(\d{1,5})\s", root.read("/proc/stat") or "", re.MULTILINE)
    listed = parse_cpuinfo_cpus(cpuinfo) or _known(map(int, stat))
    return listed or CpuSet.of(c for c in present if root.read(f"{CPU}/cpu{c}/online") != "0")


def parse_cpuinfo_cpus(cpuinfo: str) -> CpuSet:
    """The CPUs in /proc/cpuinfo, in the formats of most architectures, s390 and sparc."""
    listed = re.findall(
        r"^(?:processor\s*:\s*(\d{1,5})\s*$|processor (\d{1,5}): version"
        r"|CPU(\d{1,5})\s*:\s*online)",
        cpuinfo,
        re.MULTILINE,
    )
    return _known(int("".join(number)) for number in listed)


def _known(cpus: Iterable[int]) -> CpuSet:
    """The set without numbers that no kernel gives to a CPU."""
    return CpuSet.of(cpu for cpu in cpus if cpu <= MAX_CPU)


def read_nodes(root: Root, online: CpuSet) -> tuple[Node, ...]:
    """The NUMA nodes, also those without online CPUs; empty if there is no node folder."""
    return tuple(
        Node(
            id=node,
            cpus=_node_cpus(root, node) & online,
            distances=_integers(root.read(f"{NODE}/node{node}/distance")),
            memory_kib=_memory(root.read(f"{NODE}/node{node}/meminfo") or ""),
        )
        for node in numbered(root.names(NODE), "node")
    )


def _memory(meminfo: str) -> Optional[int]:
    match = re.search(r"MemTotal:\s+([0-9]{1,15}) kB", meminfo)
    return int(match[1]) if match else None


def _node_cpus(root: Root, node: int) -> CpuSet:
    folder = f"{NODE}/node{node}"
    cpus = root.read_cpus(f"{folder}/cpulist", f"{folder}/cpumap")
    return CpuSet.of(numbered(root.names(folder), "cpu")) if cpus is None else cpus


def read_caches(root: Root, online: CpuSet) -> tuple[Cache, ...]:
    """Every cache once, sorted by level and lowest CPU."""
    caches: dict[tuple[int, str, CpuSet], Cache] = {}
    seen: dict[int, set[int]] = {}
    for cpu in online:
        # Another CPU of this cache has already listed it.
        if seen and all(cpu in cpus for cpus in seen.values()):
            continue
        folder = f"{CPU}/cpu{cpu}/cache"
        for index in numbered(root.names(folder), "index"):
            if cpu in seen.setdefault(index, set()):
                continue
            cache = _read_cache(root, f"{folder}/index{index}", cpu, online)
            if cache is not None:
                seen[index].update(cache.cpus.ids)
                caches.setdefault((cache.level, cache.kind, cache.cpus), cache)
    return tuple(sorted(caches.values(), key=lambda c: (c.level, c.cpus.first, c.kind)))


def _read_cache(root: Root, folder: str, cpu: int, online: CpuSet) -> Optional[Cache]:
    level = root.read_int(f"{folder}/level")
    shared = root.read_cpus(f"{folder}/shared_cpu_list", f"{folder}/shared_cpu_map")
    if level is None or shared is None:
        return None
    return Cache(
        level=level,
        kind=(root.read(f"{folder}/type") or "unknown").lower(),
        size=root.read(f"{folder}/size") or "",
        cpus=(shared & online) | CpuSet.of([cpu]),
    )


def read_cores(
    root: Root, online: CpuSet, nodes: Iterable[Node], caches: Iterable[Cache]
) -> tuple[Core, ...]:
    """The cores with online CPUs, sorted by lowest CPU."""
    cpu_nodes: dict[int, list[int]] = {}
    for node in nodes:
        for cpu in node.cpus:
            cpu_nodes.setdefault(cpu, []).append(node.id)
    # Sorted by level, so the last level wins.
    data = (cache for cache in caches if cache.kind != "instruction")
    domains = {cpu: cache.cpus.first for cache in data for cpu in cache.cpus}
    # Only s390 has books and drawers: elsewhere each CPU would be asked in vain.
    books = _identifier(root, online.first, "book_id") is not None
    return tuple(
        Core(
            cpus=cpus,
            package=_identifier(root, cpus.first, "physical_package_id"),
            die=_identifier(root, cpus.first, "die_id"),
            cluster=_identifier(root, cpus.first, "cluster_id"),
            nodes=tuple(sorted({node for cpu in cpus for node in cpu_nodes.get(cpu, ())})),
            cache=domains.get(cpus.first),
            book=_identifier(root, cpus.first, "book_id") if books else None,
            drawer=_identifier(root, cpus.first, "drawer_id") if books else None,
        )
        for cpus in _group_siblings(root, online)
    )


def _group_siblings(root: Root, online: CpuSet) -> list[CpuSet]:
    # Lists that overlap without being equal are joined: two CPUs too many in a core do no harm, but
    # a sibling on the wrong side of the split does.
    core: dict[int, set[int]] = {}
    for cpu in online:
        if cpu in core:
            continue
        members = {cpu, *(_siblings(root, cpu) & online)}
        joined = {id(core[member]): core[member] for member in members if member in core}
        largest: set[int] = max(joined.values(), key=len, default=set())
        for other in (members, *joined.values()):
            if other is not largest:
                added = other - largest
                largest |= added
                core.update(dict.fromkeys(added, largest))
    cores = {id(members): members for members in core.values()}
    return sorted(map(CpuSet.of, cores.values()), key=lambda cpus: cpus.first)


def _siblings(root: Root, cpu: int) -> CpuSet:
    folder = f"{CPU}/cpu{cpu}/topology"
    for name in ("core_cpus", "thread_siblings"):
        siblings = root.read_cpus(f"{folder}/{name}_list", f"{folder}/{name}")
        if siblings:
            return siblings
    return CpuSet()


def _identifier(root: Root, cpu: int, name: str) -> Optional[int]:
    # -1 means unknown; some kernels print it as 16 bits.
    value = root.read_int(f"{CPU}/cpu{cpu}/topology/{name}")
    return None if value is None or value < 0 or value == 0xFFFF else value


def numbered(names: Iterable[str], prefix: str) -> list[int]:
    """The numbers N of the names "prefixN", sorted; only numbers that a CPU can have."""
    matches = (re.fullmatch(prefix + r"([0-9]{1,5})", name) for name in names)
    return sorted(number for match in matches if match and (number := int(match[1])) <= MAX_CPU)


def _integers(text: Optional[str]) -> tuple[int, ...]:
    words = (text or "").split()
    return tuple(int(word) for word in words if re.fullmatch(r"[0-9]{1,9}", word))
