# SPDX-License-Identifier: GPL-2.0-or-later
"""``fleet plan``: machines in classes, from outside."""

from __future__ import annotations

import json
import resource
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from support import synthetic
from support.cli import Answer, lowlat
from support.machines import CONFIG, machine, write_tree
from support.synthetic import Kind, Shape

MACHINES = Path(__file__).parents[1] / "machines"


def folders(top: Path, *shapes: tuple[str, dict[str, str]]) -> Path:
    for name, files in shapes:
        write_tree(top / name, files)
    return top


def fleet(*words: object) -> Answer:
    return lowlat("fleet", "plan", *words)


def members(found: Any) -> list[list[str]]:
    return [[Path(name).name for name in one["machines"]] for one in found["classes"]]


@pytest.fixture
def racks(tmp_path: Path) -> Path:
    """Three equal machines, two others, and one whose kernel differs."""
    small, large = machine(cpus=4), machine(cpus=8, threads=2)
    odd = machine(cpus=4, release="6.1.0-odd")
    shapes = [("a1", small), ("a2", small), ("a3", small), ("b1", large), ("b2", large), ("c", odd)]
    return folders(tmp_path / "racks", *shapes)


def test_equal_machines_are_one_class_with_one_plan(racks: Path, tmp_path: Path) -> None:
    answer = fleet(racks, "--json", "--out", tmp_path / "plans")
    found = answer.json()
    assert answer.status == 0 and found["schema"] == "lowlat.fleet-plan/1"
    assert members(found) == [["a1", "a2", "a3"], ["b1", "b2"], ["c"]]
    written = {path.stem: path for path in (tmp_path / "plans").iterdir()}
    assert set(written) == {one["plan"] for one in found["classes"]}
    for one in found["classes"]:
        # The plan of a class is the plan of each of its machines.
        for name in one["machines"]:
            alone = lowlat("plan", "--root", name, "--json").json()
            stored = json.loads(written[one["plan"]].read_text())
            assert {key: stored[key] for key in alone} == alone


def test_an_odd_machine_is_held_against_the_class_most_like_it(racks: Path) -> None:
    one = fleet(racks, "--json").json()["classes"][2]
    assert one["nearest"] == 1
    differs = {item["name"]: (item["here"], item["there"]) for item in one["differs"]}
    assert differs["kernel"] == ("6.1.0-odd", "6.12.107-test")
    assert "CPUs" not in differs
    told = fleet(racks, "--all").out
    assert "like class 1, except: kernel 6.1.0-odd, not 6.12.107-test" in told


def test_each_class_is_drawn_once_and_an_odd_machine_is_not(racks: Path) -> None:
    told = fleet(racks, "--all").out
    assert told.startswith("machines: 6, in 3 classes; captures without a plan: 0\n")
    assert told.count("( ) a housekeeping core") == 2
    assert "Class 1, plan " in told and ": 3 machines: " in told


def test_a_class_is_a_line_and_a_node_of_memory_has_no_cpus(racks: Path) -> None:
    bare = machine(cpus=4, config=CONFIG.replace("CONFIG_NO_HZ_FULL=y\n", ""))
    folders(racks, ("d", bare))
    told = fleet(racks, MACHINES / "qemu-x86-2s4c-3n-memory-only.txt").out.splitlines()
    assert told[0] == "machines: 8, in 5 classes; captures without a plan: 0"
    assert [int(line.split()[0]) for line in told[1:6]] == [1, 2, 3, 4, 5] and not told[6]
    assert told[1].split()[1:7] == ["isolates", "1-3", "system", "1", "of", "4"]
    assert told[1].endswith(" and 2 more") and "--json names every machine." in " ".join(told[-2:])
    (warned,) = [line for line in told if "CONFIG_NO_HZ_FULL" in line]
    (number,) = [line.split()[0] for line in told[1:6] if line.endswith("/d")]
    assert warned.startswith(f"  - class {number}: the kernel is built without "), told
    assert max(map(len, told)) <= 80
    every = " ".join(fleet(MACHINES, "--all").out.split())
    assert "2 without CPUs" in every and "with ," not in every


