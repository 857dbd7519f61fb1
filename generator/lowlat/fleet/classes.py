# SPDX-License-Identifier: GPL-2.0-or-later
"""Machines in classes: all machines of a class have the same hardware and the same plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from lowlat.base.typed_json import encode
from lowlat.model.machine import Machine
from lowlat.model.plan import Plan

#: The prefix of run-time settings' names.
RUN_TIME = "run time: "


#: A fact's name, its value in a class and in another one; "" if the fact is missing.
Difference = tuple[str, str, str]


@dataclass(frozen=True)
class MachineClass:
    """``machine`` and ``plan`` come from the first of its ``members``, which are named by their
    captures. ``facts`` are common to all of them, hardware first. ``nearest`` is the index of the
    class before it from which it ``differs`` least; for the first class, its own."""

    machine: Machine
    plan: Plan
    facts: Mapping[str, str]
    members: list[str]
    nearest: int = 0
    differs: tuple[Difference, ...] = ()

    @property
    def odd(self) -> bool:
        return len(self.members) == 1

    def differences(self, other: MachineClass) -> tuple[Difference, ...]:
        """The facts in which this class differs from another one."""
        names = {**other.facts, **self.facts}
        both = ((name, self.facts.get(name, ""), other.facts.get(name, "")) for name in names)
        return tuple(one for one in both if one[1] != one[2])


def classes(machines: Iterable[tuple[str, Machine, Plan]]) -> list[MachineClass]:
    """The classes of named machines, the largest first; each keeps only one machine."""
    by_facts: dict[tuple[tuple[str, str], ...], MachineClass] = {}
    for name, machine, plan in machines:
        facts = _facts(machine, plan)
        own = by_facts.setdefault(tuple(facts.items()), MachineClass(machine, plan, facts, []))
        own.members.append(name)
    ordered = sorted(by_facts.values(), key=lambda one: (-len(one.members), one.members[0]))
    return [_placed(place, ordered) for place in range(len(ordered))]


def _placed(place: int, ordered: Sequence[MachineClass]) -> MachineClass:
    """The class with its differences from the nearest of those before it."""
    one = ordered[place]
    near = min(range(max(place, 1)), key=lambda n: len(one.differences(ordered[n])))
    return replace(one, nearest=near, differs=one.differences(ordered[near]))


def _facts(machine: Machine, plan: Plan) -> dict[str, str]:
    """The facts that equal machines share. Facts that change from boot to boot are left out, such
    as interrupt counts and the last KiB of memory."""
    devices = (f"{one.kind} {one.model}, node {one.node}" for one in machine.devices)
    known = {
        "architecture": machine.arch,
        "processor": machine.processor.model,
        "hypervisor": machine.hypervisor,
        "CPUs": machine.cpus.online,
        "offline CPUs": machine.cpus.offline,
        "cores": encode(machine.cores),
        "core types": encode(machine.core_types),
        "caches": encode(machine.caches),
        "NUMA nodes": "; ".join(
            f"{node.id} with {node.cpus}" if node.cpus else f"{node.id} without CPUs"
            for node in machine.nodes
        ),
        "devices": "; ".join(sorted(devices)),
        "clock source": machine.clock.current,
        "kernel": plan.kernel,
        "isolated": plan.isolated,
        "housekeeping": plan.housekeeping,
        "boot line": plan.cmdline.text,
    }
    facts = {name: str(value) for name, value in known.items() if value}
    for setting in plan.runtime:
        name, written = f"{RUN_TIME}{setting.name}", f"{setting.target} {setting.value}"
        facts[name] = "; ".join(filter(None, (facts.get(name), written)))
    return facts
