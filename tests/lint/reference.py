# SPDX-License-Identifier: GPL-2.0-or-later
"""The machine for which lines are judged, and the lines of public guides."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from support.machines import CONFIG, machine, write_tree

LINES = Path(__file__).with_name("lines.txt")

_BARE_METAL = """CONFIG_HZ=250
CONFIG_HARDLOCKUP_DETECTOR=y
CONFIG_PSI=y
CONFIG_IOMMU_SUPPORT=y
CONFIG_INTEL_IOMMU=y
CONFIG_CPUMASK_OFFSTACK=y
CONFIG_HUGETLBFS=y
CONFIG_DEBUG_FS=y
CONFIG_X86_INTEL_PSTATE=y
CONFIG_X86_AMD_PSTATE=y
"""


class GuideLine(NamedTuple):
    source: str
    line: str
    remark: str


def guide_lines() -> list[GuideLine]:
    blocks = LINES.read_text("utf-8").strip().split("\n\n")
    return [GuideLine(*block.split("\n")) for block in blocks]


def bare_metal(folder: Path, cpus: int = 64, threads: int = 1, release: str = "6.12.107-x") -> Path:
    """An Intel machine with intel_idle and an invariant TSC that the kernel trusts."""
    flags = "fpu tsc lm constant_tsc nonstop_tsc tsc_adjust pdpe1gb"
    files = machine(cpus, threads, release=release, config=CONFIG + _BARE_METAL, flags=flags)
    idle = "sys/devices/system/cpu/cpuidle/current_driver"
    return write_tree(folder, {**files, idle: "intel_idle\n"})
