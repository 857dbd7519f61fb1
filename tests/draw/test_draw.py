# SPDX-License-Identifier: GPL-2.0-or-later
"""The drawing shows every CPU, is readable on every machine, and is a well-formed document."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import Tree
from lowlat.draw.layout import arrange
from lowlat.draw.svg import svg
from lowlat.draw.text import draw, shorten
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Device, Machine, Processor
from lowlat.plan.cpu_request import CpuRequest
from lowlat.plan.split import split
from support import synthetic
from support.cli import lowlat

Kind, Shape = synthetic.Kind, synthetic.Shape

DRAWN = {name: shape for name, shape in synthetic.NAMED.items() if shape.model().online}


def machine_of(name: str) -> Machine:
    return DRAWN[name].model().machine()


def drawn(machine: Machine, isolated: str = "", *, colour: bool = False) -> str:
    cpus = CpuSet.parse_list(isolated) if isolated else None
    return "\n".join(draw(arrange(machine, cpus), colour=colour))


def named_in(text: str) -> CpuSet:
    """The CPUs that brackets and lists of a drawing name."""
    found = CpuSet()
    for part in re.findall(r"[\[(]([\d ,-]+)[\])]|CPU ([\d,-]+)", text):
        for word in " ".join(part).split():
            found |= CpuSet.parse_list(word)
    return found


@pytest.mark.parametrize("name", DRAWN)
def test_every_online_cpu_is_drawn_or_counted(name: str) -> None:
    machine = machine_of(name)
    text = drawn(machine)
    offline = re.search(r"Offline: CPU (\S+)", text)
    assert named_in(text) - CpuSet.parse_list(offline[1] if offline else "") == machine.cpus.online


@pytest.mark.parametrize("name", DRAWN)
def test_a_drawing_fits_a_terminal(name: str) -> None:
    machine = machine_of(name)
    lines = drawn(machine).split("\n")
    assert max(map(len, lines)) <= 100
    assert len(lines) < 60


def test_a_machine_with_roles_is_drawn_as_expected() -> None:
    machine = Shape(packages=2, nodes=2, kinds=(Kind(4, 2),), offline=(15,)).model().machine()
    device = Device("0000:3b:00.0", "network", ("eth0",), "mlx5_core", 1, None, (40, 41))
    assert drawn(replace(machine, devices=(device,)), "2-7,10-14").split("\n") == [
        "Package 0",
        "  NUMA node 0",
        "    L3 32 MiB  (0 1) [2 3] [4 5] [6 7]",
        "Package 1",
        "  NUMA node 1",
        "    L3 32 MiB  (8 9) [10 11] [12 13] [14]",
        "    network  eth0  0000:3b:00.0  mlx5_core  2 interrupts",
        "Offline: CPU 15",
        "[ ] an isolated core   ( ) a housekeeping core",
    ]


def test_the_legend_names_what_is_drawn() -> None:
    machine = Shape(kinds=(Kind(4, 2),)).model().machine()
    assert [*draw(arrange(machine, CpuSet()))][-1] == "( ) a housekeeping core"


def test_equal_packages_are_drawn_once() -> None:
    machine = synthetic.grown(4096).model().machine()
    isolated = str(split(machine, CpuRequest())[0].isolated)
    lines = drawn(machine, isolated).split("\n")
    assert len(lines) < 10
    assert "15 more packages like it" in "\n".join(lines)


def test_types_stand_in_rows_of_their_own() -> None:
    shape = Shape(kinds=(Kind(2, 2, 1024), Kind(4, 1, 400)), types_by="perf")
    text = drawn(shape.model().machine())
    assert re.search(r"kind 0  \[0 1\] \[2 3\]\n +kind 1 +\[4\] \[5\] \[6\] \[7\]", text)


def test_tiles_without_numbers_have_them_below() -> None:
    machine = Shape(kinds=(Kind(192),)).model().machine()
    text = svg(arrange(machine, CpuSet.parse_list("6-191")))
    assert "CPU 6-191: isolated, 186 cores" in text
    assert "the numbers stand under the tiles" in text
    assert "with the numbers of its hardware threads" not in text


def test_caches_of_dies_and_nodes_stand_around_them() -> None:
    shape = Shape(packages=2, dies=2, nodes=4, kinds=(Kind(2),), cores_per_cache=4)
    lines = drawn(shape.model().machine()).split("\n")
    assert lines[:5] == [
        "Package 0, L3 32 MiB",
        "  NUMA node 0",
        "    [0] [1]",
        "  NUMA node 1",
        "    [2] [3]",
    ]


def test_colour_adds_nothing_but_colour() -> None:
    machine = Shape().model().machine()
    painted = drawn(machine, "1-3", colour=True)
    assert "\033[32m[1]\033[0m" in painted
    assert re.sub(r"\033\[\d+m", "", painted) == drawn(machine, "1-3")


def test_what_a_machine_says_cannot_drive_the_terminal() -> None:
    machine = Shape().model().machine()
    device = Device("0000:00:01.0", "network", ("\033[2Jeth0",), model="a\nb")
    assert "\033" not in drawn(replace(machine, devices=(device,)))
    assert "a?b" in drawn(replace(machine, devices=(device,)))


@given(st.frozensets(st.integers(0, 9999), min_size=1, max_size=300), st.integers(40, 80))
def test_a_shortened_list_is_short_and_begins_and_ends_alike(
    ids: frozenset[int], limit: int
) -> None:
    text, whole = shorten(CpuSet(ids), limit), str(CpuSet(ids))
    assert len(text) <= limit
    assert text == whole or f"({len(ids)} CPUs)" in text
    assert whole.startswith(text.partition(",…")[0])


@pytest.mark.parametrize("name", DRAWN)
def test_the_document_is_well_formed_and_tells_what_it_shows(name: str) -> None:
    machine = replace(machine_of(name), processor=Processor(model='<Chip> & "co"\x00'))
    isolated = machine.cpus.online - CpuSet.of([machine.cpus.boot])
    text = svg(arrange(machine, isolated))
    root = ElementTree.fromstring(text)  # noqa: S314  # our own text
    space = "{http://www.w3.org/2000/svg}"
    assert root.get("role") == "img"
    title, description = root.find(f"{space}title"), root.find(f"{space}desc")
    assert title is not None and "<Chip> &" in (title.text or "")
    assert description is not None and description.text
    assert float(root.get("width", "0")) <= 1000
    assert len(text) < 200_000


@pytest.mark.parametrize("verb", ["probe", "plan"])
def test_both_verbs_draw(verb: str, tree: Tree, tmp_path: Path) -> None:
    root, out = tree(Shape()), tmp_path / "drawing.svg"
    answer = lowlat(verb, "--root", root, "--svg", out)
    assert "L3 32 MiB" in answer.out
    assert out.read_text().startswith("<svg ")
    assert lowlat(verb, "--root", root, "--json", "--svg", out).json()
    assert "--svg /nowhere/x" in lowlat(verb, "--root", root, "--svg", "/nowhere/x").refused()


def test_a_device_may_decide_where(tree: Tree) -> None:
    root = tree(Shape(packages=2, nodes=2))
    folder = root / "sys/bus/pci/devices/0000:3b:00.0"
    (folder / "net/eth7").mkdir(parents=True)
    (folder / "class").write_text("0x020000\n")
    (folder / "numa_node").write_text("1\n")
    plan = lowlat("plan", "--root", root, "--json", "--for-device", "eth7").json()
    assert plan["cpus"]["isolated"] == "5-7"
    refusal = lowlat("plan", "--root", root, "--for-device", "eth8").refused()
    assert "there are: eth7" in refusal
    (folder / "numa_node").write_text("-1\n")
    plan = lowlat("plan", "--root", root, "--json", "--for-device", "3b:00.0").json()
    assert any("does not say where it is" in warning for warning in plan["warnings"])
    assert plan["cpus"]["isolated"] == "1-3,5-7"
