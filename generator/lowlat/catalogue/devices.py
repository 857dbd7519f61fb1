# SPDX-License-Identifier: GPL-2.0-or-later
"""Devices: sleeping links, address translation, network receive work."""

from typing import Optional

from lowlat.catalogue.entry import (
    PARAMETERS,
    Evidence,
    EvidenceKind,
    Need,
    Risk,
    Target,
    Tunable,
    Value,
    ValueFormat,
)
from lowlat.catalogue.needs import (
    ARM_ONLY,
    INTEL,
    ISOLATION,
    PHYSICAL,
    X86,
    built_in,
    config,
    done_by,
    feature,
)

_TRANSLATES = Need(
    lambda target: target.machine.is_x86 or bool(ARM_ONLY.test(target)),
    "x86 and ARM only",
    wants="x86 or ARM",
)


def _left_out_already(target: Target) -> Optional[str]:
    # With a partition, isolcpus=managed_irq leaves the scheduler's domains alone.
    domains = "isolcpus" if "cpuset.partition" not in target.enabled else "nohz_full"
    why = "the kernel excludes the CPUs of {} from these masks (net/core/net-sysfs.c)"
    return done_by((domains, "nohz_full"), why)(target)


ENTRIES = (
    Tunable(
        name="pcie_aspm.policy",
        why="keeps PCIe links awake, so that no transfer waits for one to wake up",
        source="PCI/pci.rst; drivers/pci/pcie/aspm.c",
        rows=(Value("/sys/module/pcie_aspm/parameters/policy", "performance"),),
        reads=ValueFormat.CHOICE,
        evidence="no file below /sys/bus/pci/devices/*/link shows an enabled sleep state",
        sign=Evidence(
            path="/sys/bus/pci/devices/*/link/l[01]*_aspm",
            expected=lambda value: "0" if value == "performance" else None,
        ),
        needs=(PHYSICAL, config("PCIEASPM")),
        cost="the devices use more power",
        risk=Risk.POWER,
    ),
    Tunable(
        name="iommu.passthrough",
        why="lets devices with a kernel driver access memory without address translation: "
        "transfers need no mapping and no flush of the translation cache (IOTLB)",
        source=f"{PARAMETERS} iommu.passthrough; drivers/iommu/iommu.c",
        value="1",
        needs=(_TRANSLATES, PHYSICAL, config("IOMMU_SUPPORT")),
        unneeded=built_in("IOMMU_DEFAULT_PASSTHROUGH", "with pass-through on"),
        cost="a faulty or hostile device can read and write all memory",
        risk=Risk.SECURITY,
        accepts=r"1",
        # The kernel message is only an intention; drivers of some units translate all the same.
        sign=Evidence(shows=EvidenceKind.IOMMU_GROUPS),
        evidence="/sys/kernel/iommu_groups/N/type is identity",
    ),
    Tunable(
        name="intel_iommu",
        why="switches address translation on if the distribution leaves it off: VFIO needs "
        "translation to assign a device to user space or to a guest",
        source=f"{PARAMETERS} intel_iommu=; drivers/iommu/intel/iommu.c",
        value="on",
        needs=(X86, PHYSICAL, INTEL, config("INTEL_IOMMU")),
        unneeded=built_in("INTEL_IOMMU_DEFAULT_ON", "with the IOMMU on"),
        cost="without iommu.passthrough, transfers of devices with a kernel driver need mappings",
        risk=Risk.THROUGHPUT,
        accepts=r"on",
        # "DMAR: IOMMU enabled" follows from the parameter alone, this message from running units.
        sign=Evidence(
            proof=r"DMAR: Intel.* Virtualization Technology for Directed I/O",
            contradiction=r"DMAR: (?:No DMAR devices found|IOMMU hardware disabled)",
        ),
    ),
    Tunable(
        name="net.rps_cpus",
        silences={"ipi: * (rps_trigger_softirq)*": "net/core/dev.c net_rps_send_ipi()"},
        why="takes the isolated CPUs out of receive packet steering, which interrupts them for "
        "packets that arrived on other CPUs",
        source="networking/scaling.rst; net/core/net-sysfs.c",
        rows=(Value("/sys/class/net/*/queues/rx-*/rps_cpus", "{housekeeping}"),),
        reads=ValueFormat.WITHIN,
        needs=(ISOLATION, config("RPS")),
        unneeded=_left_out_already,
        tolerant=True,
    ),
    Tunable(
        name="net.xps_cpus",
        why="maps transmit queues to the housekeeping CPUs only: drivers map one queue to each "
        "CPU, and the completions of that queue then arrive on that CPU",
        source="networking/scaling.rst (XPS); net/core/net-sysfs.c",
        rows=(Value("/sys/class/net/*/queues/tx-*/xps_cpus", "{housekeeping}"),),
        reads=ValueFormat.WITHIN,
        needs=(ISOLATION, config("XPS")),
        cost="sending isolated CPUs share queues with others; the connection decides which one",
        risk=Risk.THROUGHPUT,
        # A device with a single queue answers ENOENT.
        tolerant=True,
    ),
    Tunable(
        name="net.threaded",
        why="runs NAPI polling of network cards in threads, which can be pinned and given a "
        "priority, instead of in softirqs, which delay the interrupted task",
        source="networking/napi.rst (threaded NAPI); ABI/testing/sysfs-class-net",
        rows=(Value("/sys/class/net/*/threaded", "1"),),
        needs=(feature("/sys/class/net/lo/threaded", "threads of NAPI"),),
        cost="a context switch for each batch of packets",
        risk=Risk.THROUGHPUT,
        # Interfaces without NAPI polling, such as lo before 5.12, refuse.
        tolerant=True,
    ),
    Tunable(
        name="net.napi",
        why="polls a busy network card from a timer, so that the card raises no interrupt for each "
        "batch of packets; programs that busy-poll their sockets need this",
        source="networking/napi.rst (software IRQ coalescing); net/core/dev.c",
        rows=(
            Value("/sys/class/net/*/napi_defer_hard_irqs", "2"),
            Value("/sys/class/net/*/gro_flush_timeout", "200000"),
        ),
        needs=(feature("/sys/class/net/lo/napi_defer_hard_irqs", "napi_defer_hard_irqs"),),
        cost="a packet may wait 200 microseconds for the rest of its batch",
        risk=Risk.THROUGHPUT,
    ),
    Tunable(
        name="net.core.busy_poll",
        why="makes poll() and select() busy-poll the network card for 50 microseconds before they "
        "sleep, so that no packet waits for an interrupt",
        source="admin-guide/sysctl/net.rst busy_poll; networking/napi.rst",
        rows=(Value("/proc/sys/net/core/busy_poll", "50"),),
        needs=(config("NET_RX_BUSY_POLL"),),
        cost="more power, and CPU time of every program that waits for packets",
        risk=Risk.POWER,
        accepts=r"[1-9][0-9]{0,3}",
    ),
    Tunable(
        name="net.core.busy_read",
        why="makes socket reads busy-poll the network card for 50 microseconds before they sleep, "
        "so that no packet waits for an interrupt",
        source="admin-guide/sysctl/net.rst busy_read; networking/napi.rst",
        rows=(Value("/proc/sys/net/core/busy_read", "50"),),
        needs=(config("NET_RX_BUSY_POLL"),),
        cost="more power, and CPU time of every program that waits for packets",
        risk=Risk.POWER,
        accepts=r"[1-9][0-9]{0,3}",
    ),
)