def test_slurm_gets_a_line_for_each_class_in_its_own_numbers(racks: Path) -> None:
    names = ("n09", "n10", "n11", "n13", "n100", "login")
    folders(racks, *((name, machine(cpus=4, release="6.1.0-n")) for name in names))
    asked = ("--profile", "lowlat-hpc", "--housekeeping-cores", "1")
    answer = fleet(racks, "--as", "slurm", *asked)
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.splitlines() == [
        "NodeName=login,n[09-11,13],n100 CpuSpecList=0",
        "NodeName=a[1-3] CpuSpecList=0",
        "NodeName=b[1-2] CpuSpecList=0,1",
        "NodeName=c CpuSpecList=0",
    ]
    alone = lowlat("cpus", "housekeeping", "--as", "slurm", "--root", racks / "b1", *asked)
    assert alone.out == "CpuSpecList=0,1\n"
    folders(racks, ("one", machine(cpus=1)), ("a4 State=DOWN", machine(cpus=4)))
    hybrid = Shape(kinds=(Kind(2, 2), Kind(4, 1)), types_by="perf")
    synthetic.write(hybrid.model(), racks / "hybrid")
    answer = fleet(racks, "--as", "slurm", *asked)
    assert answer.status == 1
    why = [line for line in answer.out.splitlines() if line.startswith("# ")]
    assert [line.split(": ")[0].rpartition("/")[2] for line in why] == [
        *("one", "a4 State=DOWN", "# hybrid"),
    ]
    assert why[1].endswith(": not the name of a node") and "these differ" in why[2]
    assert "NodeName=hybrid" not in answer.out and "NodeName=a[1-3] CpuSpecList=0" in answer.out


def test_a_class_is_compared_with_the_most_similar_one_also_an_odd_one(tmp_path: Path) -> None:
    shapes = (("a", machine(cpus=8, threads=2)), ("b", machine(cpus=4)))
    odd = ("c", machine(cpus=4, release="6.1.0-odd"))
    racks = folders(tmp_path, *shapes, odd)
    assert [one["nearest"] for one in fleet(racks, "--json").json()["classes"]] == [None, 1, 2]
    told = fleet(racks, "--all").out
    assert "like class 2, except: kernel 6.1.0-odd, not 6.12.107-test" in told
    assert told.count("( ) a housekeeping core") == 2  # b, as another is compared with it


def test_what_differs_from_boot_to_boot_makes_no_class(tmp_path: Path) -> None:
    busy = dict(machine(cpus=4))
    row = " 24:  {}  0  0  0  PCI-MSI 1-edge  eth0\n"
    heads = "           CPU0       CPU1       CPU2       CPU3\n"
    shapes = [
        (name, {**busy, "proc/interrupts": heads + row.format(count)})
        for name, count in (("x", "17"), ("y", "18"))
    ]
    found = fleet(folders(tmp_path / "racks", *shapes), "--json").json()
    assert members(found) == [["x", "y"]]


def test_folders_archives_and_patterns_name_each_machine_once(racks: Path, tmp_path: Path) -> None:
    archive = tmp_path / "a1.gz"
    assert lowlat("capture", archive, "--root", racks / "a1").status == 0
    found = fleet(racks / "a1", f"{racks}/a*", archive, racks / "a2", "--json").json()
    assert members(found) == [["a1", "a2", "a3", "a1.gz"]]


def test_a_bad_capture_is_named_and_ends_nothing(racks: Path) -> None:
    (racks / "broken.txt").write_text("lowlat.capture/1 lowlat-gen 0\nq /x\n")
    shutil.rmtree(racks / "b1")
    write_tree(racks / "b1", machine(cpus=1))
    answer = fleet(racks, "--json")
    assert answer.status == 1 and answer.err == ""
    found = answer.json()
    assert members(found) == [["a1", "a2", "a3"], ["b2"], ["c"]]
    refused = {Path(item["capture"]).name: item["why"] for item in found["refused"]}
    assert refused["broken.txt"].startswith("not a capture archive, line 2")
    assert "one core online" in refused["b1"]
    told = fleet(racks).out
    assert told.startswith("machines: 5, in 3 classes; captures without a plan: 2\n")


