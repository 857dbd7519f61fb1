# SPDX-License-Identifier: GPL-2.0-or-later
"""Cores, nodes and last-level caches, compared with lscpu and hwloc.

Both tools read the same files of the same trees. A tool that contradicts the kernel's own sibling
or node lists is no oracle for that machine, and the test says so. The trees are the synthetic ones
and any captured machines in the folder that LOWLAT_MACHINES names
(NAME.tar.xz, each with a root/).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Optional
from xml.etree import ElementTree

import pytest

from lowlat.host.root import CPU, Root
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Machine
from lowlat.probe import probe
from lowlat.probe.topology import NODE
from support import needs, synthetic
from support.synthetic import NAMED, Kind, Shape
from support.waits import GUARD_S

#: Captured machines that are not the project's.
MACHINES = Path(os.environ.get("LOWLAT_MACHINES", os.devnull))
CAPTURED = sorted(path.name[: -len(".tar.xz")] for path in MACHINES.glob("*.tar.xz"))
SYNTHETIC = [name for name in NAMED if "4096" not in name]

Sets = frozenset[CpuSet]


@dataclass(frozen=True)
class View:
    """A machine as a tool shows it; None for unknown parts."""

    cores: Optional[Sets]
    nodes: Optional[Sets]
    caches: Optional[Sets]


def ours(machine: Machine) -> View:
    last: dict[int, CpuSet] = {}
    for core in machine.cores:
        if core.cache is not None:
            last[core.cache] = last.get(core.cache, CpuSet()) | core.cpus
    return View(
        cores=frozenset(core.cpus for core in machine.cores),
        nodes=frozenset(node.cpus for node in machine.nodes if node.cpus),
        caches=frozenset(last.values()) or None,
    )


def the_kernels(root: Root, online: CpuSet) -> View:
    """The lists in the kernel's own files, read in the simplest way."""
    cores = set()
    for cpu in online:
        folder = f"{CPU}/cpu{cpu}/topology"
        siblings = root.read_cpus(f"{folder}/thread_siblings_list", f"{folder}/thread_siblings")
        cores.add((siblings or CpuSet.of([cpu])) & online)
    nodes = {
        (root.read_cpus(f"{NODE}/{name}/cpulist", f"{NODE}/{name}/cpumap") or CpuSet()) & online
        for name in root.names(NODE)
        if name.startswith("node")
    }
    caches = {_last_cache(root, cpu) & online for cpu in online}
    return View(frozenset(cores), frozenset(nodes - {CpuSet()}), frozenset(caches - {CpuSet()}))


def _last_cache(root: Root, cpu: int) -> CpuSet:
    found = (0, CpuSet())
    for name in root.names(f"{CPU}/cpu{cpu}/cache"):
        folder = f"{CPU}/cpu{cpu}/cache/{name}"
        level = root.read_int(f"{folder}/level")
        shared = root.read_cpus(f"{folder}/shared_cpu_list", f"{folder}/shared_cpu_map")
        if level and shared and level > found[0] and root.read(f"{folder}/type") != "Instruction":
            found = (level, shared)
    return found[1]


# -------------------------------------------------------------------- oracles


def lscpu(tree: Path) -> Optional[View]:
    """The rows of ``lscpu --sysroot`` for the online CPUs; None if lscpu cannot read this machine.

    The caches are ignored: lscpu's column does not name the level of a number.
    """
    told = _run(["lscpu", "--sysroot", str(tree), "-p=CPU,CORE,NODE"])
    rows = [line.split(",") for line in (told or "").splitlines() if line[:1].isdigit()]
    return View(cores=_by(rows, 1), nodes=_by(rows, 2), caches=None) if rows else None


def _by(rows: Iterable[list[str]], column: int) -> Optional[Sets]:
    groups: dict[str, set[int]] = {}
    for row in rows:
        if row[column]:
            groups.setdefault(row[column], set()).add(int(row[0]))
    return frozenset(map(CpuSet.of, groups.values())) or None


