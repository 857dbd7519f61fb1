# SPDX-License-Identifier: GPL-2.0-or-later
"""``cpus``: the list for scripts, in the formats that programs accept."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from support import needs
from support.cli import lowlat

MACHINE = Path(__file__).parents[1] / "machines/qemu-x86-2s4c-2n-devices.txt"
ISOLATED = Path("/sys/devices/system/cpu/isolated").read_text().strip()


@needs.that(not ISOLATED, "this host isolates CPUs")
def test_nothing_isolated_is_no_list() -> None:
    answer = lowlat("cpus", "isolated")
    assert (answer.status, answer.out) == (1, "")
    assert "--planned" in answer.err and answer.err.count("\n") == 1


@pytest.mark.parametrize(
    ("form", "printed"),
    [
        ("list", "1-3,6-7\n"),
        ("docker", "--cpuset-cpus=1-3,6-7\n"),
        ("dpdk", "-l 0-3,6-7 --main-lcore 0\n"),
    ],
)
def test_the_list_is_printed_as_a_program_takes_it(form: str, printed: str) -> None:
    assert lowlat("cpus", "isolated", "--as", form, "--root", MACHINE).out == printed


def test_libvirt_gets_a_pin_for_each_virtual_cpu() -> None:
    printed = lowlat("cpus", "isolated", "--as", "libvirt", "--root", MACHINE).out
    tree = ET.fromstring(printed)  # noqa: S314 (lowlat's own)
    assert tree.tag == "cputune"
    pins = {pin.get("vcpu"): pin.get("cpuset") for pin in tree.iter("vcpupin")}
    assert set(pins) == {"0", "1", "2", "3", "4"}
    assert {*pins.values()} == {"1", "2", "3", "6", "7"}
    (emulator,) = tree.iter("emulatorpin")
    assert emulator.get("cpuset") == "0,4-5"


def test_systemd_gets_the_drop_in_that_run_prints() -> None:
    printed = lowlat("run", "--systemd-drop-in", "--root", MACHINE).out
    assert lowlat("cpus", "isolated", "--as", "systemd", "--root", MACHINE).out == printed


def test_an_empty_list_has_no_form() -> None:
    asked = ("cpus", "isolated", "--profile", "lowlat-desktop", "--root", MACHINE)
    assert lowlat(*asked).out == "\n"
    answer = lowlat(*asked, "--as", "docker")
    assert (answer.status, answer.out) == (1, "")
