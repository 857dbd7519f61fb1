# SPDX-License-Identifier: GPL-2.0-or-later
"""``cpus``: the list for scripts, in the formats that programs accept."""

from __future__ import annotations

import re
import shlex
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from lowlat import cli
from support import needs
from support.cli import lowlat

MACHINE = Path(__file__).parents[1] / "machines/qemu-x86-2s4c-2n-devices.txt"
EPYC = MACHINE.parent / "field/epyc-9375f-2s.txt.gz"
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


@pytest.mark.parametrize("form", ["list", "slurm"])
def test_the_options_of_plan_and_a_stored_plan_give_the_cpus_of_that_plan(
    form: str, tmp_path: Path
) -> None:
    asked = ("--profile", "lowlat-hpc", "--disable", "cpuset.partition", "--housekeeping-cores", 1)
    plan = lowlat("plan", *asked, "--root", EPYC, "--json")
    (stored := tmp_path / "plan.json").write_text(plan.out)
    kept, where = plan.json()["cpus"]["housekeeping"], ("housekeeping", "--as", form, "--root")
    assert kept == "0,32"  # Slurm numbers this machine without threads as Linux does
    title = {"list": "", "slurm": "CpuSpecList="}[form]
    told = "profile lowlat-hpc, isolated CPUs 1-31,33-63"
    for words, which in (
        (asked, "a plan made as asked"),
        (("--plan", stored), f"the plan in {stored}"),
    ):
        answer = lowlat("cpus", *where, EPYC, *words)
        assert (answer.status, answer.out) == (0, f"{title}{kept}\n"), answer
        assert f"lowlat-gen: CPUs of {which}: {told}\n" in answer.err
    default = lowlat("cpus", *where, EPYC)
    assert default.out != f"{title}{kept}\n"
    assert "of the default plan, as none is applied: profile lowlat, isolated" in default.err
    elsewhere = lowlat("cpus", *where, MACHINE, "--plan", stored).refused()
    assert "of another machine" in elsewhere
    assert "no effect" in lowlat("cpus", *where, EPYC, *asked, "--plan", stored).refused()


def test_all_warnings_are_those_of_the_same_options() -> None:
    asked = ("--isolate", "1-7", "--housekeeping", "0", "--disable", "nohz_full")
    err = lowlat("cpus", "isolated", *asked, "--root", MACHINE).err
    (command,) = re.findall(r"more warnings: 'lowlat-gen (.*)' shows them", err)
    verb, *words = shlex.split(command)
    assert lowlat(verb, *words, "--root", MACHINE).out.count("Warning ") > 1
    assert cli.arguments("plan", words) == cli.arguments("plan", asked)


def test_an_empty_list_has_no_form() -> None:
    asked = ("cpus", "isolated", "--profile", "lowlat-desktop", "--root", MACHINE)
    listed = lowlat(*asked)
    assert listed.out == "\n"
    assert "profile lowlat-desktop isolates no CPU, so the list is empty" in listed.err
    answer = lowlat(*asked, "--as", "docker")
    assert (answer.status, answer.out) == (1, "")
