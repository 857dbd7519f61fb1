# SPDX-License-Identifier: GPL-2.0-or-later
"""Machines that people posted, in tests/machines/field: what is right on each, with its source; and
what holds on all of them and on every other capture."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from test_split_properties import check

from lowlat.host.archive import open_root
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Machine, Node
from lowlat.model.plan import PlannedCpus
from lowlat.plan.cpu_request import CpuRequest
from lowlat.plan.split import split
from lowlat.probe import probe
from support.cli import lowlat
from support.machines import machine as four_cpus
from support.machines import write_tree

FOLDER = Path(__file__).parents[1] / "machines"
FIELD = FOLDER / "field"

#: The CPUs of the system. Where the source does not say, the reason.
RIGHT = {
    "altra-2s160": "0-2,80-82",  # vllm-project/vllm#39191
    "arrow-255h": "0,6-15",  # as meteor-155h: low-power and E cores serve the system
    "cloud-224": "0-3,112-115",  # google/go-tpm-tools#846
    "epyc-8434p-8n": "0-5,48-53",  # one L3; sustainable-computing-io/kepler#1288
    "epyc-9375f-2s": "0-3,32-35",  # egandro/proxmox-cpu-affinity#58
    "gb10": "0-4,10-14",  # carstenbauer/ThreadPinning.jl#109
    "gh200": "0-2",  # bytedance/xpu-perf#129
    "gold-6242-htoff": "0-1",  # nviennot/core-to-core-latency#117
    "meteor-155h": "0-9,20-21",  # nviennot/core-to-core-latency#142, anrieff/libcpuid#196
    "n305": "0-1",  # and 4-7 first, below
    "power9-gpu": "0-7,64-71",  # autotest/tp-qemu#1794
    "raptor-14600k": "0-1,12-19",  # SimonvBez/CPUSetSetter#3
    "rk3588": "0-3",  # warpme/miniarch#72
    "ryzen-7950x3d": "0,16",  # CachyOS/CachyOS-Settings#86: its ranking is no core type
    "sierra-forest-288": "0-7,144-151",  # whole modules of four cores
    "snowridge-24": "0-3",  # one module
    "strix-hx370": "0,4-12,16-23",  # sched-ext/scx#1994
    "vmware-16s1c": "0-1",  # two threads
    # Each node keeps a core: both L3 caches are used either way.
    "xeon-max-snc4-hbm": "0,12,24,36,48,60,72,84,96,108,120,132,144,156,168,180",
}

#: Which of these CPUs are right depends on the CPUs that come back at the next boot.
_HALF_SEEN = ("epyc-7502p", "e5-2660", "power8", "lxcfs")

CAPTURES = {
    path.name.partition(".")[0]: path
    for folder, names in ((FOLDER, "*.txt"), (FIELD, "*.txt.gz"))
    for path in sorted(folder.glob(names))
    if ".refused" not in path.name and not path.name.startswith((*_HALF_SEEN, "qemu-x86-1s1c"))
}

HYBRID = ("meteor-155h", "raptor-14600k")

#: A warning of unlike CPUs: the CPUs that differ, and the list that answers it.
UNLIKE = re.compile(r"(?:core types|in size) \((.*)\): --isolate (\S+) takes CPUs that are alike")

DEFAULT = CpuRequest()
KEPT = CpuRequest(keep_efficiency_cores=True)


@cache
def machine(name: str) -> Machine:
    return probe(open_root(str(CAPTURES[name])))


@cache
def planned(name: str, request: CpuRequest = DEFAULT) -> tuple[PlannedCpus, tuple[str, ...]]:
    return split(machine(name), request)


def first_threads(found: Machine, cpus: PlannedCpus) -> list[int]:
    """One CPU of each isolated core, in the order of use."""
    return [*(cpus.preferred or ())][: sum(c.cpus <= cpus.isolated for c in found.cores)]


def isolated_whys(cpus: PlannedCpus) -> dict[CpuSet, str]:
    return {one.cpus: one.why for one in cpus.reasons if one.role == "isolated"}


def shared_caches(found: Machine) -> Iterator[tuple[int, CpuSet]]:
    """The level and the CPUs of each cache of several cores."""
    for one in found.caches:
        cores = {found.core_of(cpu).cpus.first for cpu in one.cpus}
        if one.kind != "instruction" and len(cores) > 1:
            yield one.level, one.cpus


@pytest.mark.parametrize("name", RIGHT)
def test_the_system_gets_the_right_cpus(name: str) -> None:
    cpus = lowlat("plan", "--root", CAPTURES[name], "--json").json()["cpus"]
    assert cpus["housekeeping"] == RIGHT[name]


@pytest.mark.parametrize("name", CAPTURES)
def test_no_rule_is_broken(name: str) -> None:
    """Among them: siblings stay together, and nodes without CPUs are ignored."""
    check(machine(name), DEFAULT, planned(name)[0])


@pytest.mark.parametrize("name", CAPTURES)
def test_a_better_core_stands_before_a_lesser_one(name: str) -> None:
    found = machine(name)
    rank = {cpu: place for place, kind in enumerate(found.core_types) for cpu in kind.cpus}
    third = CpuSet.of(cpu for one in found.caches if one.level == 3 for cpu in one.cpus)
    for request in (DEFAULT, KEPT):
        cpus, _ = planned(name, request)
        keys = [(rank.get(cpu, 0), cpu not in third) for cpu in first_threads(found, cpus)]
        assert keys == sorted(keys)


@pytest.mark.parametrize("name", CAPTURES)
def test_a_shared_cache_is_cut_once_and_used_last(name: str) -> None:
    found, (cpus, _) = machine(name), planned(name)
    whys = isolated_whys(cpus)
    whole = CpuSet.of(c for k in found.core_types if k.cpus <= cpus.housekeeping for c in k.cpus)
    chosen = cpus.housekeeping - whole
    for level in {number for number, _ in shared_caches(found)}:
        groups = [shared for number, shared in shared_caches(found) if number == level]
        cut = [shared for shared in groups if shared & chosen and shared & cpus.isolated]
        for node in [node for node in found.nodes if node.cpus] or [Node(0, found.cpus.online)]:
            assert sum(bool(shared & chosen & node.cpus) for shared in cut) <= 1
        mixed = CpuSet.of(c for one in groups if one & cpus.housekeeping for c in one)
        rest = mixed & cpus.isolated
        order = first_threads(found, cpus)
        if rest and rest != cpus.isolated and len(found.core_types) < 2:
            assert {*order[-len([cpu for cpu in order if cpu in rest]) :]} <= rest.ids
        # The innermost level is named.
        told = re.compile(rf"an L[1-{level}] cache with the system")
        assert all(told.search(why) for whose, why in whys.items() if whose <= rest)


@pytest.mark.parametrize("name", CAPTURES)
def test_a_plan_without_a_clean_cache_says_so(name: str) -> None:
    found, (cpus, _) = machine(name), planned(name)
    shared = CpuSet.of(
        cpu for _, one in shared_caches(found) if one & cpus.housekeeping for cpu in one
    )
    told = any("every isolated CPU shares" in why for why in isolated_whys(cpus).values())
    assert told == (cpus.isolated <= shared)


@pytest.mark.parametrize("name", CAPTURES)
def test_many_small_nodes_cost_what_one_would_or_the_plan_says_why(name: str) -> None:
    found, (cpus, _) = machine(name), planned(name)
    packages: dict[object, set[int]] = {}
    for core in found.cores:
        packages.setdefault(core.package, set()).update(core.cpus)
    whys = " ".join(isolated_whys(cpus).values())
    small = sum(bool(node.cpus) for node in found.nodes) > len(packages)
    assert ("--housekeeping-per" in whys) == small
    if not small or "each node keeps a core near its memory" in whys:
        return
    nodes = tuple(Node(n, CpuSet.of(ids)) for n, ids in enumerate(packages.values()))
    cores = tuple(replace(core, nodes=()) for core in found.cores)
    alone, _ = split(replace(found, nodes=nodes, cores=cores), DEFAULT)
    cache = max(len(one) for _, one in shared_caches(found))
    assert len(cpus.housekeeping) <= len(alone.housekeeping) + cache
    assert not any(
        one & cpus.housekeeping and one & cpus.isolated for _, one in shared_caches(found)
    )


@pytest.mark.parametrize("name", CAPTURES)
def test_a_warning_of_unlike_cpus_names_them_and_its_answer(name: str) -> None:
    for request in (DEFAULT, KEPT):
        cpus, warnings = planned(name, request)
        found = [told for told in map(UNLIKE.search, warnings) if told]
        assert len(found) == sum("core types" in text or "in size" in text for text in warnings)
        for told in found:
            parts = [CpuSet.parse_list(part) for part in re.findall(r": CPU ([0-9,-]+)", told[1])]
            assert len(parts) > 1 and all(part and part <= cpus.isolated for part in parts)
            alike, after = split(machine(name), CpuRequest(isolate=told[2]))
            assert any(alike.isolated <= part for part in parts)
            assert not any(UNLIKE.search(text) for text in after)


def test_cpus_that_are_alike_need_no_warning() -> None:
    assert not any("size" in text for text in planned("strix-hx370")[1])
    (told,) = [text for text in planned("ryzen-7950x3d")[1] if "size" in text]
    assert "(96 MiB: CPU 1-7,17-23; 32 MiB: CPU 8-15,24-31): --isolate 8-15,24-31 takes" in told
    assert told.endswith("the system, which then has 8 of 16 cores, more than it gets unasked")


def test_low_power_cores_serve_the_system_or_come_last() -> None:
    for name in ("meteor-155h", "arrow-255h"):
        low = machine(name).core_types[-1].cpus
        cpus, _ = planned(name, KEPT)
        last = first_threads(machine(name), cpus)[-len(low) :]
        assert low <= cpus.housekeeping or low.ids == {*last}


@pytest.mark.parametrize("name", ["meteor-155h", "arrow-255h", "raptor-14600k"])
def test_the_names_of_perf_units_do_not_matter(name: str, tmp_path: Path) -> None:
    first, *_, last = machine(name).core_types
    text = gzip.decompress(CAPTURES[name].read_bytes()).decode()
    others = re.sub(r"f /sys/devices/cpu_(atom|lowpower)/cpus .*\n", "", text)
    for low in (CpuSet(), last.cpus):
        capture = tmp_path / f"{len(low)}.txt"
        units = {"cpu_atom": machine(name).cpus.online - first.cpus - low, "cpu_lowpower": low}
        lines = (f"f /sys/devices/{unit}/cpus {cpus}\n" for unit, cpus in units.items() if cpus)
        capture.write_text(others + "".join(lines))
        cpus = lowlat("plan", "--root", capture, "--json").json()["cpus"]
        assert cpus["housekeeping"] == RIGHT[name]


def test_the_rest_of_a_module_comes_last() -> None:
    assert planned("n305")[0].preferred == (4, 5, 6, 7, 2, 3)


def test_near_a_device_means_near_nodes_where_one_is_small() -> None:
    cpus, _ = planned("epyc-7742-32n-off255", CpuRequest(for_device="ens3f0"))
    package = CpuSet.parse_list("64-127,192-254")
    assert cpus.isolated <= package and 2 * len(cpus.isolated) > len(package)
    (preferred, why) = cpus.preferred, " ".join(isolated_whys(cpus).values())
    assert preferred is not None and preferred[:4] == (96, 97, 98, 99)
    assert "cores of NUMA nodes 16-31" in why and "node 24 alone has 4 cores" in why
    assert planned("cloud-224", CpuRequest(for_device="eth1"))[0].isolated <= CpuSet.parse_list(
        "112-223"
    )


@pytest.mark.parametrize("name", ["qemu-x86-4s1c", "n305", "gold-6242-htoff", *HYBRID])
def test_a_desktop_keeps_every_core_and_may_give_up_one(name: str) -> None:
    for profile in ("lowlat-desktop", "lowlat-audio"):
        plan = lowlat("plan", "--root", CAPTURES[name], "--json", "--profile", profile).json()
        assert plan["cpus"]["housekeeping"] == str(machine(name).cpus.online)
    cpus = lowlat("plan", "--root", CAPTURES[name], "--json", "--isolate-cores", "1").json()["cpus"]
    (best, *_) = planned(name)[0].preferred or ()
    assert cpus["isolated"] == str(machine(name).core_of(best).cpus)


def test_cpus_without_memory_come_last_and_one_node_is_filled_first() -> None:
    name = "tr-3960x-nps4"  # nodes 0 and 3 have no memory; numactl/numactl#165
    bare = CpuSet.of(c for n in machine(name).nodes if n.memory_kib == 0 for c in n.cpus)
    order = first_threads(machine(name), planned(name)[0])
    assert [cpu in bare for cpu in order] == sorted(cpu in bare for cpu in order)
    asked = planned(name, CpuRequest(isolate_cores=1))[0].isolated
    assert bare and asked and not asked & bare
    name = "epyc-7742-oddeven"  # CPUs are numbered round robin over the nodes
    first = first_threads(machine(name), planned(name)[0])[:8]
    assert any({*first} <= node.cpus.ids for node in machine(name).nodes)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("raptor-14600k", "keep 1 of 6 fast cores; '--isolate-cores 1' leaves them 5."),
        ("n305", "keep 2 of 8 cores; '--isolate-cores 1' leaves them 7."),
    ],
)
def test_a_plan_says_how_few_fast_cores_are_left_to_others(name: str, words: str) -> None:
    def told(*options: object) -> str:
        lines = lowlat("plan", "--root", CAPTURES[name], *options).out.splitlines()
        return "".join(line for line in lines if "Other programs" in line)

    assert told().strip() == f"Other programs {words}"
    assert told("--isolate-cores", 3) == ""


def test_the_best_cores_are_isolated_as_many_as_asked() -> None:
    def plan(name: str, *options: object) -> str:
        answer = lowlat("plan", "--root", CAPTURES[name], "--json", *options).json()
        return str(answer["cpus"]["isolated"])

    assert plan("raptor-14600k", "--isolate-cores", 3) == "2-7"
    # Where the performance cores do not suffice, efficiency cores follow, low-power ones last.
    assert plan("raptor-14600k", "--isolate-cores", 8) == "2-14"
    assert plan("meteor-155h", "--isolate-cores", 13) == "2-19"
    assert plan("meteor-155h", "--isolate-cores", 15) == "2-21"
    near = ("--for-device", "eth1", "--isolate-cores")
    assert plan("cloud-224", *near, 40) == "116-195"
    said = lowlat("plan", "--root", CAPTURES["cloud-224"], *near, 60).refused()
    assert "at most 55 cores of NUMA node 1" in said and "give a number up to 55" in said
    assert plan("cloud-224", *near, 55) == "114-223"
    device = ("--for-device", "ens1f0np0", "--isolate-cores", 4)
    assert plan("epyc-8434p-8n", *device) == "30-33,78-81"


@pytest.mark.parametrize("name", ["sierra-forest-288", "epyc-8434p-8n", "n305"])
def test_the_best_core_has_the_warnings_and_reasons_of_its_list(name: str) -> None:
    best, told = planned(name, CpuRequest(isolate_cores=1))
    _, asked = planned(name, CpuRequest(isolate=str(best.isolated)))
    assert [w for w in asked if "shared by" in w] == [w for w in told if "shared by" in w] != []
    shared = {found for why in isolated_whys(best).values() for found in re.findall("an L.", why)}
    whys = [one.why for one in best.reasons if "so that no isolated" in one.why]
    assert shared and not [why for why in whys if shared & {*re.findall("an L.", why)}]


def test_a_plan_of_a_capture_names_the_core_the_interface_and_the_machine() -> None:
    said = " ".join(lowlat("plan", "--root", CAPTURES["gold-6242-htoff"]).out.split())
    device = next(
        one for one in machine("gold-6242-htoff").devices if one.address == "0000:18:00.0"
    )
    assert f"a second core for interrupts such as those of {device.names[0]}" in said
    for options in ((), ("--brief",)):
        out = lowlat("plan", "--root", CAPTURES["gold-6242-htoff"], *options).out.strip()
        assert out.endswith(
            "Next, on that machine, to see what it would change:\n  sudo lowlat-gen apply --dry-run"
        )


def test_both_ways_to_keep_housekeeping_cores_are_counted_and_can_be_chosen() -> None:
    def plan(name: str, *options: str) -> tuple[str, str]:
        cpus = lowlat("plan", "--root", CAPTURES[name], "--json", *options).json()["cpus"]
        return cpus["housekeeping"], cpus["reasons"][-1]["why"]

    _, why = plan("epyc-8434p-8n")
    assert "7 of 8 L3 caches stay clean, one core of each node would leave 0" in why
    spread, why = plan("epyc-8434p-8n", "--housekeeping-per", "node")
    assert spread == ",".join(str(cpu) for cpu in range(0, 96, 6))
    assert "0 of 8 L3 caches stay clean, near nodes taken together would leave 7" in why
    together, why = plan("xeon-max-snc4-hbm", "--housekeeping-per", "package")
    assert together == "0-1,60-61,96-97,156-157"
    assert "one core of each node would leave 0" in why
    whole, _ = plan("epyc-7742-32n-off255")
    assert whole == "0-3,124-131,252-255"  # near the boot CPU, and around CPU 255, which is offline


def test_a_list_that_empties_many_nodes_or_splits_many_caches_has_one_warning_of_each() -> None:
    for name, option, shared in (
        ("epyc-8434p-8n", "0-5,48-53", 0),
        ("epyc-7742-oddeven", "0-31,128-159", 0),
        ("epyc-7742-oddeven", "0-9,128-137", 2),
    ):
        _, warnings = planned(name, CpuRequest(housekeeping=option))
        emptied = [text for text in warnings if "no housekeeping CPU left" in text]
        split_caches = [text for text in warnings if "shared by isolated CPU" in text]
        assert len(emptied) == (name == "epyc-8434p-8n") and len(split_caches) == bool(shared)
        assert all(text.startswith("NUMA nodes 1-7 have") for text in emptied)
        assert all(text.startswith(f"{shared} L3 caches are") for text in split_caches)


def test_the_command_line_goes_before_the_profile(tmp_path: Path) -> None:
    own = "[main]\nparent = lowlat\n[cpus]\n{}\n"
    for chosen, options, isolated in (
        ("isolate_cores = 1", (), "1"),
        ("isolate_cores = 1", ("--isolate", "2-3"), "2-3"),
        ("isolate_cores = 1", ("--housekeeping-cores", "1"), "1-3"),
        ("isolate = 2-3", ("--isolate-cores", "1"), "1"),
        ("housekeeping_cores = 3", ("--isolate-cores", "2"), "1-2"),
        ("housekeeping_per = node", (), "1-3"),
    ):
        tree = {**four_cpus(4), "etc/lowlat/profiles/mine/lowlat.conf": own.format(chosen)}
        root = write_tree(tmp_path, tree)
        plan = lowlat("plan", "--root", root, "--json", "--profile", "mine", *options).json()
        assert plan["cpus"]["isolated"] == isolated
