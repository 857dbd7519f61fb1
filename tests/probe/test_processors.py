# SPDX-License-Identifier: GPL-2.0-or-later
"""A processor has a name, however /proc/cpuinfo or the firmware gives it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cli import lowlat
from support.machines import machine, write_tree


def _arm(*parts: str, maker: str = "0x41") -> str:
    return "\n".join(
        f"processor\t: {cpu}\nCPU implementer\t: {maker}\nCPU architecture: 8\nCPU part\t: {part}\n"
        for cpu, part in enumerate(parts)
    )


_RISCV = "processor\t: 0\nisa\t\t: rv64imafdc\nuarch\t\t: {}\nmvendorid\t: {}\nmarchid\t\t: {}\n"
_S390 = "processor 0: version = 00,  identification = 1AB,  machine = {}\n"

NAMES = {
    _arm("0xd4f", "0xd4f"): "ARM Neoverse-V2",
    _arm("0xd03", "0xd08", "0xd08"): "ARM Cortex-A53 + Cortex-A72",
    _arm("0xac4", maker="0xc0"): "Ampere Ampere-1A",
    _arm("0xfff"): "ARM part 0xfff",
    "model name\t: ARMv7 Processor rev 4 (v7l)\n" + _arm("0xd08"): "ARM Cortex-A72",
    "model name\t: ARMv7 Processor rev 4 (v7l)\n": "ARMv7 Processor rev 4 (v7l)",
    _arm("0xd0b") + "\nModel\t\t: Raspberry Pi 5 Model B\n": "Raspberry Pi 5 Model B",
    _RISCV.format("spacemit,x60", "0x710", "0x8000000058000001"): "spacemit,x60",
    _RISCV.format("", "0x489", "0x8000000000000007"): "SiFive 7 series",
    _RISCV.format("", "0x5b7", "0x0"): "T-Head part 0x0",
    _S390.format(3931): "IBM z16",
    _S390.format(4711): "IBM machine 4711",
    "processor\t: 0\ncpu\t\t: POWER9, altivec supported\n": "POWER9, altivec supported",
}


def _named(root: Path) -> object:
    return lowlat("probe", "--root", root, "--json").json()["processor"]["model"]


@pytest.mark.parametrize("cpuinfo", NAMES)
def test_numbers_become_names(cpuinfo: str, tmp_path: Path) -> None:
    root = write_tree(tmp_path, machine(cpuinfo=cpuinfo))
    assert _named(root) == NAMES[cpuinfo]


def test_a_product_stands_for_a_processor_without_a_name(tmp_path: Path) -> None:
    root = write_tree(tmp_path, machine(cpuinfo=_arm("0xd4f", maker="0xee")))
    assert _named(root) is None
    write_tree(root, {"proc/device-tree/model": "Radxa ROCK 5B\0"})
    assert _named(root) == "Radxa ROCK 5B"
    dmi = {"sys_vendor": "GIGABYTE\n", "product_name": "R272-P30\n"}
    write_tree(root, {f"sys/class/dmi/id/{name}": text for name, text in dmi.items()})
    assert _named(root) == "GIGABYTE R272-P30"
