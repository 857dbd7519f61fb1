# SPDX-License-Identifier: GPL-2.0-or-later
"""CPUs in the numbers and forms of other programs, on machines of many shapes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from support import needs, synthetic
from support.cli import lowlat
from support.synthetic import Kind, Shape
from support.waits import GUARD_S

LSTOPO = ["lstopo-no-graphics", "--no-io", "--disallowed", "--of", "xml", "-"]

#: Shapes that Linux numbers otherwise than Slurm.
SHAPES = [
    Shape(packages=2, kinds=(Kind(4, 2),), numbering="far"),
    Shape(packages=2, kinds=(Kind(4, 2),), numbering="adjacent", offline=(4, 5)),
    Shape(packages=2, dies=2, kinds=(Kind(4, 2),), nodes=4, cores_per_cache=2, numbering="far"),
    Shape(packages=4, kinds=(Kind(2, 1),), numbering="far"),
]


def hwlocs_order(tree: Path) -> list[int]:
    """The CPUs by hwloc's logical index, which Slurm's numbers are."""
    if shutil.which(LSTOPO[0]) is None:
        needs.absent(f"{LSTOPO[0]} is not installed")
    environment = {**os.environ, "HWLOC_FSROOT": str(tree), "HWLOC_COMPONENTS": "linux,stop"}
    told = subprocess.run(
        LSTOPO, env=environment, capture_output=True, check=True, timeout=GUARD_S
    ).stdout
    objects = ElementTree.fromstring(told).iter("object")  # noqa: S314
    return [int(one.get("os_index", "")) for one in objects if one.get("type") == "PU"]


def said(which: str, form: str, tree: Path) -> str:
    answer = lowlat("cpus", which, "--as", form, "--root", tree)
    assert answer.status == 0, answer.err
    return answer.out.strip()


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape.packages}x{shape.numbering}")
def test_slurm_numbers_cpus_as_hwloc_does(shape: Shape, tmp_path: Path) -> None:
    tree = synthetic.write(shape.model(), tmp_path)
    order = hwlocs_order(tree)
    kept = said("housekeeping", "slurm", tree)
    numbers = [int(number) for number in kept.partition("=")[2].split(",")]
    listed = sorted(order[number] for number in numbers)
    ranges = said("housekeeping", "list", tree)
    assert listed == [
        cpu
        for low, high in re.findall(r"(\d+)(?:-(\d+))?", ranges)
        for cpu in range(int(low), int(high or low) + 1)
    ]


def test_a_dpdk_worker_has_a_core_of_its_own(tmp_path: Path) -> None:
    tree = synthetic.write(Shape(kinds=(Kind(4, 2),), numbering="adjacent").model(), tmp_path)
    assert said("isolated", "dpdk", tree) == "-l 0,2,4,6 --main-lcore 0"


def test_a_guest_sees_siblings_as_siblings(tmp_path: Path) -> None:
    """By the numbers of its CPUs (QEMU, hw/i386/topology.h): neighbours are threads of a core."""
    tree = synthetic.write(Shape(kinds=(Kind(4, 2),), numbering="far").model(), tmp_path)
    text = said("isolated", "libvirt", tree)
    pins = [int(cpu) for cpu in re.findall(r"<vcpupin vcpu='\d' cpuset='(\d)'/>", text)]
    assert sorted(pins) == [1, 2, 3, 5, 6, 7]
    assert all(pins[at + 1] == pins[at] + 4 for at in (0, 2, 4))
    assert "cores='3' threads='2'" in text


def test_what_nothing_balances_is_told(tmp_path: Path) -> None:
    tree = synthetic.write(Shape(kinds=(Kind(4, 1),)).model(), tmp_path)
    for form in ("docker", "systemd"):
        answer = lowlat("cpus", "isolated", "--as", form, "--root", tree)
        assert "threads pile up" in answer.err, form
        assert "threads pile up" not in lowlat("cpus", "isolated", "--root", tree).err
        balanced = lowlat("cpus", "housekeeping", "--as", form, "--root", tree)
        assert "threads pile up" not in balanced.err


def test_forms_are_for_the_boot_with_the_plan(tmp_path: Path) -> None:
    """A core that is offline now comes back with that boot, and the others keep their numbers."""
    shape = Shape(kinds=(Kind(6, 2),), numbering="adjacent", offline=(2, 3))
    tree = synthetic.write(shape.model(), tmp_path)
    assert said("isolated", "dpdk", tree) == "-l 0,2,4,6,8,10 --main-lcore 0"
    assert "<vcpupin vcpu='9'" in said("isolated", "libvirt", tree)
    half = Shape(kinds=(Kind(8, 2),), numbering="adjacent", offline=(9,))
    tree = synthetic.write(half.model(), tmp_path / "half")
    assert said("housekeeping", "slurm", tree) == "CpuSpecList=0,1,8,9"
    answer = lowlat("cpus", "housekeeping", "--as", "kubelet", "--root", tree)
    assert answer.out == 'reservedSystemCPUs: "0-1,8-9"\n'
    assert "CPU 9 is offline now" in answer.err
    # Its core counts among the four threads of a kubelet.
    out = tmp_path / "out"
    assert lowlat("render", "--root", tree, "--format", "kubelet", "--out", out).status == 0
    text = (out / "etc/kubernetes/kubelet.conf.d/90-lowlat.conf").read_text()
    assert 'reservedSystemCPUs: "0-1,8-9"' in text


def test_slurm_numbers_no_uneven_machine(tmp_path: Path) -> None:
    hybrid = Shape(kinds=(Kind(2, 2), Kind(4, 1)), types_by="perf")
    lame = Shape(packages=2, kinds=(Kind(4, 1),), offline=(6,), cmdline="maxcpus=7")
    told = ("cores had the same number of threads", "packages had the same number of cores")
    for shape, why in zip((hybrid, lame), told):
        tree = synthetic.write(shape.model(), tmp_path / why[:5])
        answer = lowlat("cpus", "housekeeping", "--as", "slurm", "--root", tree)
        assert (answer.status, answer.out) == (1, "") and why in answer.err
    tree = tmp_path / told[0][:5]
    warned = lowlat("cpus", "housekeeping", "--as", "kubelet", "--root", tree).err
    assert "may give reserved CPUs to a pod" in warned


def test_dpdk_counts_lcores_where_a_cpu_is_beyond_its_limit(tmp_path: Path) -> None:
    shapes = (Shape(packages=8, nodes=8, kinds=(Kind(17, 1),)), Shape(kinds=(Kind(160, 1),)))
    few, many = (synthetic.write(one.model(), tmp_path / str(one.packages)) for one in shapes)
    told = said("isolated", "dpdk", few)
    pins = {int(one): int(cpu) for one, cpu in re.findall(r"(\d+)@(\d+)", told)}
    assert told.endswith(" --main-lcore 0") and sorted(pins) == [*range(121)]
    assert pins[0] == 0 and pins[120] == 135
    answer = lowlat("cpus", "isolated", "--as", "dpdk", "--root", many)
    assert (answer.status, answer.out) == (1, "") and "128 CPUs at most" in answer.err


@pytest.mark.parametrize(
    ("form", "key"), [("slurm", "CpuSpecList"), ("kubelet", "reservedSystemCPUs")]
)
def test_what_is_the_systems_takes_no_isolated_cpu(form: str, key: str, tmp_path: Path) -> None:
    tree = synthetic.write(Shape(kinds=(Kind(4, 1),)).model(), tmp_path)
    answer = lowlat("cpus", "isolated", "--as", form, "--root", tree)
    assert (answer.status, answer.out) == (1, "")
    assert key in answer.err and f"cpus housekeeping --as {form}" in answer.err
    assert said("housekeeping", "kubelet", tree) == 'reservedSystemCPUs: "0"'
