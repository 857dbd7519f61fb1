# SPDX-License-Identifier: GPL-2.0-or-later
"""The picture of a machine: nested parts, which text and SVG draw."""

from __future__ import annotations

from dataclasses import dataclass

from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Device


@dataclass(frozen=True)
class Cell:
    """A core; ``role`` is isolated, housekeeping, or "" if no plan is drawn."""

    cpus: CpuSet
    role: str


@dataclass(frozen=True)
class MachinePart:
    """One nested part: a package, its share of one node, the cores of one last-level cache (or all
    that have one of their own), or those of one type and one smaller cache; only the innermost has
    cells. ``devices`` belong to the node. ``look`` is the title without what tells parts apart;
    ``more`` are the CPUs of the other ``times`` - 1 parts, which look the same."""

    title: str
    look: str
    parts: tuple[MachinePart, ...] = ()
    cells: tuple[Cell, ...] = ()
    devices: tuple[Device, ...] = ()
    times: int = 1
    more: CpuSet = CpuSet()

    def rows(self) -> list[tuple[Cell, ...]]:
        """The cells of each innermost part; those of collapsed parts are left out."""
        inner = [row for part in self.parts for row in part.rows()]
        return [self.cells, *inner] if self.cells else inner


@dataclass(frozen=True)
class Picture:
    """``shared`` names the nodes and caches of several packages, ``bare`` the nodes without online
    CPUs and their memory."""

    title: str
    shared: tuple[str, ...]
    packages: tuple[MachinePart, ...]
    devices: tuple[Device, ...]
    offline: CpuSet
    bare: tuple[tuple[CpuSet, str], ...]
    roles: bool

    def rows(self) -> list[tuple[Cell, ...]]:
        return [row for package in self.packages for row in package.rows()]
