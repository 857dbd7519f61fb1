# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine arranged for drawing: packages hold nodes, nodes hold cache domains, domains hold
clusters of cores. A node or cache that reaches over several of these stands once, in the title
around them. Equal parts are kept once with a count: 4096 CPUs are drawn as one node of 16."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Callable, Optional, Union

from lowlat.base.amounts import readable
from lowlat.draw.folding import folded
from lowlat.draw.picture import Cell, MachinePart, Picture
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Cache, Core, Device, Machine

_ORDER = {"network": 0, "nvme": 1, "storage": 2}

#: Up to this many CPUs, a file shows equal parts one by one, if they are not more than _MOST.
_ROOM = 256
_MOST = 8


def arrange(machine: Machine, isolated: Optional[CpuSet] = None, *, roomy: bool = False) -> Picture:
    """The picture of a machine, with roles if the isolated CPUs of a plan are given. A ``roomy``
    picture shows more of the equal parts one by one."""
    few = _MOST if roomy and len(machine.cpus.online) <= _ROOM else 2
    maker = _Arranger(machine, isolated)
    (packages,) = folded([maker.packages()], few)
    return Picture(
        title=machine.processor.model or machine.arch or "this machine",
        shared=tuple(maker.shared()),
        packages=packages,
        devices=tuple(_sorted(d for d in machine.devices if d.node not in maker.placed)),
        offline=machine.cpus.offline,
        bare=tuple(machine.memory(node for node in machine.nodes if not node.cpus)),
        roles=isolated is not None,
    )


#: A number or name in the place of a core; -1 or "" if it has none.
_Part = Union[int, str]


class _Arranger:
    def __init__(self, machine: Machine, isolated: Optional[CpuSet]) -> None:
        self._machine = machine
        self._isolated = isolated
        dies = {(core.package, core.die) for core in machine.cores}
        self._many_dies = len(dies) > len({package for package, _ in dies})
        self._types = {
            cpu: place for place, kind in enumerate(machine.core_types) for cpu in kind.cpus.ids
        }
        data = [cache for cache in machine.caches if cache.kind != "instruction"]
        # Sorted by level, so the highest wins.
        self._last = {cpu: cache for cache in data for cpu in cache.cpus.ids}
        self._clusters = {
            cpu: cache
            for cache in data
            if not cache.cpus <= machine.core_of(cache.cpus.first).cpus
            for cpu in cache.cpus.ids
            if self._last[cpu] is not cache
        }
        self._domains = _by(machine.cores, lambda core: () if core.cache is None else (core.cache,))
        self._over_nodes = [
            cores
            for cores in self._domains.values()
            if _several(cores, _nodes) and not _several(cores, _package)
        ]
        self._over_dies = {
            cache for cache, cores in self._domains.items() if _several(cores, lambda c: c.die)
        }
        self._members = _by(machine.cores, lambda core: core.nodes)
        #: The nodes within one package.
        self.placed = {node for node, c in self._members.items() if not _several(c, _package)}

    def shared(self) -> Iterator[str]:
        """The nodes and last-level caches of several packages, by these packages."""
        names = [(f"NUMA node {node}", cores) for node, cores in self._members.items()]
        names += [(self._last_level(cores[0]), cores) for cores in self._domains.values()]
        every = _numbers(self._machine.cores)
        found: dict[CpuSet, list[str]] = {}
        for name, cores in names:
            if name and _several(cores, _package):
                found.setdefault(_numbers(cores), []).append(name)
        for packages, shared in found.items():
            which = "all packages" if packages == every else f"packages {packages}"
            yield f"{' and '.join(shared)}: shared by {which}"

    def packages(self) -> tuple[MachinePart, ...]:
        made = []
        for cores in _grouped(self._machine.cores, _package):
            wide = [*self._wide(cores)]
            title = _joined(_package_title(cores[0]), *wide)
            made.append(MachinePart(title, _joined(*wide), self._nodes(cores)))
        return tuple(made)

    def _wide(self, cores: Sequence[Core]) -> Iterator[str]:
        """The last-level caches over several nodes of this package."""
        for domain in self._over_nodes:
            if _package(domain[0]) == _package(cores[0]):
                nodes = CpuSet.of(node for core in domain for node in core.nodes)
                label = self._last_level(domain[0])
                yield label if len(domain) == len(cores) else f"{label} of nodes {nodes}"

    def _nodes(self, cores: Sequence[Core]) -> tuple[MachinePart, ...]:
        made = []
        seen: set[int] = set()
        for group in _grouped(cores, _nodes):
            own = [node for node in group[0].nodes if node in self.placed]
            near = {*own} - seen
            seen |= near
            devices = tuple(_sorted(d for d in self._machine.devices if d.node in near))
            bare = self._bare(own)
            title = _node_title(own)
            look = _joined(title.rstrip("0123456789"), bare)
            made.append(
                MachinePart(_joined(title, bare), look, self._caches(group), devices=devices)
            )
        return tuple(made)

    def _bare(self, nodes: Sequence[int]) -> str:
        of = [node.memory_kib for node in self._machine.nodes if node.id in nodes]
        return "no memory" if of and not any(kib != 0 for kib in of) else ""

    def _caches(self, cores: Sequence[Core]) -> tuple[MachinePart, ...]:
        made = []
        for group in _grouped(cores, self._domain):
            die, *_ = self._domain(group[0])
            label = self._last_level(group[0])
            if group[0].cache is not None and _several(self._domains[group[0].cache], _place):
                label = ""
            elif len(group) > 1 and self._alone(group[0]):
                label = f"{label} a core"
            title = _joined(f"die {die}" if self._many_dies and die >= 0 else "", label)
            made.append(MachinePart(title, label, self._rows(group)))
        return tuple(made)

    def _alone(self, core: Core) -> bool:
        return core.cache is not None and len(self._domains[core.cache]) == 1

    def _domain(self, core: Core) -> tuple[int, int, str]:
        """What the cores of one box have in common: caches of a single core draw no border."""
        die = -1 if core.die is None or core.cache in self._over_dies else core.die
        if core.cache is None or self._alone(core):
            return die, -1, self._last_level(core)
        return die, core.cache, ""

    def _last_level(self, core: Core) -> str:
        return _cache_title(self._last.get(core.cpus.first))

    def _rows(self, cores: Sequence[Core]) -> tuple[MachinePart, ...]:
        kinds = self._machine.core_types
        made = []
        for group in _grouped(cores, self._row):
            kind, _ = self._row(group[0])
            cluster = _cache_title(self._clusters.get(group[0].cpus.first))
            title = _joined(kinds[kind].words if kinds else "", cluster)
            cells = tuple(Cell(core.cpus, self._role(core)) for core in group)
            made.append(MachinePart(title, title, cells=cells))
        return tuple(made)

    def _row(self, core: Core) -> tuple[int, int]:
        cluster = self._clusters.get(core.cpus.first)
        return self._types.get(core.cpus.first, 0), cluster.cpus.first if cluster else -1

    def _role(self, core: Core) -> str:
        if self._isolated is None:
            return ""
        return "isolated" if core.cpus <= self._isolated else "housekeeping"


