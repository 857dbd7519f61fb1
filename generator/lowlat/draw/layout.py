# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine arranged for drawing: packages hold nodes, nodes hold cache domains, those hold cores.

What is alike is kept once, with the number of the others: 4096 CPUs are drawn as one node of 16.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Callable, Optional, TypeVar

from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Core, Device, Machine

_ORDER = {"network": 0, "nvme": 1, "storage": 2}

#: Up to this many CPUs a file has room for every package of the same look.
_ROOM = 256


@dataclass(frozen=True)
class Cell:
    """A core; ``role`` is isolated, housekeeping, or "" where no plan is drawn."""

    cpus: CpuSet
    role: str


@dataclass(frozen=True)
class CoreRow:
    """The cores of one type; the label is empty where there is only one."""

    label: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Domain:
    """The cores that share a last-level cache. ``more`` are the CPUs of the ``times`` - 1 domains
    after this one that look the same."""

    title: str
    rows: tuple[CoreRow, ...]
    times: int = 1
    more: CpuSet = CpuSet()


@dataclass(frozen=True)
class Box:
    """The cores of one package in one node, and the node's devices."""

    title: str
    domains: tuple[Domain, ...]
    devices: tuple[Device, ...] = ()
    times: int = 1
    more: CpuSet = CpuSet()


@dataclass(frozen=True)
class Package:
    title: str
    boxes: tuple[Box, ...]
    times: int = 1
    more: CpuSet = CpuSet()


@dataclass(frozen=True)
class Picture:
    title: str
    packages: tuple[Package, ...]
    devices: tuple[Device, ...]
    offline: CpuSet
    memory_only: CpuSet
    roles: bool


def arrange(machine: Machine, isolated: Optional[CpuSet] = None, *, roomy: bool = False) -> Picture:
    """The picture of a machine, with roles where the isolated CPUs of a plan are given. A
    ``roomy`` one has more of the parts that look alike one by one."""
    few = 8 if roomy and len(machine.cpus.online) <= _ROOM else 2
    maker = _Arranger(machine, isolated, few)
    shown = {node for core in machine.cores for node in core.nodes}
    return Picture(
        title=machine.processor.model or machine.arch or "this machine",
        packages=maker.packages(),
        devices=tuple(_sorted(d for d in machine.devices if d.node not in shown)),
        offline=machine.cpus.offline,
        memory_only=CpuSet.of(node.id for node in machine.nodes if not node.cpus),
        roles=isolated is not None,
    )


def cpus_of(part: Package | Box | Domain | CoreRow) -> CpuSet:
    """The CPUs drawn in a part, without those that are only alike."""
    return CpuSet.of(cpu for cell in cells_of(part) for cpu in cell.cpus.ids)


def cells_of(part: Package | Box | Domain | CoreRow) -> list[Cell]:
    if isinstance(part, CoreRow):
        return list(part.cells)
    parts: Sequence[Box | Domain | CoreRow]
    if isinstance(part, Package):
        parts = part.boxes
    else:
        parts = part.domains if isinstance(part, Box) else part.rows
    return [cell for inner in parts for cell in cells_of(inner)]


