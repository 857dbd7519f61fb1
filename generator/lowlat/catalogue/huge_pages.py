# SPDX-License-Identifier: GPL-2.0-or-later
"""Huge pages of a user's value SIZE:N or SIZE:N@NODE, and the nodes that get them."""

from collections.abc import Mapping
from typing import Optional

from lowlat.base.amounts import readable
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Machine, Node

_KIB = {"K": 1, "M": 1 << 10, "G": 1 << 20}


def parse(given: str) -> Mapping[str, object]:
    """The parts of the value: ``kib`` of a page, ``pages``, and the node ``at`` or None."""
    size, _, rest = given.partition(":")
    pages, _, node = rest.partition("@")
    return {
        "kib": int(size[:-1]) * _KIB[size[-1]],
        "pages": int(pages),
        "at": int(node) if node else None,
    }


def nodes(machine: Machine, isolated: CpuSet, at: object) -> list[Node]:
    """The node of that number; for None those of the isolated CPUs, else those of all CPUs. A node
    without memory stands for the nearest that have some, and CPUs."""
    if at is not None:
        return [node for node in machine.nodes if node.id == at]
    within = [node for node in machine.nodes if node.cpus]
    near = [node for node in within if node.cpus & isolated] or within
    able = [node for node in within if node.memory_kib != 0]
    chosen = {node.id for here in near for node in machine.nearest(here, able)}
    return [node for node in able if node.id in chosen]


def shares(
    machine: Machine, isolated: CpuSet, parts: Mapping[str, object]
) -> list[tuple[Node, int]]:
    """The number of pages of each node: as many as asked for, or as many as leave the system a
    fifth of the node's memory."""
    return [(node, _fitting(node, parts)) for node in nodes(machine, isolated, parts.get("at"))]


def _fitting(node: Node, parts: Mapping[str, object]) -> int:
    kib, pages = int(str(parts["kib"])), int(str(parts["pages"]))
    return pages if node.memory_kib is None else min(pages, int(node.memory_kib * 0.8) // kib)


def refusal(machine: Machine, isolated: CpuSet, given: Optional[str]) -> Optional[str]:
    """Why no node can have that many pages; None if one can."""
    if given is None:
        return "state how many pages the work needs: hugepages=SIZE:N or hugepages=SIZE:N@NODE"
    parts = parse(given)
    found = shares(machine, isolated, parts)
    if not found:
        return f"there is no memory node {parts['at']}"
    if any(count == parts["pages"] for _, count in found):
        return None
    largest = max((node for node, _ in found), key=lambda node: node.memory_kib or 0)
    if not largest.memory_kib:
        able = CpuSet.of(node.id for node in machine.nodes if node.memory_kib)
        return f"node {largest.id} has no memory: name node {able}, or none"
    had = f"the {readable(f'{largest.memory_kib} kB')} of node {largest.id}"
    return (
        f"{_size(parts, parts['pages'])} are more than 80 percent of {had}: the rest would starve"
    )


def told(machine: Machine, isolated: CpuSet, given: str) -> str:
    """What each node gets, in words."""
    parts = parse(given)
    found = shares(machine, isolated, parts)
    by_count: dict[int, list[int]] = {}
    for node, count in found:
        by_count.setdefault(count, []).append(node.id)
    words = []
    for count, ids in by_count.items():
        what = f"{count} page{'s' if count != 1 else ''} ({_size(parts, count)})"
        several = f"nodes {CpuSet.of(ids)} get {what} each"
        words.append(several if len(ids) > 1 else f"node {ids[0]} gets {what}")
    if len(by_count) > 1:
        words.append("no node gives more than 80 percent of its memory")
    if not all(node.cpus for node, _ in found):
        words.append("that node has no CPUs: its memory may be a device's, such as a GPU's")
    return "; ".join(words)


def _size(parts: Mapping[str, object], pages: object) -> str:
    return readable(f"{int(str(parts['kib'])) * int(str(pages))} kB")