def _package(core: Core) -> tuple[int, ...]:
    places = (core.drawer, core.book, core.package)
    return tuple(-1 if number is None else number for number in places)


def _numbers(cores: Iterable[Core]) -> CpuSet:
    return CpuSet.of(core.package for core in cores if core.package is not None)


def _nodes(core: Core) -> tuple[int, ...]:
    return core.nodes


def _place(core: Core) -> tuple[tuple[int, ...], ...]:
    return _package(core), core.nodes


def _several(cores: Iterable[Core], place: Callable[[Core], object]) -> bool:
    return len({place(core) for core in cores}) > 1


def _by(cores: Iterable[Core], keys: Callable[[Core], Iterable[int]]) -> Mapping[int, list[Core]]:
    found: dict[int, list[Core]] = {}
    for core in cores:
        for key in keys(core):
            found.setdefault(key, []).append(core)
    return found


def _joined(*words: str) -> str:
    return ", ".join(filter(None, words))


def _cache_title(cache: Optional[Cache]) -> str:
    return f"L{cache.level} {readable(cache.size)}".strip() if cache else ""


def _grouped(
    cores: Iterable[Core], key: Callable[[Core], tuple[_Part, ...]]
) -> Iterable[list[Core]]:
    for _, group in groupby(sorted(cores, key=lambda core: (key(core), core.cpus.first)), key):
        yield list(group)


def _package_title(core: Core) -> str:
    named = (("drawer", core.drawer), ("book", core.book), ("package", core.package))
    title = ", ".join(f"{name} {number}" for name, number in named if number is not None)
    return title[:1].upper() + title[1:]


def _node_title(nodes: Sequence[int]) -> str:
    if not nodes:
        return ""
    return f"NUMA node{'s' if len(nodes) > 1 else ''} {'+'.join(map(str, nodes))}"


def _sorted(devices: Iterable[Device]) -> list[Device]:
    return sorted(devices, key=lambda d: (_ORDER.get(d.kind, 9), d.address))