def test_a_link_to_itself_ends_nothing(racks: Path) -> None:
    (racks / "loop").symlink_to(racks / "loop")
    answer = fleet(racks / "loop", racks, "--json")
    told = [item["why"] for item in answer.json()["refused"]]
    assert (answer.status, told) == (1, ["no such folder or archive"])
    assert fleet(racks).status == 0


@pytest.mark.security
def test_no_link_leads_out_of_the_folder_of_captures(racks: Path, tmp_path: Path) -> None:
    capture = tmp_path / "c.txt"
    assert lowlat("capture", capture, "--root", racks / "c").status == 0
    given = folders(tmp_path / "in", ("a1", machine(cpus=4)))
    (given / "folder").symlink_to(racks / "b1")
    (given / "archive").symlink_to(capture)
    (given / "same").symlink_to("a1")
    answer = fleet(given, "--json")
    assert answer.status == 1 and members(answer.json()) == [["a1"]]
    refused = {Path(row["capture"]).name: row["why"] for row in answer.json()["refused"]}
    assert set(refused) == {"archive", "folder"}
    assert all("leads out of" in why for why in refused.values()), refused
    # A capture that is named may be a link.
    assert fleet(given / "archive", given / "folder").status == 0


def test_what_is_no_capture_is_counted_in_a_line_and_fails_nothing(racks: Path) -> None:
    for name in ("a1.plan.json", "README"):
        (racks / name).write_text("{}\n")
    (racks / "deeper").mkdir()
    answer = fleet(racks)
    assert (answer.status, answer.err) == (0, "")
    assert "captures without a plan: 0" in answer.out and "Without a plan" not in answer.out
    told = " ".join(answer.out.split())
    assert told.endswith(f"Left out, as they are no captures: {racks}/README and 2 more")
    left = fleet(racks, "--json").json()["others"]
    assert [Path(name).name for name in left] == ["README", "a1.plan.json", "deeper"]
    # Named by itself, it is a fault.
    assert fleet(racks / "README", racks / "a1").status == 1


def test_the_options_of_plan_hold_for_all(racks: Path) -> None:
    found = fleet(racks / "a1", racks / "b1", "--isolate", "2-3", "--json").json()
    assert {one["isolated"] for one in found["classes"]} == {"2-3"}
    answer = fleet(racks, "--isolate", "4-5", "--json")
    assert answer.status == 1 and len(answer.json()["refused"]) == 4


def test_a_plan_for_no_machine_is_a_failure(racks: Path) -> None:
    assert fleet(racks, "--profile", "nosuch").status == 1


@pytest.mark.proof
def test_a_thousand_machines_take_neither_time_nor_memory(tmp_path: Path) -> None:
    """The time quoted in packaging/doc/fleet.md: CPU time, never wall-clock time."""
    captures = [path for path in sorted(MACHINES.glob("*.txt")) if "refused" not in path.name]
    for number in range(1000):
        source = captures[number % len(captures)]
        (tmp_path / f"{number}-{source.name}").write_bytes(source.read_bytes())
    used = resource.getrusage(resource.RUSAGE_SELF)
    found = fleet(tmp_path, "--json").json()
    after = resource.getrusage(resource.RUSAGE_SELF)
    seconds = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
    growth = (after.ru_maxrss - used.ru_maxrss) / 1024
    print(f"1000 captures: {seconds:.1f} s of CPU, {growth:.0f} MB", file=sys.stderr)
    assert sum(len(one["machines"]) for one in found["classes"]) > 900
    assert seconds < 120 and growth < 200
