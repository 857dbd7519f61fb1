# SPDX-License-Identifier: GPL-2.0-or-later
"""Which CPUs are near a device, where busy devices interrupt, which CPUs share a last-level cache,
and which isolated CPUs are used first."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Optional

from lowlat.base.amounts import readable
from lowlat.base.errors import Refused
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Core, Device, Machine, Node

#: Kinds of devices that interrupt often enough to influence the choice of housekeeping cores.
_BUSY_KINDS = ("network", "nvme", "storage")


@dataclass(frozen=True)
class Near:
    """A device and the CPUs near it; ``place`` names this place."""

    device: Device
    cpus: CpuSet
    place: str


def near_device(machine: Machine, wanted: str) -> tuple[Optional[Near], tuple[str, ...]]:
    """The CPUs near the device of ``--for-device``, or None and a warning with the reason. Raises
    Refused if there is no such device."""
    device = find_device(machine, wanted)
    online = machine.cpus.online
    node = next((node for node in machine.nodes if node.id == device.node), None)
    if node is not None and node.cpus:
        return Near(device, node.cpus, f"NUMA node {node.id}"), ()
    if device.cpus and device.cpus != online:
        return Near(device, device.cpus, f"CPU {device.cpus}"), ()
    why = "the firmware does not say where it is"
    if device.node is not None:
        why = f"NUMA node {device.node} has no online CPU"
    return None, (f"--for-device {wanted}: {why}, so the whole machine is used",)


def find_device(machine: Machine, wanted: str) -> Device:
    """The device of ``--for-device``. Raises Refused if no device has that name."""
    address = wanted.lower() if wanted.count(":") != 1 else f"0000:{wanted.lower()}"
    controller = re.sub(r"^(nvme\d+)n\d+(p\d+)?$", r"\1", wanted)
    for device in machine.devices:
        if wanted in device.names or controller in device.names or address == device.address:
            return device
    known = [
        name
        for device in machine.devices
        if device.kind in ("network", "nvme")
        for name in (device.names or (device.address,))
    ]
    shown = ", ".join(known[:8]) + (f" and {len(known) - 8} more" if len(known) > 8 else "")
    hint = f"there are: {shown}" if known else "no network or NVMe device is known here"
    raise Refused(f"--for-device {wanted[:64]}: there is no such device", hint=hint)


def local_interrupts(machine: Machine, near: Optional[Near]) -> list[tuple[CpuSet, int]]:
    """The distinct places of busy devices with their interrupt counts. A place that is the whole
    machine is left out; the device that the user named outweighs all others."""
    counts = {interrupt.number: interrupt.count for interrupt in machine.interrupts}
    places: dict[CpuSet, int] = {}
    for device in machine.devices:
        if device.cpus and device.kind in _BUSY_KINDS and device.cpus != machine.cpus.online:
            came = sum(counts.get(number, 0) for number in device.interrupts)
            places[device.cpus] = places.get(device.cpus, 0) + came
    if near is not None and near.device.cpus:
        places[near.device.cpus] = sum(places.values()) + 1
    return [(cpus, count) for cpus, count in places.items() if count]


def busy_device(machine: Machine, node: Node) -> Optional[Device]:
    """A network or storage device of this node that has interrupts."""
    for device in machine.devices:
        if device.kind in _BUSY_KINDS and device.interrupts and _is_on(device, node):
            return device
    return None


def _is_on(device: Device, node: Node) -> bool:
    if device.node is not None:
        return device.node == node.id
    return bool(device.cpus and device.cpus <= node.cpus)


def local_to(machine: Machine, near: Optional[Near], node: Node, core: Core) -> Optional[Device]:
    """A device near this core, if its place is smaller than the node."""
    busy = [device for device in machine.devices if device.kind in _BUSY_KINDS]
    for device in busy if near is None else [near.device]:
        if device.cpus and core.cpus <= device.cpus and not node.cpus <= device.cpus:
            return device
    return None


def domains(machine: Machine) -> Mapping[int, CpuSet]:
    """The CPUs of each last-level cache, by its lowest CPU."""
    found: dict[int, set[int]] = {}
    for core in machine.cores:
        if core.cache is not None:
            found.setdefault(core.cache, set()).update(core.cpus.ids)
    return {cache: CpuSet.of(ids) for cache, ids in found.items()}


def sharing(machine: Machine, isolated: CpuSet) -> CpuSet:
    """The isolated CPUs that share a last-level cache with housekeeping CPUs."""
    mixed = (cpus & isolated for cpus in domains(machine).values() if cpus - isolated)
    return CpuSet.of(cpu for cpus in mixed for cpu in cpus)


def preferred(machine: Machine, isolated: CpuSet) -> tuple[int, ...]:
    """The isolated CPUs in the order in which threads get them: one CPU of each core first; among
    these, those without a shared cache, then the most capable, then the lowest."""
    rank = {cpu: place for place, kind in enumerate(machine.core_types) for cpu in kind.cpus}
    shared = sharing(machine, isolated)

    def key(cpu: int) -> tuple[int, bool, int, int]:
        siblings = sorted(machine.core_of(cpu).cpus & isolated)
        return siblings.index(cpu), cpu in shared, rank.get(cpu, 0), cpu

    return tuple(sorted(isolated & machine.cpus.online, key=key))


def unequal(machine: Machine) -> tuple[str, ...]:
    """A warning if the third-level caches differ in size."""
    sizes: dict[str, CpuSet] = {}
    for cache in machine.caches:
        if cache.level == 3 and cache.size:
            sizes[cache.size] = sizes.get(cache.size, CpuSet()) | cache.cpus
    if len(sizes) < 2:
        return ()
    shown = ", ".join(f"{readable(size)} for CPU {cpus}" for size, cpus in sizes.items())
    return (f"the last-level caches differ in size ({shown}): choose with --isolate",)
