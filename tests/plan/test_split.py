# SPDX-License-Identifier: GPL-2.0-or-later
"""The choice of CPUs by example, through the command line: refused requests and accepted ones."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Callable

import pytest

from conftest import Tree
from lowlat.host.archive import Archive
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Device, Machine, Node
from lowlat.plan.cpu_request import CpuRequest
from lowlat.plan.housekeeping import default_housekeeping_cores
from lowlat.plan.planner import Options, make_plan
from lowlat.plan.profile import load_packaged
from lowlat.plan.split import split
from lowlat.probe import probe
from support import synthetic
from support.cli import lowlat
from support.machines import write_tree
from support.synthetic import NAMED, Kind, Shape


class PlannedHost:
    """A synthetic machine and the plans for it."""

    def __init__(self, tree: Tree, shape: Shape) -> None:
        self._root = tree(shape)

    def plan(self, *options: object) -> Any:
        return lowlat("plan", "--root", self._root, "--json", *options).json()

    def cpus(self, *options: object) -> tuple[str, str]:
        cpus = self.plan(*options)["cpus"]
        return cpus["isolated"], cpus["housekeeping"]

    def warnings(self, *options: object) -> list[str]:
        found: list[str] = self.plan(*options)["warnings"]
        return found

    def refusal(self, *options: object) -> str:
        return lowlat("plan", "--root", self._root, "--json", *options).refused()


@pytest.fixture
def host(tree: Tree) -> Callable[[Shape], PlannedHost]:
    return lambda shape: PlannedHost(tree, shape)


Hosts = Callable[[Shape], PlannedHost]

SMT = Shape(kinds=(Kind(4, 2),))
TWO_NODES = Shape(packages=2, kinds=(Kind(4, 2),), nodes=2, numbering="far")

# ------------------------------------------------ named sets, and what is refused


def test_sets_of_isolated_cpus_have_names(host: Hosts) -> None:
    plan = host(SMT).plan("--isolate", "feed=2-3,engine=4,5,6-7")
    assert plan["cpus"]["sets"] == {"feed": "2-3", "engine": "4-7"}
    assert plan["cpus"]["isolated"] == "2-7"
    why = {reason["cpus"]: reason["why"] for reason in plan["cpus"]["reasons"]}
    assert why["2-3"].startswith("feed, by --isolate")
    assert "sets" not in host(SMT).plan("--isolate", "2-7")["cpus"]


def test_sets_that_share_a_core_are_told(host: Hosts) -> None:
    (told,) = [w for w in host(SMT).warnings("--isolate", "feed=2,engine=3-5") if "feed" in w]
    assert told == "feed and engine share the core of CPU 2-3: each slows the other"


def test_a_list_of_a_megabyte_is_refused_in_a_short_line(host: Hosts) -> None:
    assert len(host(SMT).refusal("--isolate", "x" * 100_000)) < 500


def test_cpu_0_boots_though_it_is_offline_now(host: Hosts) -> None:
    machine = host(Shape(kinds=(Kind(4),), offline=(0,)))
    assert machine.cpus() == ("1-3", "0")


def test_a_core_a_node_is_refused_and_the_way_out_is_named_and_works(host: Hosts) -> None:
    machine = host(Shape(packages=4, kinds=(Kind(1),), nodes=4))
    said = machine.refusal()
    assert "every core is needed" in said
    assert "--isolate" in said
    assert machine.cpus("--isolate", "2-3") == ("2-3", "0-1")
    (emptied,) = [w for w in machine.warnings("--isolate", "2-3") if "NUMA node" in w]
    assert emptied.startswith("NUMA nodes 2-3 have no housekeeping CPU left")


# ------------------------------------------------------- what is obeyed as asked


@pytest.mark.parametrize(
    ("lists", "isolated"),
    [
        ("4-7", "4-7"),
        ("6,7,2,3", "2-3,6-7"),
        ("4-7:2/4,6-N", "4-7"),
        ("2-3,2-3", "2-3"),
        ("4-N", "4-7"),
        ("02-03", "2-3"),
        (" 2-3 , 6-7 ", "2-3,6-7"),
    ],
)
def test_a_good_list_is_obeyed_in_plain_ranges(host: Hosts, lists: str, isolated: str) -> None:
    assert host(SMT).cpus("--isolate", lists)[0] == isolated


def test_housekeeping_alone_isolates_the_rest(host: Hosts) -> None:
    assert host(SMT).cpus("--housekeeping", "0-3") == ("4-7", "0-3")


def test_both_lists_together_name_every_online_cpu_once(host: Hosts) -> None:
    assert host(SMT).cpus("--isolate", "4-7", "--housekeeping", "0-3") == ("4-7", "0-3")


def test_a_cpu_that_the_line_keeps_off_is_in_neither_list(host: Hosts) -> None:
    shape = NAMED["2s16c2t-2n-offline"]
    plan = host(replace(shape, cmdline=f"{shape.cmdline} nosmt")).plan()
    lists = [CpuSet.parse_list(plan["cpus"][name]) for name in ("isolated", "housekeeping")]
    assert not (lists[0] | lists[1]) & CpuSet.of(range(32, 64))
    assert plan["cpus"]["offline"] == "32-63"
    roles = {r["role"]: r["cpus"] for r in plan["cpus"]["reasons"]}
    assert roles["offline"] == "32-63"


# --------------------------------------------------- what is obeyed with a warning


def test_no_warning_for_what_the_choice_would_be_too(host: Hosts) -> None:
    machine = host(Shape(kinds=(Kind(8),)))
    assert machine.warnings("--isolate", machine.cpus()[0]) == machine.warnings()


def test_emptying_a_node_warns(host: Hosts) -> None:
    warnings = host(TWO_NODES).warnings("--isolate", "4-7,12-15")
    assert any("NUMA node 1 has no housekeeping CPU" in text for text in warnings)


def test_mixing_core_types_warns(host: Hosts) -> None:
    machine = host(NAMED["hybrid-6p8e"])
    (told,) = [text for text in machine.warnings("--isolate", "10-13") if "core types" in text]
    assert "(performance: CPU 10-11; efficiency: CPU 12-13): --isolate 10-11 takes" in told
    for alike in (("--isolate", "10-11"), ("--isolate", "8-11"), ()):
        assert not any("core types" in text for text in machine.warnings(*alike))
    assert any("core types" in text for text in machine.warnings("--keep-efficiency-cores"))


def test_a_core_type_told_by_its_frequency_has_a_unit(host: Hosts) -> None:
    kinds = (Kind(4, value=2400000), Kind(4, value=1704000))
    machine = host(Shape(kinds=kinds, types_by="cpufreq"))
    told = "(maximum frequency 2.4 GHz: CPU 2-3; maximum frequency 1.7 GHz: CPU 4-5)"
    assert any(told in text for text in machine.warnings("--isolate", "2-5"))


def test_splitting_a_cache_warns(host: Hosts) -> None:
    machine = host(Shape(kinds=(Kind(8),), cores_per_cache=4))
    assert any("cache" in text for text in machine.warnings("--isolate", "6-7"))
    assert not any("cache" in text for text in machine.warnings("--isolate", "4-7"))


# -------------------------------------------------------------------- the choice


def test_a_virtual_machine_with_a_core_a_socket_isolates_all_but_the_first(host: Hosts) -> None:
    assert host(NAMED["4c-vm"]).cpus() == ("1-3", "0")


def test_siblings_stay_together_whatever_their_numbers(host: Hosts) -> None:
    assert host(SMT).cpus() == ("2-7", "0-1")
    assert host(Shape(kinds=(Kind(4, 2),), numbering="far")).cpus() == ("1-3,5-7", "0,4")
    assert host(Shape(kinds=(Kind(2, 4),))).cpus() == ("4-7", "0-3")


def test_every_node_keeps_a_core(host: Hosts) -> None:
    assert host(TWO_NODES).cpus() == ("1-3,5-7,9-11,13-15", "0,4,8,12")


def test_a_node_without_cpus_needs_no_core(host: Hosts) -> None:
    assert host(NAMED["2s8c-sparse-nodes"]).cpus() == ("1-7,9-15", "0,8")


@pytest.mark.parametrize(
    ("cores", "kept"), [(2, 1), (16, 1), (17, 2), (64, 2), (65, 3), (96, 3), (97, 4), (128, 4)]
)
def test_the_default_number_of_housekeeping_cores(host: Hosts, cores: int, kept: int) -> None:
    assert default_housekeeping_cores(cores) == kept
    machine = host(Shape(kinds=(Kind(cores, 2),)))
    assert machine.cpus()[1] == str(CpuSet.of(range(2 * kept)))


def test_the_number_of_housekeeping_cores_is_for_each_node(host: Hosts) -> None:
    assert host(TWO_NODES).cpus("--housekeeping-cores", "2") == (
        "2-3,6-7,10-11,14-15",
        "0-1,4-5,8-9,12-13",
    )
    # A number smaller than the default is allowed too.
    assert host(Shape(kinds=(Kind(32),))).cpus("--housekeeping-cores", "1") == ("1-31", "0")


def test_the_least_capable_cores_serve_the_system(host: Hosts) -> None:
    for name in ("hybrid-6p8e", "hybrid-6p8e-cppc"):
        machine = host(NAMED[name])
        assert machine.cpus() == ("2-11", "0-1,12-19")
        # One core of the one node is enough then, and it is CPU 0's core.
        assert machine.cpus("--keep-efficiency-cores") == ("2-19", "0-1")


def test_three_core_types(host: Hosts) -> None:
    machine = host(NAMED["big-little-1-3-4"])
    assert machine.cpus() == ("1-3", "0,4-7")
    reasons = machine.plan()["cpus"]["reasons"]
    assert any("least capable" in reason["why"] for reason in reasons if reason["cpus"] == "4-7")


@pytest.mark.parametrize(
    ("isolate", "short"), [("1-23", "1 of 24 cores stays"), ("2-23", ""), ("3-23", "")]
)
def test_a_list_that_leaves_too_few_cores_is_obeyed_with_a_warning(
    host: Hosts, isolate: str, short: str
) -> None:
    """Of 24 cores the system needs two."""
    machine = host(Shape(kinds=(Kind(24),)))
    told = [one for one in machine.warnings("--isolate", isolate) if "for the system" in one]
    assert [one.partition(" for the system, which needs 2: ")[0] for one in told] == (
        [short] if short else []
    )


def test_where_only_the_least_capable_can_be_isolated_they_are(host: Hosts) -> None:
    # The only performance core boots the system.
    machine = host(Shape(kinds=(Kind(1), Kind(4)), types_by="perf"))
    assert machine.cpus() == ("1-4", "0")


def test_more_housekeeping_cores_stay_in_the_cache_of_the_first(host: Hosts) -> None:
    shape = Shape(kinds=(Kind(32),), cores_per_cache=8)
    assert host(shape).cpus("--housekeeping-cores", "8") == ("8-31", "0-7")


@pytest.mark.parametrize(
    ("cores", "threads", "kept"),
    [(5, 1, "0"), (6, 1, "0-1"), (16, 1, "0-1"), (3, 2, "0-1"), (8, 2, "0-1"), (17, 1, "0-1")],
)
def test_from_six_cpus_on_the_system_has_two_threads(
    host: Hosts, cores: int, threads: int, kept: str
) -> None:
    machine = host(Shape(kinds=(Kind(cores, threads),)))
    assert machine.cpus()[1] == kept
    assert machine.cpus("--housekeeping-cores", "1")[1] == ("0" if threads == 1 else "0-1")


def with_device(root: Path, node: int, code: str = "0x020000", interrupt: str = "25") -> Path:
    """The machine with a device on a node; the device's class is a network card's."""
    folder = "sys/bus/pci/devices/0000:03:00.0"
    files = {f"{folder}/class": code, f"{folder}/numa_node": f"{node}"}
    if interrupt:
        files[f"{folder}/msi_irqs/{interrupt}"] = "msi\n"
    return write_tree(root, files)


@pytest.mark.parametrize(
    ("shape", "device", "kept"),
    [
        (Shape(kinds=(Kind(12),), nodes=2), {}, "0,6-7"),
        (Shape(kinds=(Kind(12),), nodes=2), {"code": "0x010802"}, "0,6-7"),
        (Shape(kinds=(Kind(12),), nodes=2), {"code": "0x030000"}, "0,6"),
        (Shape(kinds=(Kind(12),), nodes=2), {"interrupt": ""}, "0,6"),
        # One core has two threads; two cores would be more than half of the node.
        (Shape(kinds=(Kind(12, 2),), nodes=2), {}, "0-1,12-13"),
        (Shape(kinds=(Kind(6),), nodes=2), {}, "0,3"),
    ],
)
def test_a_node_with_busy_devices_keeps_two_threads(
    tmp_path: Path, shape: Shape, device: dict[str, str], kept: str
) -> None:
    root = with_device(synthetic.write(shape.model(), tmp_path), 1, **device)
    cpus = lowlat("plan", "--root", root, "--json").json()["cpus"]
    assert cpus["housekeeping"] == kept
    whys = [reason["why"] for reason in cpus["reasons"]]
    assert any("such as those of 0000:03:00.0" in why for why in whys) is (kept == "0,6-7")


def test_the_system_gets_whole_caches_where_that_costs_an_eighth_at_most(host: Hosts) -> None:
    # Two housekeeping cores of 64: their caches, shared by four cores each, cost two more.
    cpus = host(Shape(kinds=(Kind(64),), cores_per_cache=4)).plan()["cpus"]
    assert cpus["housekeeping"] == "0-3"
    assert any("shares an L3 cache" in reason["why"] for reason in cpus["reasons"])
    # A cache of 16 cores would cost 14: the plan then names the sharing CPUs and isolates them
    # last.
    cpus = host(Shape(kinds=(Kind(64),), cores_per_cache=16)).plan()["cpus"]
    assert cpus["housekeeping"] == "0-1"
    shared = [r["cpus"] for r in cpus["reasons"] if "uses them last" in r["why"]]
    assert shared == ["2-15"]
    assert cpus["preferred"] == [*range(16, 64), *range(2, 16)]
    # If all CPUs share one cache, no CPU is better off, and that is said.
    whole = host(Shape(kinds=(Kind(64),))).plan()["cpus"]
    (why,) = [reason["why"] for reason in whole["reasons"] if reason["role"] == "isolated"]
    assert why.endswith("every isolated CPU shares an L3 cache with the system")


def test_whole_caches_cost_no_node_more_than_half(host: Hosts) -> None:
    machine = host(Shape(kinds=(Kind(32),), nodes=16, cores_per_cache=2))
    spread = ",".join(str(cpu) for cpu in range(0, 32, 2))
    assert machine.cpus("--housekeeping-per", "node")[1] == spread
    assert machine.cpus()[1] == "0-1"


def test_caches_of_single_cores_are_no_reason_to_take_nodes_together(host: Hosts) -> None:
    """With private caches alone, as on Ampere Altra, a core of the system soils one either way."""
    machine = host(Shape(kinds=(Kind(16),), nodes=2, cores_per_cache=1))
    plan = machine.plan()
    assert plan["cpus"]["housekeeping"] == "0,8"
    assert "clean" not in str(plan["cpus"]["reasons"])
    together = machine.plan("--housekeeping-per", "package")
    assert "clean" not in str(together["cpus"]["reasons"])


def test_nodes_that_share_all_cpus_are_not_told_of(tmp_path: Path) -> None:
    """Raspberry Pi 5 boots with numa=fake=8."""
    root = synthetic.write(Shape(kinds=(Kind(4),)).model(), tmp_path)
    node = "sys/devices/system/node/node"
    write_tree(root, {f"{node}{number}/cpulist": "0-3\n" for number in range(8)})
    plan = lowlat("plan", "--root", root, "--json").json()
    assert plan["cpus"]["isolated"] == "1-3"
    assert "near" not in str(plan["cpus"]["reasons"])


def test_equal_capacities_tell_nothing(tmp_path: Path) -> None:
    kinds = (Kind(4, value=4400000), Kind(4, value=3600000))
    root = synthetic.write(Shape(kinds=kinds, types_by="cpufreq", arch="aarch64").model(), tmp_path)
    flat = {f"sys/devices/system/cpu/cpu{cpu}/cpu_capacity": "1024\n" for cpu in range(8)}
    write_tree(root, flat)
    plan = lowlat("plan", "--root", root, "--json").json()
    assert plan["cpus"]["isolated"] == "1-3"
    assert "maximum frequency 4.4 GHz first" in str(plan["cpus"]["reasons"])


def test_caches_of_different_size_are_told(tmp_path: Path) -> None:
    shape = Shape(kinds=(Kind(8),), cores_per_cache=4)
    root = synthetic.write(shape.model(), tmp_path)
    for size in root.glob("sys/devices/system/cpu/cpu[0-3]/cache/index*/size"):
        size.write_text("98304K\n")
    warnings = lowlat("plan", "--root", root, "--json").json()["warnings"]
    sizes = "(96 MiB: CPU 2-3; 32 MiB: CPU 4-7): --isolate 4-7 takes"
    assert any(sizes in text for text in warnings)
    alike = lowlat("plan", "--root", root, "--json", "--isolate", "4-7").json()["warnings"]
    assert not any("differ in size" in text for text in alike)


def test_threads_get_whole_cores_first_and_the_strongest_of_them(host: Hosts) -> None:
    hybrid = host(NAMED["hybrid-6p8e"])
    assert hybrid.plan()["cpus"]["preferred"] == [2, 4, 6, 8, 10, 3, 5, 7, 9, 11]
    mixed = hybrid.plan("--keep-efficiency-cores")["cpus"]["preferred"]
    assert mixed == [2, 4, 6, 8, 10, *range(12, 20), 3, 5, 7, 9, 11]
    three = host(
        Shape(kinds=(Kind(2), Kind(2, value=855), Kind(4, value=300)), types_by="capacity")
    )
    assert three.plan("--isolate", "2-3,1")["cpus"]["preferred"] == [1, 2, 3]


def test_unknown_siblings_are_warned_of(host: Hosts) -> None:
    unknown = [text for text in host(NAMED["4c-no-topology"]).warnings() if "siblings" in text]
    assert unknown and "from within its core" in unknown[0]
    assert not any("siblings" in text for text in host(NAMED["4c-vm"]).warnings())


def test_how_much_the_least_capable_cores_take_is_said(host: Hosts) -> None:
    whys = [r["why"] for r in host(NAMED["hybrid-6p8e"]).plan()["cpus"]["reasons"]]
    assert any("8 of 14 cores; --keep-efficiency-cores leaves them" in why for why in whys)


def test_a_reason_names_facts(host: Hosts) -> None:
    reasons = {r["cpus"]: r for r in host(SMT).plan()["cpus"]["reasons"]}
    assert "boots the system" in reasons["0"]["why"]
    assert "same core as CPU 0" in reasons["1"]["why"]
    assert reasons["2-7"]["role"] == "isolated"


def test_an_isolated_machine_is_planned_like_any_other(host: Hosts) -> None:
    machine = host(NAMED["8c-isolated"])
    assert machine.cpus() == ("2-7", "0-1")
    assert any("isolcpus=2-7" in text for text in machine.warnings())


def test_the_same_plan_twice_is_the_same_text(tree: Tree) -> None:
    root = tree(NAMED["2s16c2t-far"])
    first, again = (lowlat("plan", "--root", root, "--json") for _ in range(2))
    assert first == again


def network_device(node: Node) -> Device:
    """A busy device on this node."""
    return Device(f"{node.id}", "network", (f"e{node.id}",), None, node.id, node.cpus, (node.id,))


@pytest.mark.security
@pytest.mark.parametrize("shape", ["flat", "nodes", "types", "packages", "devices"])
def test_planning_costs_time_linear_in_the_cpus(shape: str) -> None:
    def made(cpus: int) -> Machine:
        shapes = {
            "flat": Shape(kinds=(Kind(cpus),)),
            "nodes": Shape(nodes=cpus // 4, kinds=(Kind(cpus),), cores_per_cache=2),
            "types": Shape(kinds=(Kind(cpus // 2), Kind(cpus // 2, value=4)), types_by="capacity"),
            "packages": Shape(packages=cpus // 8, kinds=(Kind(8),), nodes=cpus // 4),
            "devices": Shape(nodes=cpus // 4, packages=cpus // 4, kinds=(Kind(4),)),
        }
        machine = shapes[shape].model().machine()
        if shape == "devices":
            machine = replace(machine, devices=tuple(map(network_device, machine.nodes)))
        return machine

    small, large = (calls(partial(split, made(cpus), CpuRequest())) for cpus in (512, 1024))
    assert large < 3 * small


@pytest.mark.security
def test_reading_and_planning_a_machine_cost_time_linear_in_the_cpus() -> None:
    def planned(cpus: int) -> None:
        machine = probe(Archive("synthetic", synthetic.contents(synthetic.grown(cpus).model())))
        make_plan(machine, machine.kernel, load_packaged("lowlat"), Options()).text()

    planned(64)  # the first plan imports and compiles
    small, large = (calls(partial(planned, cpus)) for cpus in (128, 256))
    assert large < 3 * small


def calls(work: Callable[[], object]) -> int:
    """How many calls the work takes."""
    count, before = [0], sys.getprofile()
    sys.setprofile(lambda *_: count.__setitem__(0, count[0] + 1))
    try:
        work()
    finally:
        sys.setprofile(before)
    return count[0]
