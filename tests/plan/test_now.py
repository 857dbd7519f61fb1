# SPDX-License-Identifier: GPL-2.0-or-later
"""``plan --now``: what the running kernel can be given, and what a boot alone gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.cli import lowlat
from support.machines import CONFIG, CPU, machine, write_tree

GROUPS = "sys/fs/cgroup"

#: What lets a running kernel isolate.
PARTITIONS = {f"{GROUPS}/cgroup.controllers": "cpuset cpu\n"}

_CONFIG = f"{CONFIG}CONFIG_CPUSETS=y\nCONFIG_HZ=250\n"


def _tree(folder: Path, release: str = "6.12.107-test", **more: str) -> Path:
    return write_tree(folder, {**machine(release=release, config=_CONFIG), **PARTITIONS, **more})


def _now(tree: Path, *words: str) -> Any:
    return lowlat("plan", "--now", "--json", "--root", tree, *words).json()


def _values(found: Any) -> dict[str, str]:
    return {item["name"]: item["value"] for item in found["plan"]["runtime"]}


@pytest.mark.parametrize("profile", ["lowlat", "lowlat-hpc", "lowlat-poll", "lowlat-rt"])
def test_a_running_kernel_gets_all_but_what_a_boot_alone_gives(
    tmp_path: Path, profile: str
) -> None:
    tree = _tree(tmp_path)
    found, boot = _now(tree, "--profile", profile), lowlat("plan", "--root", tree, "--json").json()
    assert found["schema"] == "lowlat.now/1"
    assert found["plan"]["cpus"]["isolated"] == boot["cpus"]["isolated"] == "1-3"
    assert found["plan"]["cmdline"] == {"text": "", "parameters": []}
    values = _values(found)
    assert (values["cpuset.cpus"], values["cpuset.partition"]) == ("1-3", "isolated")
    assert (values["irq.default_smp_affinity"], values["kthread.affinity"]) == ("1", "1")
    only = {item["name"]: item for item in found["only_boot"]}
    assert only["isolcpus"]["value"] == "managed_irq,1-3"
    # irqaffinity and systemd.cpu_affinity have settings of the same effect.
    assert not {"irqaffinity", "systemd.cpu_affinity"} & set(only)
    rates = {name: item["interrupts_per_s"] for name, item in only.items()}
    if profile != "lowlat-rt":
        assert rates.pop("nohz_full") == 250
    assert set(rates.values()) == {None}


def test_what_the_running_line_has_needs_no_boot(tmp_path: Path) -> None:
    tree = _tree(tmp_path)
    (tree / "proc/cmdline").write_text("quiet nohz_full=1-3 rcu_nocbs=1-3 skew_tick=1\n")
    only = {item["name"] for item in _now(tree)["only_boot"]}
    assert only == {"isolcpus", "rcupdate.rcu_normal_after_boot"}


def test_older_partitions_are_completed_by_the_masks_of_workqueues(tmp_path: Path) -> None:
    values = _values(_now(_tree(tmp_path, "6.1.0-9-amd64")))
    assert values["cpuset.partition"] == "isolated"
    assert values["workqueue.cpumask"] == values["workqueue.writeback.cpumask"] == "1"


def test_a_partition_may_balance_inside(tmp_path: Path) -> None:
    found = _now(_tree(tmp_path), "--enable", "cpuset.partition=root", "--isolate", "2-3")
    assert _values(found)["cpuset.partition"] == "root"


@pytest.mark.parametrize(
    ("words", "files", "said"),
    [
        ((), {f"{CPU}/isolated": "2-3\n"}, "CPU 2-3: isolated by this boot's line already"),
        (("--disable", "cpuset.partition"), {}, "switched off by --disable"),
    ],
)
def test_why_this_boot_cannot_isolate(
    tmp_path: Path, words: tuple[str, ...], files: dict[str, str], said: str
) -> None:
    tree = _tree(tmp_path, **files)
    assert said in lowlat("plan", "--now", "--root", tree, *words).refused()


@pytest.mark.parametrize(
    ("release", "said"),
    [
        # Of the table of faults: upstream, Red Hat's and Ubuntu's builds.
        ("6.12.48+deb13-amd64", "changing workqueue masks can stall devices forever"),
        ("5.14.0-570.el9.x86_64", "changing workqueue masks can stall devices forever"),
        ("7.0.0-10-generic", "changing workqueue masks can stall devices forever"),
        ("5.10.0-46-amd64", "not known to be 6.1 or newer, which has isolated partitions"),
        ("custom", "not known to be 6.1 or newer"),
    ],
)
def test_kernels_that_cannot_isolate_without_harm(tmp_path: Path, release: str, said: str) -> None:
    tree = _tree(tmp_path, release, **{f"{GROUPS}/cpuset.cpus.isolated": "\n"})
    if "isolated partitions" in said or release == "custom":
        (tree / GROUPS / "cpuset.cpus.isolated").unlink()
    assert said in lowlat("plan", "--now", "--root", tree).refused()


def test_control_groups_of_version_1_are_refused_by_name(tmp_path: Path) -> None:
    tree = _tree(tmp_path)
    (tree / GROUPS / "cgroup.controllers").rename(tree / GROUPS / "tasks")
    said = lowlat("plan", "--now", "--root", tree).refused()
    assert "control groups are v1 here" in said


def test_the_text_tells_both_halves(tmp_path: Path) -> None:
    said = lowlat("plan", "--now", "--brief", "--root", _tree(tmp_path)).out
    set_now, _, only = said.partition("Only a boot gives")
    assert "  cpuset.partition = isolated\n" in set_now
    assert "250 interrupts a second on each busy isolated CPU" in " ".join(only.split())
    assert "'rollback' or the next boot takes it back" in " ".join(only.split())