def hwloc(tree: Path) -> Optional[View]:
    """lstopo's output for a tree; None if it cannot read this machine."""
    environment = {"HWLOC_FSROOT": str(tree), "HWLOC_COMPONENTS": "linux,stop"}
    argv = ["lstopo-no-graphics", "--no-io", "--no-collapse", "--disallowed", "--of", "xml", "-"]
    told = _run(argv, environment)
    if not told:
        return None
    objects = list(ElementTree.fromstring(told).iter("object"))  # noqa: S314
    levels = [_sets(objects, f"L{level}Cache") for level in (4, 3, 2)]
    return View(
        cores=_sets(objects, "Core"),
        nodes=_sets(objects, "NUMANode"),
        caches=next(filter(None, levels), None),
    )


def _sets(objects: Iterable[ElementTree.Element], kind: str) -> Optional[Sets]:
    masks = [item.get("cpuset", "") for item in objects if item.get("type") == kind]
    words = [[word[2:] or "0" for word in mask.split(",")] for mask in masks]
    found = {CpuSet.parse_mask(",".join(word.zfill(8) for word in mask)) for mask in words}
    return frozenset(found - {CpuSet()}) or None


def _run(argv: list[str], environment: Optional[dict[str, str]] = None) -> Optional[str]:
    ended = subprocess.run(
        argv,
        capture_output=True,
        text=True,
        check=False,
        timeout=GUARD_S,
        env={**os.environ, "LC_ALL": "C", **(environment or {})},
    )
    return ended.stdout if ended.returncode == 0 else None


ORACLES = {"lscpu": ("lscpu", lscpu), "hwloc": ("lstopo-no-graphics", hwloc)}


def compare(name: str, tree: Path) -> list[str]:
    """Compare one tree; returns what was compared. Skips if the oracle is missing."""
    program, oracle = ORACLES[name]
    if shutil.which(program) is None:
        needs.absent(f"{program} is not installed")
    root = Root(str(tree))
    machine = probe(root)
    said = oracle(tree)
    if said is None:
        needs.absent(f"{program} cannot read this machine")
    mine, kernels = ours(machine), the_kernels(root, machine.cpus.online)
    compared = []
    for what in ("cores", "nodes", "caches"):
        theirs = getattr(said, what)
        truth = getattr(kernels, what)
        if theirs is None or (truth is not None and theirs != truth):
            continue
        assert getattr(mine, what) == theirs, f"{what}: {program} and the kernel's files agree"
        compared.append(what)
    if not compared:
        needs.absent(f"{program} says nothing of this machine that agrees with the kernel's files")
    return compared


# ---------------------------------------------------------------------- tests


@pytest.mark.parametrize("oracle", ORACLES)
@pytest.mark.parametrize("name", SYNTHETIC)
def test_a_synthetic_machine(name: str, oracle: str, tmp_path: Path) -> None:
    compared = compare(oracle, synthetic.write(NAMED[name].model(), tmp_path))
    if not NAMED[name].quirks:
        assert "cores" in compared


@pytest.mark.parametrize("oracle", ORACLES)
@pytest.mark.parametrize("offline", [(), (0,), (3, 4, 9)])
@pytest.mark.parametrize("numbering", ["adjacent", "far"])
def test_packages_dies_caches_and_nodes(
    oracle: str, numbering: str, offline: tuple[int, ...], tmp_path: Path
) -> None:
    shape = Shape(
        packages=2,
        dies=2,
        kinds=(Kind(4, 2),),
        nodes=4,
        cores_per_cache=2,
        numbering=numbering,
        offline=offline,
    )
    compared = compare(oracle, synthetic.write(shape.model(), tmp_path))
    assert {"cores", "nodes"} <= set(compared)
    assert oracle == "lscpu" or "caches" in compared


@pytest.fixture(scope="session")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("captured")


@pytest.mark.parametrize("oracle", ORACLES)
@pytest.mark.parametrize("name", CAPTURED or [None])
def test_a_captured_machine(name: Optional[str], oracle: str, unpacked: Path) -> None:
    if name is None:
        needs.absent("LOWLAT_MACHINES names no captured machines (*.tar.xz)")
    folder = unpacked / name
    if not folder.exists():
        with tarfile.open(MACHINES / f"{name}.tar.xz") as tar:
            tar.extractall(folder)  # noqa: S202
    compare(oracle, folder / "root")
