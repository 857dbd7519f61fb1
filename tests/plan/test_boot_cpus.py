# SPDX-License-Identifier: GPL-2.0-or-later
"""A plan is for the boot with its line: CPUs that are offline now come back, or the line keeps them
off, and no core of that boot is split."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import Tree
from lowlat.base.errors import Refused
from lowlat.host.archive import dump, load
from lowlat.model import cmdline
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import PowerControl
from lowlat.plan.boot_machine import boot_machine
from support.cli import lowlat
from support.machines import write_tree
from support.synthetic import NAMED, Kind, Shape

MACHINES = Path(__file__).parents[1] / "machines"
FIELD = MACHINES / "field"
CPU = "/sys/devices/system/cpu"

NOSMT = FIELD / "epyc-7502p-nosmt.txt.gz"
E5 = FIELD / "e5-2660-oddeven-off0.txt.gz"
POWER8 = FIELD / "power8-lpar-smt4.txt.gz"

#: The distance between the numbers of siblings, where machines have offline CPUs; two threads each.
STEPS = {
    "e5-2660-oddeven-off0": 16,
    "epyc-7502p-nosmt": 32,
    "epyc-7502p-nosmt-line": 32,
    "epyc-7742-32n-off255": 128,
    "lxcfs-4110": 16,
    "lxcfs-731": 16,
    "qemu-x86-1s8c2t-offline": 1,
}

ROLES = ("online", "isolated", "housekeeping", "offline")


def core(name: str, cpu: int) -> CpuSet:
    """The true core of a CPU of a captured machine."""
    step = STEPS.get(name, 0)
    if name == "power8-lpar-smt4":
        return CpuSet.of(range(cpu - cpu % 8, cpu - cpu % 8 + 8))
    first = cpu if step == 0 or cpu % (2 * step) < step else cpu - step
    return CpuSet.of((first, first + step))


def switched(name: str, path: Path, online: CpuSet, line: str, out: Path) -> Path:
    """A capture of the same machine with these CPUs online, booted with this line."""
    old = load(str(path))._contents
    files = dict(old.files)
    present = CpuSet.parse_list(files[f"{CPU}/present"].decode())
    before = CpuSet.parse_list(files[f"{CPU}/online"].decode())
    files["/proc/cmdline"] = f"{line}\n".encode()
    files[f"{CPU}/online"] = f"{online}\n".encode()
    files[f"{CPU}/offline"] = f"{present - online}\n".encode()
    for cpu in (online - before) | (before - online):
        siblings = core(name, cpu) & online
        for member in siblings:
            files[f"{CPU}/cpu{member}/topology/core_cpus_list"] = f"{siblings}\n".encode()
    for path_, data in old.files.items():
        if path_.startswith("/sys/devices/system/node/") and path_.endswith("/cpulist"):
            cpus = CpuSet.parse_list(data.decode())
            back = CpuSet.of(cpu for cpu in online - before if core(name, cpu) & cpus)
            files[path_] = f"{(cpus | back) & online}\n".encode()
    out.write_text(dump(replace(old, files=files)))
    return out


def planned(path: Path, *options: object) -> Any:
    return lowlat("plan", "--root", path, "--json", *options).json()


def stock(path: Path, *more: str) -> str:
    return " ".join([load(str(path)).read("/proc/cmdline") or "", *more])


def boot_line(path: Path, plan: Any) -> str:
    """The planned line, as the tuned entry has it."""
    names = [parameter["name"] for parameter in plan["cmdline"]["parameters"]]
    return f"{cmdline.without(stock(path), names)} {plan['cmdline']['text']}"


def bad(path: Path, line: str) -> list[str]:
    """The findings of lint on a line."""
    words = lowlat("lint", "--root", path, "--json", line).json()["words"]
    kinds = ("harmful", "contradictory", "ignored")
    return [f"{word['verdict']}: {word['why']}" for word in words if word["verdict"] in kinds]


def machines() -> Iterator[tuple[str, Path]]:
    for path in (*sorted(FIELD.glob("*.txt.gz")), *sorted(MACHINES.glob("*.txt"))):
        if not path.name.endswith(".refused.txt"):
            yield path.name.partition(".")[0], path


def test_the_planned_line_is_right_on_the_machine_as_it_boots_it(tmp_path: Path) -> None:
    answers = {name: lowlat("plan", "--root", path, "--json") for name, path in machines()}
    refused = {name for name, answer in answers.items() if answer.status}
    assert {"epyc-7502p-nosmt", "power8-lpar-smt4"} <= refused
    for name, path in machines():
        if name in refused:
            continue
        plan = answers[name].json()
        cpus, line = plan["cpus"], boot_line(path, plan)
        assert "may be a sibling" not in " ".join(plan["warnings"])
        if name in STEPS:
            copy = switched(name, path, CpuSet.parse_list(cpus["online"]), line, tmp_path / name)
            again = planned(copy)["cpus"]
            same = {key: again[key] for key in ROLES} == {key: cpus[key] for key in ROLES}
            # Seen online, a CPU may be isolated again.
            assert same or "may stay so" in str(cpus["reasons"]), name
            path = copy
        assert bad(path, line) == [], name


def test_cpus_that_are_offline_now_are_reckoned_with() -> None:
    plan = planned(E5)
    whys = {reason["cpus"]: reason["why"] for reason in plan["cpus"]["reasons"]}
    assert (whys["0"], whys["16"]) == (
        "boots the system",
        "same core as CPU 0, which boots the system",
    )
    assert any("CPU 0 is offline now and comes back" in text for text in plan["warnings"])
    assert "(CPU 0 boots the system)" in lowlat("probe", "--root", E5).out
    cpus = planned(FIELD / "epyc-7742-32n-off255.txt.gz")["cpus"]
    isolated = CpuSet.parse_list(cpus["isolated"])
    assert not isolated & CpuSet.of((127, 255)), "255 may stay off: its firmware may lack x2APIC"
    assert cpus["offline"] == ""


def test_nosmt_on_the_stock_line_keeps_the_siblings_off() -> None:
    plan = planned(FIELD / "epyc-7502p-nosmt-line.txt.gz")
    cpus = plan["cpus"]
    assert [cpus[role] for role in ROLES] == ["0-31", "4-31", "0-3", "32-63"]
    assert plan["warnings"] == []


def test_smt_that_was_switched_off_at_run_time_is_refused_and_the_ways_out_work(
    tmp_path: Path,
) -> None:
    said = lowlat("plan", "--root", NOSMT).refused()
    assert said.startswith("CPU 32-63 comes back with this boot, and nothing tells whose siblings")
    assert "'echo on > /sys/devices/system/cpu/smt/control' brings them online" in said
    online = CpuSet.of(range(64))
    copy = switched("epyc-7502p-nosmt", NOSMT, online, stock(NOSMT), tmp_path / "on")
    assert planned(copy)["cpus"]["isolated"] == "4-31,36-63"
    assert "'--enable nosmt' plans a boot without them" in said
    plan = planned(NOSMT, "--enable", "nosmt")
    assert [plan["cpus"][role] for role in ROLES] == ["0-31", "4-31", "0-3", "32-63"]
    assert " nosmt " in plan["cmdline"]["text"]
    assert not any("CPU 32-63" in text for text in plan["warnings"])
    assert bad(copy, boot_line(copy, plan)) == []


def test_smt_that_is_off_until_a_reboot_is_not_to_be_switched_on(tmp_path: Path) -> None:
    held = load(str(NOSMT))._contents
    forced = {**held.files, f"{CPU}/smt/control": b"forceoff\n"}
    path = tmp_path / "forced"
    path.write_text(dump(replace(held, files=forced)))
    assert (
        "(a reboot brings them online to plan again, or" in lowlat("plan", "--root", path).refused()
    )


def test_nosmt_of_the_applied_plan_is_no_word_of_the_stock_line(tmp_path: Path) -> None:
    answer = lowlat("plan", "--root", NOSMT, "--enable", "nosmt", "--json")
    plan, held = answer.json(), load(str(NOSMT))._contents
    line = f"{boot_line(NOSMT, plan)} lowlat.plan={plan['id']}\n"
    stored = {"/proc/cmdline": line, "/var/lib/lowlat/plan.json": answer.out}
    files = {**held.files, **{path: text.encode() for path, text in stored.items()}}
    path = tmp_path / "tuned"
    path.write_text(dump(replace(held, files=files)))
    assert planned(path)["id"] == plan["id"]
    assert "CPU 32-63 comes back" in lowlat("plan", "--root", path, "--profile", "lowlat").refused()


def test_threads_that_were_switched_off_at_run_time_are_refused_on_power(tmp_path: Path) -> None:
    said = lowlat("plan", "--root", POWER8).refused()
    back = "4-7,12-15,20-23,28-31"
    assert f"CPU {back} comes back" in said and f"'chcpu -e {back}' brings them online" in said
    copy = switched("power8-lpar-smt4", POWER8, CpuSet.of(range(32)), "", tmp_path / "on")
    assert planned(copy)["cpus"]["isolated"] == "8-31"
    assert "smt-enabled=4 on the stock line keeps them off" in said
    now = CpuSet.parse_list("0-3,8-11,16-19,24-27")
    line = stock(POWER8, "smt-enabled=4")
    limited = switched("power8-lpar-smt4", POWER8, now, line, tmp_path / "limited")
    cpus = planned(limited)["cpus"]
    assert (cpus["isolated"], cpus["offline"]) == ("8-11,16-19,24-27", back)


def test_lint_reads_a_line_on_the_machine_that_it_boots(tmp_path: Path) -> None:
    wanted = "isolcpus=managed_irq,domain,4-31 nohz_full=4-31"
    assert any("CPU 32-63 comes back" in text for text in bad(NOSMT, wanted))
    assert bad(NOSMT, f"{wanted} nosmt") == []
    after = FIELD / "epyc-7502p-after-reboot.txt.gz"
    assert any("splits cores" in text for text in bad(after, wanted))
    assert bad(after, f"{wanted} nosmt") == []
    # The stock line there has nosmt; a whole line without it has not.
    booted = FIELD / "epyc-7502p-nosmt-line.txt.gz"
    assert bad(booted, wanted) == []
    assert any("CPU 32-63 comes back" in text for text in bad(booted, f"root=/dev/sda1 {wanted}"))


def test_lists_by_hand_name_cpus_of_that_boot(tree: Tree) -> None:
    shape = Shape(kinds=(Kind(4, 2),), numbering="far", offline=(7,))
    root = tree(shape)
    assert planned(root, "--isolate", "3,7")["cpus"]["isolated"] == "3,7"
    said = lowlat("plan", "--root", root, "--isolate", "3").refused()
    assert "splits a core, CPU 3 is isolated but its sibling 7 is not" in said
    cut = tree(replace(shape, cmdline=f"{shape.cmdline} maxcpus=4"))
    plan = planned(cut, "--isolate", "3")
    assert (plan["cpus"]["online"], plan["cpus"]["offline"]) == ("0-3", "4-7")
    assert any("maxcpus= keeps CPU 4-7 off at the boot alone" in w for w in plan["warnings"])
    assert "CPU 7 is offline" in lowlat("plan", "--root", cut, "--isolate", "3,7").refused()


def test_siblings_that_are_seen_count_more_than_the_control() -> None:
    """Linux 6.1 calls SMT not supported where an emulated processor has siblings."""
    seen = replace(Shape(kinds=(Kind(4, 2),)), offline=(5,)).model().machine()
    made, _ = boot_machine("", replace(seen, power=PowerControl(smt_control="notsupported")))
    assert made.core_of(5).cpus == CpuSet.of((4, 5))


def test_without_a_stock_line_the_cpus_online_now_are_taken(tree: Tree) -> None:
    root = tree(Shape(kinds=(Kind(4, 2),), offline=(5,)))
    (root / "proc/cmdline").unlink()
    plan = planned(root)
    assert plan["cpus"]["offline"] == "5"
    assert any("CPU 5 is offline and may be a sibling" in text for text in plan["warnings"])


def test_a_plan_without_isolated_cpus_needs_no_siblings() -> None:
    assert planned(NOSMT, "--isolate", "none")["cpus"]["isolated"] == ""


#: 6 performance cores of two threads (0-11) and 8 efficiency cores (12-19).
HYBRID = NAMED["hybrid-6p8e"]


ODD = str(CpuSet.of(range(1, 40, 2)))


def reasons(plan: Any) -> dict[str, str]:
    return {one["cpus"]: one["why"] for one in plan["cpus"]["reasons"]}


def returning(shape: Shape, off: str) -> Shape:
    return replace(shape, offline=tuple(CpuSet.parse_list(off)))


@pytest.mark.parametrize(
    ("off", "kept", "isolated"),
    [
        ("8-19", "8-19", "2-7"),
        ("12-19", "12-19", "2-11"),
        ("14-19", "14-19", "2-11"),
        ("3,12-19", "12-19", "4-11"),  # 3 may stay off
        ("4-5", "4-5", "2-3,6-11"),
    ],
)
def test_a_core_of_unknown_type_stays_with_the_system(
    off: str, kept: str, isolated: str, tree: Tree
) -> None:
    root = tree(returning(HYBRID, off))
    for options in ((), ("--keep-efficiency-cores",)):
        plan = planned(root, *options)
        assert not CpuSet.parse_list(plan["cpus"]["isolated"]) & CpuSet.parse_list(kept)
        assert reasons(plan)[kept] == "offline now, and nothing tells the core type"
        told = (
            f"nothing tells the core type of CPU {kept}, offline now: 'chcpu -e {kept}' first does"
        )
        assert told in plan["warnings"]
    assert planned(root)["cpus"]["isolated"] == isolated


def test_cores_of_unknown_type_are_no_siblings(tree: Tree) -> None:
    plan = planned(tree(returning(HYBRID, "8-19")), "--isolate", "2-7,12")
    assert plan["cpus"]["isolated"] == "2-7,12"
    mixed = "mix core types (performance: CPU 2-7; unknown: CPU 12): --isolate 2-7 takes"
    assert any(mixed in text for text in plan["warnings"])


def test_a_machine_of_which_one_core_is_known_is_refused(tree: Tree) -> None:
    root = tree(returning(Shape(kinds=(Kind(2), Kind(6)), types_by="perf"), "1-7"))
    write_tree(root, {f"{CPU[1:]}/smt/control": "notsupported\n"})
    said = lowlat("plan", "--root", root).refused()
    assert said.startswith("nothing tells the core type of CPU 1-7, offline now")
    assert "'chcpu -e 1-7' before planning tells it" in said


@pytest.mark.parametrize(
    ("numbering", "off", "isolated"),
    [
        ("far", "10-19,30-39", "1-9,21-29"),
        ("turns", ODD, "2,4,6,8,10,12,14,16,18,22,24,26,28,30,32,34,36,38"),
        ("far", "8-11,28-31", "1-7,13-19,21-27,33-39"),
        ("far", "4,24", "1-9,11-19,21-29,31-39"),
    ],
)
def test_a_core_of_unknown_node_stays_with_the_system(
    numbering: str, off: str, isolated: str, tree: Tree
) -> None:
    shape = Shape(packages=2, kinds=(Kind(10, 2),), nodes=2, numbering=numbering)
    plan = planned(tree(returning(shape, off)))
    assert plan["cpus"]["isolated"] == isolated
    told = "offline now, and nothing tells the NUMA node"
    warned = any(
        f"tells the NUMA node of CPU {off}, offline now: 'chcpu -e" in text
        for text in plan["warnings"]
    )
    assert (reasons(plan).get(off) == told) == warned == (off != "4,24")


def test_a_core_of_unknown_caches_is_used_last(tree: Tree) -> None:
    shape = Shape(kinds=(Kind(12, 2),), numbering="far", cores_per_cache=6)
    plan = planned(tree(returning(shape, "6-11,18-23")))
    assert plan["cpus"]["isolated"] == "1-11,13-23"
    assert plan["cpus"]["preferred"][:11] == [*range(1, 12)]
    why = reasons(plan)["6-11,18-23"]
    assert why.endswith("nothing tells the caches of these CPUs, so 'run' uses them last")
    assert any(
        "tells the caches of CPU 6-11,18-23, offline now: 'chcpu -e" in text
        for text in plan["warnings"]
    )


def test_a_cpu_in_standby_does_not_come_back(tree: Tree) -> None:
    """On s390 only a person or the hypervisor configures it."""
    for online, isolated in ((4, "2-3"), (2, "")):
        shape = Shape(kinds=(Kind(4, 2),), arch="s390x", offline=tuple(range(online, 8)))
        files = {f"{CPU[1:]}/cpu{cpu}/configure": f"{int(cpu < online)}\n" for cpu in range(8)}
        root = write_tree(tree(shape), files)
        if isolated:
            assert planned(root)["cpus"]["isolated"] == isolated
        else:
            assert "has one core online" in lowlat("plan", "--root", root).refused()


@pytest.mark.parametrize(
    ("maker", "part", "told"),
    [
        ("0x41", "0xd42", True),  # Cortex-A78AE
        ("0x51", "0x001", True),  # Oryon
        ("0x41", "0xd4a", False),  # Neoverse-E1: two threads
        ("0x43", "0x0af", False),  # ThunderX2: four
        ("0x41", "0xfff", False),
        ("0x46", "0x001", False),
    ],
)
def test_arm_parts_tell_whether_half_of_the_cpus_may_be_siblings(
    maker: str, part: str, told: bool, tree: Tree
) -> None:
    root = tree(returning(Shape(kinds=(Kind(8),), arch="aarch64"), "4-7"))
    rows = (f"processor: {n}\nCPU implementer: {maker}\nCPU part: {part}\n" for n in range(4))
    write_tree(root, {"proc/cpuinfo": "\n".join(rows)})
    if told:
        plan = planned(root)
        assert plan["cpus"]["isolated"] == "2-7"
        assert any(
            "a core of its own, as these processors have no SMT" in w for w in plan["warnings"]
        )
    else:
        assert "nothing tells whose siblings" in lowlat("plan", "--root", root).refused()


def test_a_core_of_xeon_phi_may_have_two_more_threads(tree: Tree) -> None:
    root = tree(returning(Shape(kinds=(Kind(8, 4),), numbering="far"), "16-31"))
    model = "model name\t: Intel(R) Xeon Phi(TM) CPU 7250 @ 1.40GHz\n"
    write_tree(root, {"proc/cpuinfo": f"processor\t: 0\n{model}"})
    said = lowlat("plan", "--root", root).refused()
    assert said.startswith("CPU 16-31 comes back with this boot, and nothing tells whose siblings")


@given(
    shape=st.builds(
        Shape,
        packages=st.sampled_from((1, 2)),
        kinds=st.sampled_from(((Kind(4),), (Kind(4, 2),), (Kind(8, 2),), (Kind(4, 2), Kind(4)))),
        numbering=st.sampled_from(("adjacent", "far")),
        nodes=st.sampled_from((1, 2)),
        types_by=st.sampled_from((None, "perf")),
    ),
    smt=st.sampled_from((None, "on", "off")),
    dice=st.randoms(use_true_random=False),
)
def test_a_core_that_is_told_is_never_too_small(shape: Shape, smt: str, dice: Any) -> None:
    """Or the boot is refused: of a machine as seen with CPUs offline, and as it is."""
    count = len(shape.model().threads)
    off = tuple(dice.sample(range(count), dice.randrange(1, count // 2)))
    whole = shape.model().machine()
    power = PowerControl(smt_control=smt if len(whole.cores) < count else "notsupported")
    seen = replace(replace(shape, offline=off).model().machine(), power=power)
    try:
        made, _ = boot_machine("", seen)
    except Refused:
        return
    assert made.cpus.online == whole.cpus.online
    unknown = CpuSet.of(c for k in made.core_types if not k.source for c in k.cpus)
    for old in whole.cores:
        # Single cores that are offline may be taken for siblings: they stay on one side then. So do
        # all CPUs of unknown types.
        new = made.core_of(old.cpus.first)
        assert old.cpus <= new.cpus or old.cpus <= unknown
        assert new.package in (old.package, None) and set(new.nodes) <= set(old.nodes)
