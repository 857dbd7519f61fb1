# SPDX-License-Identifier: GPL-2.0-or-later
"""Read a host into a Machine. Every read goes through the given Root."""

from lowlat.base.typed_json import encode
from lowlat.host import boot_loader, daemons
from lowlat.host.root import Root
from lowlat.model.machine import ARM, Machine
from lowlat.probe import (
    container,
    core_types,
    devices,
    hypervisor,
    kernel,
    platform,
    processors,
    topology,
)


def host_facts(root: Root) -> dict[str, object]:
    """The host's facts that a run records beside its name. Raises the same errors as probe()."""
    return facts(probe(root))


def host_name(root: Root) -> str:
    """The host's name, "" if it cannot be read."""
    return root.read("/proc/sys/kernel/hostname") or ""


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
        "hz": machine.kernel.hz,
        "realtime": machine.kernel.realtime,
        "idle_driver": machine.power.idle_driver,
        "frequency_driver": machine.power.frequency_driver,
        "governors": list(machine.power.governors),
        "tuned_profile": machine.services.tuned_profile,
        "layout": encode(machine.cores),
    }


def probe(root: Root) -> Machine:
    """Read the machine below ``root``. Raises Refused if there is not even a list of CPUs; any
    other missing fact is unknown in the result."""
    cpuinfo = root.read("/proc/cpuinfo") or ""
    # Rows on the whole machine stand beside the first CPU or after the last one.
    ends = f"{cpuinfo[:16384]}\n{cpuinfo[-2048:]}"
    cpus = topology.read_cpus(root, cpuinfo)
    nodes = topology.read_nodes(root, cpus.online)
    caches = topology.read_caches(root, cpus.online)
    arch = platform.read_arch(root, ends)
    kinds = core_types.read_core_types(root, cpus, caches, arch in ARM)
    # One CPU of each core type; for its own type, the boot CPU.
    others = (kind.cpus for kind in kinds if kind.cpus and cpus.boot not in kind.cpus)
    examples = [cpus.boot, *(one.first for one in others)]
    processor = processors.read_processor(root, cpuinfo)
    rows = devices.read_interrupts(root)
    loader = boot_loader.recognise(root)
    return Machine(
        arch=arch,
        cpus=cpus,
        cores=topology.read_cores(root, cpus.online, nodes, caches),
        core_types=kinds,
        nodes=nodes,
        caches=caches,
        processor=processor,
        hypervisor=hypervisor.read_hypervisor(root, ends),
        clock=platform.read_clock(root),
        power=platform.read_power(root, cpus.boot, examples),
        kernel=kernel.read_running(root),
        cmdline=root.read("/proc/cmdline"),
        boot_loader=loader.kind if loader else None,
        interrupts=rows,
        managers=daemons.read_managers(root),
        devices=devices.read_devices(root, cpus.online, rows),
        firmware=platform.read_firmware(root, processor.vendor, cpus.boot),
        services=platform.read_services(root),
        container=container.read_container(root),
    )
