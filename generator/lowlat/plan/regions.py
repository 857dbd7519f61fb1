# SPDX-License-Identifier: GPL-2.0-or-later
"""The parts of a machine that each keep housekeeping cores: its NUMA nodes, or near nodes taken
together where a node is smaller than a package."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Machine, Node

#: Up to this distance nodes are near. AMD's firmware reports 11 and 12 within a socket and 32
#: across, Threadripper 16, Intel's sub-NUMA clusters 12 and 13; other sockets are from 20 on.
_NEAR = 16


@dataclass(frozen=True)
class Region:
    """NUMA nodes with online CPUs, and these CPUs."""

    nodes: CpuSet
    cpus: CpuSet

    @property
    def name(self) -> str:
        """Such as "NUMA node 1" or "NUMA nodes 16-31"."""
        return f"NUMA node{'s' if len(self.nodes) > 1 else ''} {self.nodes}"


def single_nodes(machine: Machine) -> Sequence[Region]:
    """Each node for itself; without nodes, the whole machine. In ascending order of CPUs, except
    where nodes share CPUs: there the smaller come first, as their cores count for the larger."""
    nodes = [node for node in machine.nodes if node.cpus]
    apart = sum(len(node.cpus) for node in nodes) == len({c for n in nodes for c in n.cpus.ids})
    made = [Region(CpuSet.of([node.id]), node.cpus) for node in nodes]
    made.sort(key=lambda one: (0 if apart else len(one.cpus), list(one.cpus)))
    return made or [Region(CpuSet.of([0]), machine.cpus.online)]


def near_nodes(machine: Machine) -> Sequence[Region]:
    """Where there are more nodes than packages: the near nodes of each package together, by the
    firmware's distances, or by package where these tell nothing. Else each node for itself."""
    placed = {cpu for node in machine.nodes for cpu in node.cpus.ids}
    packages = {c: core.package for core in machine.cores for c in core.cpus.ids if c in placed}
    inside: defaultdict[object, list[Node]] = defaultdict(list)
    for node in machine.nodes:
        for package in {packages[cpu] for cpu in node.cpus.ids}:
            inside[package].append(node)
    nodes = sum(map(len, inside.values()))
    whole = nodes == sum(bool(node.cpus) for node in machine.nodes)
    if None in packages.values() or not whole or nodes <= len({*packages.values()}):
        return single_nodes(machine)
    places = {node.id: place for place, node in enumerate(machine.nodes)}
    told = any(_neighbours(node, places, machine.nodes) for node in machine.nodes if node.cpus)
    made: list[Sequence[Node]] = []
    for members in inside.values():
        made += _linked(members, places) if told else [members]
    return sorted(map(_region, made), key=lambda one: one.cpus.first)


def _neighbours(node: Node, places: Mapping[int, int], among: Iterable[Node]) -> list[Node]:
    """The other nodes with CPUs that the firmware puts near this one."""
    known = len(node.distances)
    return [
        other
        for other in among
        if other.cpus.ids
        and other is not node
        and places[other.id] < known
        and node.distances[places[other.id]] <= _NEAR
    ]


def _linked(members: Sequence[Node], places: Mapping[int, int]) -> Iterator[Sequence[Node]]:
    """The nodes in groups, linked by neighbours."""
    left = {node.id: node for node in members}
    while left:
        group, todo = [], [left.pop(next(iter(left)))]
        while todo:
            group.append(todo.pop())
            found = _neighbours(group[-1], places, left.values())
            todo += [left.pop(node.id) for node in found]
        yield group


def _region(nodes: Sequence[Node]) -> Region:
    cpus = {cpu for node in nodes for cpu in node.cpus.ids}
    return Region(CpuSet.of(node.id for node in nodes), CpuSet.of(cpus))
