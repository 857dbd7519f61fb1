# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine arranged for drawing: packages hold nodes, nodes hold cache domains, domains hold
cores. Equal parts are kept once with a count: 4096 CPUs are drawn as one node of 16."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Callable, Optional

from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Core, Device, Machine

_ORDER = {"network": 0, "nvme": 1, "storage": 2}

#: Up to this many CPUs, a file shows every package of equal look.
_ROOM = 256


@dataclass(frozen=True)
class Cell:
    """A core; ``role`` is isolated, housekeeping, or "" if no plan is drawn."""

    cpus: CpuSet
    role: str


@dataclass(frozen=True)
class MachinePart:
    """One nested part: a package, its share of one node, the cores of one last-level cache, or the
    cores of one type; only the innermost has cells. ``devices`` belong to the node. ``look`` is the
    title without what tells parts apart; ``more`` are the CPUs of the next ``times`` - 1 parts,
    which look the same."""

    title: str
    look: str
    parts: tuple[MachinePart, ...] = ()
    cells: tuple[Cell, ...] = ()
    devices: tuple[Device, ...] = ()
    times: int = 1
    more: CpuSet = CpuSet()

    def drawn(self) -> list[Cell]:
        """The cells of this part; those of collapsed parts are left out."""
        return [*self.cells, *(cell for part in self.parts for cell in part.drawn())]


@dataclass(frozen=True)
class Picture:
    title: str
    packages: tuple[MachinePart, ...]
    devices: tuple[Device, ...]
    offline: CpuSet
    memory_only: CpuSet
    roles: bool


def arrange(machine: Machine, isolated: Optional[CpuSet] = None, *, roomy: bool = False) -> Picture:
    """The picture of a machine, with roles if the isolated CPUs of a plan are given. A ``roomy``
    picture shows more of the equal parts one by one."""
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

    def packages(self) -> tuple[MachinePart, ...]:
        made = [
            MachinePart(_package_title(cores[0]), "", self._nodes(cores))
            for cores in _grouped(
                self._machine.cores, lambda c: _known(c.drawer, c.book, c.package)
            )
        ]
        return tuple(_collapsed(made, self._few))

    def _nodes(self, cores: Sequence[Core]) -> tuple[MachinePart, ...]:
        made = []
        for group in _grouped(cores, lambda core: core.nodes):
            nodes = [node for node in group[0].nodes if node not in self._with_devices]
            self._with_devices.update(nodes)
            devices = tuple(_sorted(d for d in self._machine.devices if d.node in nodes))
            title = _node_title(group[0])
            look = title.rstrip("0123456789")
            made.append(MachinePart(title, look, self._caches(group), devices=devices))
        return tuple(_collapsed(made, self._few))

    def _caches(self, cores: Sequence[Core]) -> tuple[MachinePart, ...]:
        made = []
        for group in _grouped(cores, lambda core: _known(core.die, core.cache)):
            title = self._cache_title(group[0])
            made.append(MachinePart(title, title.rpartition(", ")[2], self._rows(group)))
        return tuple(_collapsed(made, self._few))

    def _cache_title(self, core: Core) -> str:
        die = f"die {core.die}" if self._many_dies and core.die is not None else ""
        size = self._sizes.get(core.cache, "") if core.cache is not None else ""
        return ", ".join(filter(None, (die, size)))

    def _rows(self, cores: Sequence[Core]) -> tuple[MachinePart, ...]:
        kinds = self._machine.core_types
        made = []
        for group in _grouped(cores, lambda core: (self._types.get(core.cpus.first, 0),)):
            label = kinds[self._types.get(group[0].cpus.first, 0)].name if kinds else ""
            cells = tuple(Cell(core.cpus, self._role(core)) for core in group)
            made.append(MachinePart(label, label, cells=cells))
        return tuple(made)

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


def _collapsed(parts: Iterable[MachinePart], few: int) -> Iterable[MachinePart]:
    """Each run of more than ``few`` equal parts becomes its first part with a count."""
    for _, run in groupby(parts, _looks):
        alike = list(run)
        if len(alike) <= few:
            yield from alike
            continue
        more = CpuSet.of(cpu for part in alike[1:] for cpu in _all_cpus(part))
        yield replace(alike[0], times=len(alike), more=more)


def _all_cpus(part: MachinePart) -> set[int]:
    own = (cell.cpus.ids for cell in part.cells)
    return set(part.more.ids).union(*own, *map(_all_cpus, part.parts))


def _looks(part: MachinePart) -> object:
    """What two parts must have in common to be drawn as one: everything but the numbers."""
    cells = tuple((len(cell.cpus), cell.role) for cell in part.cells)
    return (part.look, part.times, part.devices, cells, tuple(map(_looks, part.parts)))