class _Arranger:
    def __init__(self, machine: Machine, isolated: Optional[CpuSet], few: int) -> None:
        self._few = few
        self._machine = machine
        self._isolated = isolated
        self._dies = {(core.package, core.die) for core in machine.cores}
        self._many_dies = len(self._dies) > len({package for package, _ in self._dies})
        self._sizes = {
            cache.cpus.first: f"L{cache.level} {_size(cache.size)}".strip()
            for cache in machine.caches
            if cache.kind != "instruction"
        }
        self._types = {
            cpu: place for place, kind in enumerate(machine.core_types) for cpu in kind.cpus.ids
        }
        self._with_devices: set[int] = set()

    def packages(self) -> tuple[Package, ...]:
        made = [
            Package(_package_title(cores[0]), self._boxes(cores))
            for cores in _grouped(
                self._machine.cores, lambda c: _known(c.drawer, c.book, c.package)
            )
        ]
        return tuple(_collapsed(made, self._few))

    def _boxes(self, cores: Sequence[Core]) -> tuple[Box, ...]:
        made = []
        for group in _grouped(cores, lambda core: core.nodes):
            nodes = [node for node in group[0].nodes if node not in self._with_devices]
            self._with_devices.update(nodes)
            devices = tuple(_sorted(d for d in self._machine.devices if d.node in nodes))
            made.append(Box(_node_title(group[0]), self._domains(group), devices))
        return tuple(_collapsed(made, self._few))

    def _domains(self, cores: Sequence[Core]) -> tuple[Domain, ...]:
        made = [
            Domain(self._cache_title(group[0]), self._rows(group))
            for group in _grouped(cores, lambda core: _known(core.die, core.cache))
        ]
        return tuple(_collapsed(made, self._few))

    def _cache_title(self, core: Core) -> str:
        die = f"die {core.die}" if self._many_dies and core.die is not None else ""
        size = self._sizes.get(core.cache, "") if core.cache is not None else ""
        return ", ".join(filter(None, (die, size)))

    def _rows(self, cores: Sequence[Core]) -> tuple[CoreRow, ...]:
        kinds = self._machine.core_types
        return tuple(
            CoreRow(
                kinds[self._types.get(group[0].cpus.first, 0)].name if kinds else "",
                tuple(Cell(core.cpus, self._role(core)) for core in group),
            )
            for group in _grouped(cores, lambda core: (self._types.get(core.cpus.first, 0),))
        )

    def _role(self, core: Core) -> str:
        if self._isolated is None:
            return ""
        return "isolated" if core.cpus <= self._isolated else "housekeeping"


def _size(text: str) -> str:
    kilobytes = text[:-1] if text.endswith("K") else ""
    if kilobytes.isdecimal() and int(kilobytes) % 1024 == 0:
        return f"{int(kilobytes) // 1024} MiB"
    return f"{kilobytes} KiB" if kilobytes else text


def _known(*numbers: Optional[int]) -> tuple[int, ...]:
    return tuple(-1 if number is None else number for number in numbers)


def _grouped(cores: Iterable[Core], key: Callable[[Core], tuple[int, ...]]) -> Iterable[list[Core]]:
    for _, group in groupby(sorted(cores, key=lambda core: (key(core), core.cpus.first)), key):
        yield list(group)


def _package_title(core: Core) -> str:
    named = (("drawer", core.drawer), ("book", core.book), ("package", core.package))
    title = ", ".join(f"{name} {number}" for name, number in named if number is not None)
    return title[:1].upper() + title[1:]


def _node_title(core: Core) -> str:
    if not core.nodes:
        return ""
    return f"NUMA node{'s' if len(core.nodes) > 1 else ''} {'+'.join(map(str, core.nodes))}"


def _sorted(devices: Iterable[Device]) -> list[Device]:
    return sorted(devices, key=lambda d: (_ORDER.get(d.kind, 9), d.address))


_Part = TypeVar("_Part", Package, Box, Domain)


def _collapsed(parts: Iterable[_Part], few: int) -> Iterable[_Part]:
    """Runs of more than ``few`` parts that look alike become their first, which counts the rest."""
    for _, run in groupby(parts, _looks):
        alike = list(run)
        if len(alike) <= few:
            yield from alike
            continue
        more = CpuSet.of(cpu for part in alike[1:] for cpu in _all_cpus(part))
        yield replace(alike[0], times=len(alike), more=more)


def _all_cpus(part: Package | Box | Domain) -> set[int]:
    inner: Sequence[Box | Domain] = ()
    if not isinstance(part, Domain):
        inner = part.boxes if isinstance(part, Package) else part.domains
    found = set(part.more.ids).union(*(_all_cpus(item) for item in inner))
    return found if inner else found | cpus_of(part).ids


def _looks(part: Package | Box | Domain) -> object:
    """What must be equal for two parts to be drawn as one: everything but the numbers."""
    if isinstance(part, Package):
        return tuple(map(_looks, part.boxes))
    if isinstance(part, Box):
        return (part.title.rstrip("0123456789"), tuple(map(_looks, part.domains)), part.devices)
    size = part.title.rpartition(", ")[2]
    rows = tuple((r.label, tuple((len(c.cpus), c.role) for c in r.cells)) for r in part.rows)
    return (size, rows, part.times)
