# SPDX-License-Identifier: GPL-2.0-or-later
"""Machines in classes: those of one class have the same hardware and the same plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Optional

from lowlat.base.typed_json import encode
from lowlat.model.machine import Machine
from lowlat.model.plan import Plan

#: Before the names of run-time settings.
RUN_TIME = "run time: "

#: A longer text says that two machines differ, and not how.
_SHOWN = 40


@dataclass(frozen=True)
class Difference:
    """A fact of a class and the same of another one; "" where it has none."""

    name: str
    here: str
    there: str

    @property
    def words(self) -> str:
        if max(len(self.here), len(self.there)) > _SHOWN:
            return self.name
        return f"{self.name} {self.here or 'none'}, not {self.there or 'none'}"


@dataclass(frozen=True)
class MachineClass:
    """``machine`` and ``plan`` are its first machine's and stand for all of its ``members``, which
    are named by their captures. ``facts`` is what all of them have in common."""

    machine: Machine
    plan: Plan
    facts: Mapping[str, str]
    members: list[str] = field(default_factory=list)

    @property
    def odd(self) -> bool:
        return len(self.members) == 1

    def differences(self, other: MachineClass) -> Iterator[Difference]:
        """What this class has otherwise than another one, hardware first."""
        for name in {**other.facts, **self.facts}:
            found = Difference(name, self.facts.get(name, ""), other.facts.get(name, ""))
            if found.here != found.there:
                yield found


def classes(machines: Iterable[tuple[str, Machine, Plan]]) -> list[MachineClass]:
    """The classes of named machines, the largest first. Of each class one machine is kept."""
    found: dict[tuple[tuple[str, str], ...], MachineClass] = {}
    for name, machine, plan in machines:
        facts = _facts(machine, plan)
        own = found.setdefault(tuple(facts.items()), MachineClass(machine, plan, facts))
        own.members.append(name)
    return sorted(found.values(), key=lambda one: (-len(one.members), one.members[0]))


def nearest(place: int, found: Sequence[MachineClass]) -> Optional[int]:
    """Which class before this one differs least from it: of those with several machines, else the
    first; None for the first itself."""
    larger = [n for n in range(place) if not found[n].odd] or [0][:place]
    return min(larger, key=lambda n: len(list(found[place].differences(found[n]))), default=None)


def _facts(machine: Machine, plan: Plan) -> dict[str, str]:
    """What makes machines equal, hardware first. Left out is what differs between equal machines
    from boot to boot, such as counts of interrupts and the last KiB of memory."""
    known = {
        "architecture": machine.arch,
        "processor": machine.processor.model,
        "hypervisor": machine.hypervisor,
        "CPUs": machine.cpus.online,
        "offline CPUs": machine.cpus.offline,
        "cores": encode(machine.cores),
        "core types": encode(machine.core_types),
        "caches": encode(machine.caches),
        "NUMA nodes": "; ".join(f"{node.id} with {node.cpus}" for node in machine.nodes),
        "devices": "; ".join(sorted(f"{d.kind} {d.model}, node {d.node}" for d in machine.devices)),
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
