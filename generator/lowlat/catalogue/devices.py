# SPDX-License-Identifier: GPL-2.0-or-later
"""Devices: links that sleep, address translation, network receive work."""

from __future__ import annotations

from typing import Optional

from lowlat.catalogue.entry import (
    ARM_ONLY,
    ISOLATION,
    PARAMETERS,
    PHYSICAL,
    Need,
    Reads,
    Risk,
    Row,
    Sign,
    Stage,
    Target,
    Tunable,
    config,
)

_TRANSLATES = Need(
    lambda target: target.machine.is_x86 or bool(ARM_ONLY.test(target)),
    "x86 and ARM only",
    wants="x86 or ARM",
)


def _through_already(target: Target) -> Optional[str]:
    config = target.kernel.config
    if config is not None and config.enabled("IOMMU_DEFAULT_PASSTHROUGH"):
        return "the kernel is built with it (CONFIG_IOMMU_DEFAULT_PASSTHROUGH)"
    return None


def _spread_already(target: Target) -> Optional[str]:
    for name in ("isolcpus", "nohz_full"):
        if name in target.enabled:
            return f"the kernel leaves the CPUs of {name} out of these masks (net/core/net-sysfs.c)"
    return None


ENTRIES = (
    Tunable(
        name="pcie_aspm.policy",
        stage=Stage.RUNTIME,
        why="keeps PCIe links awake, so that no transfer waits for one to wake up",
        source="PCI/pci.rst; drivers/pci/pcie/aspm.c",
        evidence="/sys/module/pcie_aspm/parameters/policy shows [performance]",
        rows=lambda target: [Row("/sys/module/pcie_aspm/parameters/policy", "performance")],
        reads=Reads.CHOICE,
        needs=(PHYSICAL, config("PCIEASPM")),
        cost="power of the devices",
        risk=Risk.POWER,
    ),
    Tunable(
        name="iommu.passthrough",
        stage=Stage.BOOT,
        why="lets devices of the kernel reach memory without translation: no mapping for each "
        "transfer, and no flushing of the translation cache",
        source=f"{PARAMETERS} iommu.passthrough; drivers/iommu/iommu.c",
        evidence="kernel message 'iommu: Default domain type: Passthrough'",
        value=lambda target: "1",
        needs=(_TRANSLATES, PHYSICAL, config("IOMMU_SUPPORT")),
        unneeded=_through_already,
        cost="a faulty or hostile device can read and write all memory",
        risk=Risk.SECURITY,
        accepts=r"1",
        sign=Sign(
            proof=r"iommu: Default domain type: Passthrough",
            contradiction=r"iommu: Default domain type: Translated",
        ),
    ),
    Tunable(
        name="net.rps_cpus",
        stage=Stage.RUNTIME,
        silences=("ipi: * (rps_trigger_softirq)*",),
        why="takes the isolated CPUs out of receive packet steering, which interrupts them with "
        "packets that came elsewhere",
        source="networking/scaling.rst; net/core/net-sysfs.c",
        evidence="rps_cpus of every receive queue lies within the housekeeping CPUs",
        rows=lambda target: [
            Row("/sys/class/net/*/queues/rx-*/rps_cpus", target.housekeeping.mask())
        ],
        reads=Reads.WITHIN,
        needs=(ISOLATION, config("RPS")),
        unneeded=_spread_already,
        tolerant=True,
    ),
    Tunable(
        name="net.core.busy_poll",
        stage=Stage.RUNTIME,
        why="lets poll() and select() ask the network card for 50 microseconds before they sleep, "
        "so that no packet waits for an interrupt",
        source="admin-guide/sysctl/net.rst busy_poll; networking/napi.rst",
        evidence="sysctl net.core.busy_poll is 50",
        rows=lambda target: [Row("/proc/sys/net/core/busy_poll", "50")],
        needs=(config("NET_RX_BUSY_POLL"),),
        cost="power and CPU time of every program that waits for packets",
        risk=Risk.POWER,
        accepts=r"[1-9][0-9]{0,3}",
    ),
    Tunable(
        name="net.core.busy_read",
        stage=Stage.RUNTIME,
        why="lets reading from a socket ask the network card for 50 microseconds before it sleeps, "
        "so that no packet waits for an interrupt",
        source="admin-guide/sysctl/net.rst busy_read; networking/napi.rst",
        evidence="sysctl net.core.busy_read is 50",
        rows=lambda target: [Row("/proc/sys/net/core/busy_read", "50")],
        needs=(config("NET_RX_BUSY_POLL"),),
        cost="power and CPU time of every program that waits for packets",
        risk=Risk.POWER,
        accepts=r"[1-9][0-9]{0,3}",
    ),
)
