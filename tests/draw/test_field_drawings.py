# SPDX-License-Identifier: GPL-2.0-or-later
"""What people see of every captured machine: its drawings, its plan and its facts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest

from lowlat.base.amounts import readable
from lowlat.draw.layout import arrange
from lowlat.draw.picture import MachinePart, Picture
from lowlat.draw.svg import svg
from lowlat.draw.text import draw
from lowlat.host.archive import open_root
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Machine
from lowlat.probe import probe
from support.cli import lowlat

FOLDER = Path(__file__).parents[1] / "machines"
CAPTURES = sorted(
    path.relative_to(FOLDER).as_posix()
    for path in (*FOLDER.glob("*.txt"), *FOLDER.glob("field/*.gz"))
    if ".refused" not in path.name
)

_SPACE = "{http://www.w3.org/2000/svg}"
_COLUMNS = 100


@cache
def machine_of(name: str) -> Machine:
    return probe(open_root(str(FOLDER / name)))


@cache
def said(verb: str, name: str, *options: object) -> str:
    return lowlat(verb, "--root", FOLDER / name, *options, env={"COLUMNS": str(_COLUMNS)}).out


def pictures(machine: Machine) -> Iterator[Picture]:
    rest = machine.cpus.online - machine.core_of(machine.cpus.boot).cpus
    for roomy in (False, True):
        yield arrange(machine, roomy=roomy)
        yield arrange(machine, rest, roomy=roomy)


# -------------------------------------------------------------------- drawings


@dataclass
class Drawn:
    """The caches that a picture names: how often each of these titles stands in it."""

    caches: Counter[str] = field(default_factory=Counter)

    def add(self, part: MachinePart, times: int = 1) -> None:
        times *= part.times
        for title in part.title.split(", "):
            if title.endswith(" a core"):
                cores = sum(len(row) for row in part.rows())
                self.caches[title.removesuffix(" a core")] += times * cores
            elif re.match(r"L\d", title):
                self.caches[title.partition(" of nodes")[0]] += times
        for inner in part.parts:
            self.add(inner, times)


def caches_of(machine: Machine) -> Counter[str]:
    """The last-level caches, and all others that several cores share."""
    data = [cache for cache in machine.caches if cache.kind != "instruction"]
    last = {cpu: cache for cache in data for cpu in cache.cpus}
    return Counter(
        f"L{cache.level} {readable(cache.size)}".strip()
        for cache in data
        if last[cache.cpus.first] is cache
        or not cache.cpus <= machine.core_of(cache.cpus.first).cpus
    )


@pytest.mark.parametrize("name", CAPTURES)
def test_each_cache_stands_once(name: str) -> None:
    machine = machine_of(name)
    for picture in pictures(machine):
        drawn = Drawn()
        for package in picture.packages:
            drawn.add(package)
        for line in picture.shared:
            drawn.caches.update(re.findall(r"L\d(?: [\d.]+ [KMG]iB)?", line))
        assert drawn.caches == caches_of(machine)


def _look(part: MachinePart) -> object:
    cells = tuple((len(cell.cpus), cell.role) for cell in part.cells)
    kinds = tuple(sorted(map(str, map(_look, part.parts))))
    return (re.sub(r"\d+$", "", part.title), cells, kinds, part.devices)


@pytest.mark.parametrize("name", CAPTURES)
def test_like_parts_are_folded_alike_in_every_package(name: str) -> None:
    for picture in pictures(machine_of(name)):
        level = [picture.packages]
        while any(level):
            most = max(part.times for parts in level for part in parts)
            for parts in level:
                looks = [_look(part) for part in parts]
                assert most == 1 or len(set(map(str, looks))) == len(parts)
            level = [part.parts for parts in level for part in parts]


@pytest.mark.parametrize("name", CAPTURES)
def test_the_legend_is_true_of_the_tiles(name: str) -> None:
    for picture in pictures(machine_of(name)):
        root = ElementTree.fromstring(svg(picture))  # noqa: S314  # our own text
        cores = [
            group
            for group in root.iter(f"{_SPACE}g")
            if (title := group.find(f"{_SPACE}title")) is not None and "Core of" in str(title.text)
        ]
        numbered = {group.find(f"{_SPACE}text") is not None for group in cores}
        words = " ".join(root.itertext())
        assert ("with the numbers of its hardware threads" in words) == (True in numbered)
        assert ("a small tile is a core" in words) == (False in numbered)
        lines = "\n".join(draw(picture))
        if not picture.roles:
            counted = re.search(r"\] \d+ cores?\b", lines) is not None
            assert ("of the cores that the line counts" in lines) == counted


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("xeon-max-snc4-hbm", "Package 1, L3 112.5 MiB"),
        ("xeon-max-snc4-hbm", "Without online CPUs: NUMA node 8-15 (16 GiB of HBM each)"),
        ("rk3588", "NUMA node 0 and L3 3 MiB: shared by all packages"),
        ("gh200", "Without online CPUs: NUMA node 1 (93.5 GiB)"),
        ("tr-3960x-nps4", "NUMA node 3, no memory"),
        ("altra-2s160", "L2 1 MiB a core"),
        ("n305", "L3 6 MiB  L2 2 MiB  [0] [1] [2] [3]"),
        ("sierra-forest-288", "and 35 more clusters like it: CPU 4-143"),
        ("strix-hx370", "maximum frequency 5.16 GHz"),
        ("gh200", "ARM Neoverse-V2"),
        ("gb10", "ARM Cortex-A725 + Cortex-X925"),
        ("rk3588", "ARM Cortex-A55 + Cortex-A76"),
        ("altra-2s160", "ARM Neoverse-N1"),
        ("power8-lpar-smt4", "POWER8 (architected)"),
        ("power9-gpu", "Memory:          node 252-255: 15.8 GiB each"),
    ],
)
def test_a_machine_is_shown_as_it_is(name: str, told: str) -> None:
    assert told in said("probe", f"field/{name}.txt.gz")


def test_one_part_more_is_no_parts() -> None:
    told = said("plan", "field/sierra-forest-288.txt.gz")
    assert "and 1 more cluster like it, with 4 housekeeping: CPU 4-7\n" in told


# ----------------------------------------------------------------------- words


@pytest.mark.parametrize("name", CAPTURES)
def test_amounts_processors_and_memory_are_told_for_people(name: str) -> None:
    machine = machine_of(name)
    facts = said("probe", name)
    assert "unknown" not in facts
    for text in (facts, said("plan", name)):
        assert not re.search(r"(?<![\w-])\d{4,} ?(K|KiB|kHz|MHz|MiB)\b", text)
    listed = re.findall(r"^Memory: +node (\S+):", facts, re.MULTILINE)
    told = CpuSet.of(node for part in listed for node in CpuSet.parse_list(part))
    assert told == CpuSet.of(node.id for node in machine.nodes if node.memory_kib is not None)


@pytest.mark.parametrize("name", CAPTURES)
def test_no_line_of_a_plan_is_longer_than_the_screen_but_the_boot_line(name: str) -> None:
    # The warnings before the drawing may have a list to copy.
    for line in said("plan", name, "--all").partition("\n\n")[2].splitlines():
        assert len(line) <= _COLUMNS or line.startswith("  isolcpus="), line


@pytest.mark.parametrize("name", CAPTURES)
def test_no_line_of_a_brief_plan_repeats_the_list_of_another(name: str) -> None:
    lines = said("plan", name, "--brief").splitlines()
    lists = [set(re.findall(r"\b\d+(?:[,-]\d+)+\b", line)) for line in lines]
    found = Counter(text for line, listed in zip(lines, lists) for text in listed if len(text) > 40)
    assert not [text for text, times in found.items() if times > 1]


@pytest.mark.parametrize("name", CAPTURES)
def test_isolated_cpus_without_memory_of_their_own_are_named(name: str) -> None:
    text = said("plan", name)
    bare = [node for node in machine_of(name).nodes if node.memory_kib == 0]
    found = re.findall(
        r"no memory: that of isolated CPU (\S+) comes from node \d", " ".join(text.split())
    )
    warned = CpuSet.of(cpu for cpus in found for cpu in CpuSet.parse_list(cpus))
    isolated = re.search(r"^  isolcpus=managed_irq,domain,(\S+)", text, re.MULTILINE)
    without = CpuSet.of(cpu for node in bare for cpu in node.cpus)
    assert warned == without & CpuSet.parse_list(isolated[1] if isolated else "")
