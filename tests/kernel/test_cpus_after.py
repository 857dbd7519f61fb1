# SPDX-License-Identifier: GPL-2.0-or-later
"""The CPUs that a boot brings online, by the words of its line, as the kernel's code has them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lowlat.kernel.cpus import cpus_after
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Kernel, Machine, PowerControl, Processor
from support.synthetic import Kind, Shape

PAIRS = Shape(kinds=(Kind(4, 2),))
FAR = replace(PAIRS, numbering="far")
POWER = Shape(kinds=(Kind(2, 4),), arch="ppc64le")
S390 = Shape(kinds=(Kind(4, 2),), arch="s390x")
ARM = Shape(kinds=(Kind(4, 2),), arch="aarch64")


def after(line: str, shape: Shape, release: str = "6.12.1", **other: Any) -> str:
    machine = replace(shape.model().machine(), kernel=Kernel(release=release))
    return str(cpus_after(line, replace(machine, **other)))


@pytest.mark.parametrize(
    ("line", "shape", "online"),
    [
        ("quiet", PAIRS, "0-7"),
        ("", replace(PAIRS, offline=(0, 3)), "0-7"),
        ("", replace(PAIRS, spare=4), "0-7"),
        ("nosmt", PAIRS, "0,2,4,6"),
        ("nosmt=force", FAR, "0-3"),
        ("-- nosmt", PAIRS, "0-7"),
        ("nosmt maxcpus=3", PAIRS, "0,2,4"),
        ("maxcpus=5", FAR, "0-4"),
        ("maxcpus=5", PAIRS, "0-2,4,6"),
        ("maxcpus=2 maxcpus=0x5", FAR, "0-4"),
        ("maxcpus=none maxcpus=", PAIRS, "0-7"),
        ("maxcpus=0", PAIRS, "0"),
        ("maxcpus=4 nosmp", PAIRS, "0"),
        ("nosmp maxcpus=4", FAR, "0-3"),
        ("nr_cpus=6", PAIRS, "0-5"),
        ("nr-cpus=6 nr_cpus=4 nr_cpus=7 nr_cpus=0", PAIRS, "0-3"),
        ("possible_cpus=2 possible_cpus=3 nr_cpus=5", PAIRS, "0-2"),
        ("possible_cpus=3", ARM, "0-7"),
        ("nosmt", ARM, "0-7"),
        ("smt-enabled=off", POWER, "0,4"),
        ("smt-enabled=2", POWER, "0-1,4-5"),
        ("smt-enabled=2 smt_enabled=on", POWER, "0-7"),
        ("smt-enabled=often", POWER, "0-7"),
        ("nosmt", POWER, "0-7"),
        ("smt-enabled=off", PAIRS, "0-7"),
        ("nosmt", S390, "0-3"),
        ("smt=1 smt=2", S390, "0-7"),
        ("smt=1", PAIRS, "0-7"),
    ],
)
def test_the_words_of_the_line_keep_cpus_off(line: str, shape: Shape, online: str) -> None:
    assert after(line, shape) == online


def test_where_the_kernel_has_the_control_it_knows_nosmt() -> None:
    controlled = PowerControl(smt_control="4")
    assert after("nosmt", POWER, power=controlled) == "0,4"
    assert after("nosmt", POWER, power=PowerControl(smt_control="notimplemented")) == "0-7"
    # From 6.5 on, a thread that nosmt keeps off counts for maxcpus, but not on x86.
    assert after("nosmt maxcpus=5", POWER, power=controlled) == "0,4"
    assert after("nosmt maxcpus=3", POWER, power=controlled) == "0"
    assert after("nosmt maxcpus=3", POWER, "6.4.0", power=controlled) == "0,4"


def test_before_6_5_maxcpus_counts_in_the_order_of_numbers() -> None:
    assert after("maxcpus=5", PAIRS, "6.4.9") == "0-4"
    assert after("nosmt maxcpus=3", PAIRS, "6.4.9") == "0,2,4"


@pytest.mark.parametrize(
    ("line", "bugs", "off"),
    [
        ("mitigations=auto,nosmt", "", False),
        ("mitigations=auto,nosmt", "l1tf", True),
        ("mitigations=auto,nosmt", "mds msbds_only", False),
        ("mitigations=auto,nosmt", "mmio_stale_data", True),
        ("mitigations=auto,nosmt,no_user_user", "mds", True),
        ("mitigations=auto,nosmt mitigations=auto", "mds", False),
        ("mitigations=auto", "l1tf mds", False),
        ("mitigations=auto,nosmt l1tf=flush", "l1tf", False),
        ("mitigations=auto,nosmt mds=off", "mds", False),
        ("mitigations=auto,nosmt mds=full", "mds", True),
        ("mds=full,nosmt", "mds", True),
        ("mds=full,nosmt", "l1tf", False),
        ("mds=full,nosmt mitigations=off", "mds", False),
        ("l1tf=full,force", "l1tf", True),
    ],
)
def test_mitigations_switch_smt_off_where_the_processor_has_the_bug(
    line: str, bugs: str, off: bool
) -> None:
    processor = Processor(bugs=frozenset(bugs.split()))
    assert after(line, FAR, processor=processor) == ("0-3" if off else "0-7")


def test_an_offline_cpu_of_no_known_core_is_a_thread_that_is_kept_off() -> None:
    machine: Machine = replace(FAR, offline=(4, 5, 6, 7)).model().machine()
    assert cpus_after("nosmt", machine) == CpuSet.of(range(4))
    assert cpus_after("", machine) == CpuSet.of(range(8))
