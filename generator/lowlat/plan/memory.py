# SPDX-License-Identifier: GPL-2.0-or-later
"""Isolated CPUs and devices whose memory lies on another NUMA node."""

from collections.abc import Iterator
from typing import Optional

from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Device, Machine, Node


def remote_memory(machine: Machine, isolated: CpuSet, device: Optional[Device]) -> Iterator[str]:
    """A warning for the nodes without memory that have isolated CPUs or this device."""
    bare = [node for node in machine.nodes if node.memory_kib == 0]
    if device is not None:
        for node in bare:
            if node.id == device.node:
                yield (
                    f"NUMA node {node.id}, where {device.address} is, has no memory: its buffers "
                    f"lie on node {_origin(machine, node)}"
                )
    origins: dict[CpuSet, list[Node]] = {}
    for node in bare:
        if node.cpus & isolated:
            origins.setdefault(_origin(machine, node), []).append(node)
    local = isolated - CpuSet.of(cpu for node in bare for cpu in node.cpus)
    instead = f"; --isolate {local} leaves these CPUs out" if local else ""
    for origin, nodes in origins.items():
        cpus = CpuSet.of(cpu for node in nodes for cpu in node.cpus & isolated)
        ids = CpuSet.of(node.id for node in nodes)
        which = f"NUMA nodes {ids} have" if len(nodes) > 1 else f"NUMA node {ids} has"
        yield f"{which} no memory: that of isolated CPU {cpus} comes from node {origin}{instead}"


def _origin(machine: Machine, node: Node) -> CpuSet:
    """The nodes whose memory the kernel takes first for this one (find_next_best_node in
    mm/page_alloc.c)."""
    able = [other for other in machine.nodes if other.memory_kib != 0]
    return CpuSet.of(other.id for other in machine.nearest(node, able))
