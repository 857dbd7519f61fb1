# SPDX-License-Identifier: GPL-2.0-or-later
"""``probe``: draw the machine, and list its facts line by line."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Optional

from lowlat.base.terminal import filled
from lowlat.host.archive import open_root
from lowlat.kernel.cpus import boot_cpu
from lowlat.model.machine import Machine
from lowlat.probe import probe
from lowlat.verbs import options


@dataclass(frozen=True)
class ProbeArguments:
    root: str = options.root()
    json: bool = options.as_json()
    svg: Optional[str] = options.svg_option()


def main(args: ProbeArguments) -> int:
    machine = probe(open_root(args.root))
    options.write_svg(args.svg, machine)
    lines = chain(options.drawing(machine), [""], describe(machine))
    options.show(args.json, machine.to_json, lines)
    return 0


def describe(machine: Machine) -> Iterator[str]:
    """The facts that the drawing does not show, one a line."""
    for facts in (_cpus(machine), _hardware(machine), _system(machine)):
        for label, value in facts:
            if value:
                yield from filled(value, f"{label + ':':16} ", " " * 17)


_Facts = Iterator[tuple[str, Optional[str]]]


def _cpus(machine: Machine) -> _Facts:
    yield "Processor", f"{machine.processor.model or 'unknown'} ({machine.arch or 'unknown'})"
    yield "Microcode", machine.processor.microcode
    yield "Online CPUs", f"{machine.cpus.online} (CPU {boot_cpu(machine)} boots the system)"
    yield "Offline CPUs", str(machine.cpus.offline)
    yield "Isolated now", str(machine.cpus.isolated or "")
    threads = max(len(core.cpus) for core in machine.cores)
    yield "Cores", f"{len(machine.cores)}, up to {threads} threads each" if threads > 1 else None
    for kind in machine.core_types:
        cpus = f"CPU {kind.cpus}" if kind.cpus else "no CPU online"
        yield "Core type", f"{kind.words}: {cpus} ({kind.source})"
    if len(machine.nodes) > 1:
        for node in machine.nodes[:16]:
            yield f"Distances of {node.id}", " ".join(map(str, node.distances[:32]))
    for nodes, memory in machine.memory(machine.nodes):
        each = " each" if len(nodes) > 1 and memory[:1].isdigit() else ""
        yield "Memory", f"node {nodes}: {memory}{each}" if memory else None


def _hardware(machine: Machine) -> _Facts:
    power, clock = machine.power, machine.clock
    yield "Hypervisor", machine.hypervisor or "none found"
    yield "Container", machine.container
    yield "Clock source", _with(clock.current, clock.available)
    yield "TSC", " ".join(sorted(f for f in machine.processor.flags if "tsc" in f))
    yield "Idle driver", power.idle_driver
    for state in power.idle_states:
        latency = "" if state.latency_us is None else f", {state.latency_us} us to wake up"
        off = ", switched off" if state.disabled else ""
        yield f"Idle of CPU {state.cpu}", f"{state.name}{latency}{off}"
    yield "Frequency", _with(power.frequency_driver, power.governors)
    yield "SMT control", power.smt_control
    yield "Firmware", {True: "EFI", False: "no EFI", None: None}[machine.firmware.efi]
    yield "Locked down", "yes" if machine.firmware.locked_down else None
    yield "SMI counter", "can be read" if machine.firmware.smi_counter else None
    yield "Interrupts", _interrupts(machine)


def _system(machine: Machine) -> _Facts:
    services = machine.services
    kernel = machine.kernel
    config = kernel.config.path if kernel.config else "configuration not found"
    yield "Kernel", f"{kernel.words} ({config})"
    yield "Command line", machine.cmdline
    yield "Boot loader", machine.boot_loader or "none found"
    yield "Control groups", services.cgroup
    yield "TuneD profile", services.tuned_profile
    yield "Page merging", "KSM runs" if services.ksm else None
    yield "Also at work", ", ".join(machine.managers)


def _with(chosen: Optional[str], offered: tuple[str, ...]) -> Optional[str]:
    return f"{chosen} (of {', '.join(offered)})" if chosen and offered else chosen


def _interrupts(machine: Machine) -> Optional[str]:
    rows = machine.interrupts
    if not rows:
        return None
    managed = sum(row.managed is True for row in rows)
    fixed = sum(row.managed is False for row in rows)
    words = [f"{len(rows)} numbered"]
    words += [f"{managed} managed by the kernel"] if managed else []
    words += [f"{fixed} that cannot be moved"] if fixed else []
    return ", ".join(words)
