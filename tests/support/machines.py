# SPDX-License-Identifier: GPL-2.0-or-later
"""The files of small machines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Optional

CPU = "sys/devices/system/cpu"

CPUINFO_X86 = "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Test CPU\n"
FLAGS = "fpu tsc lm constant_tsc nonstop_tsc"

CONFIG = """CONFIG_CPU_ISOLATION=y
CONFIG_NO_HZ_FULL=y
CONFIG_RCU_NOCB_CPU=y
CONFIG_NUMA_BALANCING=y
CONFIG_SOFTLOCKUP_DETECTOR=y
CONFIG_COMPACTION=y
CONFIG_TRANSPARENT_HUGEPAGE=y
CONFIG_PREEMPT_DYNAMIC=y
CONFIG_IRQ_FORCED_THREADING=y
CONFIG_X86_MCE=y
CONFIG_CPU_FREQ_GOV_PERFORMANCE=y
CONFIG_RCU_LAZY=y
CONFIG_DEBUG_FS=y
"""


def fair_server(cpus: Iterable[int], *, planned: bool = True) -> dict[str, str]:
    """The files of the fair server of these CPUs, with the planned values or the kernel's
    defaults."""
    runtime, period = (209715200, 4194304000) if planned else (50000000, 1000000000)
    folder = "sys/kernel/debug/sched/fair_server"
    files: dict[str, str] = {}
    for cpu in cpus:
        files[f"{folder}/cpu{cpu}/runtime"] = f"{runtime}\n"
        files[f"{folder}/cpu{cpu}/period"] = f"{period}\n"
    return files


def write_tree(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def machine(
    cpus: int = 4,
    threads: int = 1,
    release: str = "6.12.107-test",
    config: Optional[str] = CONFIG,
    flags: str = FLAGS,
    cpuinfo: Optional[str] = None,
) -> dict[str, str]:
    """An x86-64 machine with one node; siblings are adjacent."""
    files = {
        f"{CPU}/online": f"0-{cpus - 1}\n",
        f"{CPU}/possible": f"0-{cpus - 1}\n",
        f"{CPU}/present": f"0-{cpus - 1}\n",
        f"{CPU}/isolated": "\n",
        "sys/devices/system/node/node0/cpulist": f"0-{cpus - 1}\n",
        "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
        "sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet\n",
        "proc/cpuinfo": cpuinfo if cpuinfo is not None else f"{CPUINFO_X86}flags\t\t: {flags}\n",
        "proc/sys/kernel/osrelease": f"{release}\n",
        "proc/cmdline": "BOOT_IMAGE=/boot/vmlinuz root=/dev/sda1 ro quiet\n",
    }
    if config is not None:
        files[f"boot/config-{release}"] = config
    for cpu in range(cpus):
        first = cpu - cpu % threads
        siblings = f"{first}-{first + threads - 1}\n" if threads > 1 else f"{cpu}\n"
        files[f"{CPU}/cpu{cpu}/topology/core_cpus_list"] = siblings
        files[f"{CPU}/cpu{cpu}/topology/physical_package_id"] = "0\n"
    return files
