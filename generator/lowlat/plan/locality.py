# SPDX-License-Identifier: GPL-2.0-or-later
"""Which CPUs are near a device, and where busy devices interrupt."""

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Core, Device, Machine, Node
from lowlat.plan.regions import Region, near_nodes

#: Kinds of devices that interrupt often enough to influence the choice of housekeeping cores.
_BUSY_KINDS = ("network", "nvme", "storage")


#: A NUMA node with fewer cores is a cache rather than a place to work: with "L3 as NUMA" it has 3
#: to 8 cores, and one of them is the system's.
_FEW_CORES = 8


@dataclass(frozen=True)
class Near:
    """A device and the CPUs near it; ``place`` names this place. ``own`` are the CPUs of the
    device's own node, fewer than ``cpus`` where near nodes were taken in; then ``note`` says so."""

    device: Device
    cpus: CpuSet
    place: str
    own: CpuSet
    note: str = ""


def near_device(machine: Machine, wanted: str) -> tuple[Optional[Near], tuple[str, ...]]:
    """The CPUs near the device of ``--for-device``, or None and a warning with the reason. Raises
    Refused if there is no such device."""
    device = find_device(machine, wanted)
    node = next((node for node in machine.nodes if node.id == device.node), None)
    if node is not None and node.cpus:
        return _near_node(machine, device, node), ()
    if device.cpus and device.cpus != machine.cpus.online:
        return Near(device, device.cpus, f"CPU {device.cpus}", device.cpus), ()
    why = "the firmware does not say where it is"
    if device.node is not None:
        why = f"NUMA node {device.node} has no online CPU"
    return None, (f"--for-device {wanted}: {why}, so the whole machine is used",)


def _near_node(machine: Machine, device: Device, node: Node) -> Near:
    cores = len({machine.core_of(cpu).cpus.first for cpu in node.cpus.ids})
    wide = next(region for region in near_nodes(machine) if node.id in region.nodes)
    if cores >= _FEW_CORES or wide.cpus == node.cpus:
        return Near(device, node.cpus, f"NUMA node {node.id}", node.cpus)
    note = f"near nodes are taken in, as node {node.id} alone has {cores} cores"
    return Near(device, wide.cpus, wide.name, node.cpus, note)


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


def busiest_nodes(machine: Machine) -> list[Node]:
    """The nodes by the interrupts of their network and storage devices, the most first."""
    counts = {interrupt.number: interrupt.count for interrupt in machine.interrupts}
    came = Counter[Optional[int]]()
    for device in machine.devices:
        if device.kind in _BUSY_KINDS:
            came[device.node] += sum(counts.get(number, 0) for number in device.interrupts)
    return sorted(machine.nodes, key=lambda node: (-came[node.id], node.id))


class BusyDevices:
    """Where network and storage devices interrupt. Made once for a machine: to ask each device
    about each core would cost time quadratic in the CPUs."""

    def __init__(self, machine: Machine, near: Optional[Near]) -> None:
        self._on_node: dict[int, Device] = {}
        self._nodeless: dict[CpuSet, Device] = {}
        places: defaultdict[CpuSet, list[Device]] = defaultdict(list)
        for device in machine.devices:
            if device.kind not in _BUSY_KINDS:
                continue
            if device.cpus and device.cpus != machine.cpus.online:
                places[device.cpus].append(device)
            if device.interrupts and device.node is not None:
                self._on_node.setdefault(device.node, device)
            elif device.interrupts and device.cpus:
                self._nodeless.setdefault(device.cpus, device)
        counts = {interrupt.number: interrupt.count for interrupt in machine.interrupts}
        self._interrupts = Counter[int]()
        self._near_cpu: defaultdict[int, list[Device]] = defaultdict(list)
        for cpus, devices in places.items():
            came = sum(counts.get(number, 0) for one in devices for number in one.interrupts)
            for cpu in cpus.ids:
                self._interrupts[cpu] += came
                self._near_cpu[cpu].append(devices[0])
        for cpu in near.own.ids if near else ():
            self._interrupts[cpu] = -1  # the isolated CPUs shall be near it

    def interrupts(self, core: Core) -> int:
        """How many interrupts came near this core, not counting devices that are near every core;
        less than 0 for the place of the device that the user named."""
        return self._interrupts[core.cpus.first]

    def on(self, region: Region) -> Optional[Device]:
        """A device of this region that has interrupts."""
        found = [self._on_node[node] for node in region.nodes.ids & self._on_node.keys()]
        found += [one for cpus, one in self._nodeless.items() if cpus.ids <= region.cpus.ids]
        return min(found, key=lambda device: device.address, default=None)

    def local_to(self, region: Region, core: Core) -> Optional[Device]:
        """A device near this core, if its place is smaller than the region."""
        for device in self._near_cpu[core.cpus.first]:
            cpus = device.cpus or CpuSet()
            if core.cpus <= cpus and not region.cpus <= cpus:
                return device
        return None
