# SPDX-License-Identifier: GPL-2.0-or-later
"""The facts about a host that belong beside a figure measured on it; its name is not one."""

from __future__ import annotations

from lowlat.model.machine import Core, Machine


def facts(machine: Machine) -> dict[str, object]:
    """A summary of the machine for the run's ``host`` key; unknown facts are null."""
    return {
        "arch": machine.arch,
        "processor": machine.processor.model,
        "hypervisor": machine.hypervisor,
        "online": str(machine.cpus.online),
        "cores": len(machine.cores),
        "smt": any(len(core.cpus) > 1 for core in machine.cores),
        "nodes": len(machine.nodes),
        "clocksource": machine.clock.current,
        "realtime": machine.kernel.realtime,
        "idle_driver": machine.power.idle_driver,
        "frequency_driver": machine.power.frequency_driver,
        "governors": list(machine.power.governors),
        "tuned_profile": machine.services.tuned_profile,
        "layout": [_place(core) for core in machine.cores],
    }


def _place(core: Core) -> dict[str, object]:
    """Where a core lies, so that the machine can be drawn from a run alone."""
    return {
        "cpus": str(core.cpus),
        "package": core.package,
        "die": core.die,
        "nodes": ",".join(map(str, core.nodes)),
        "cache": core.cache,
    }
