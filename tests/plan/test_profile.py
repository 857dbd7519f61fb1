# SPDX-License-Identifier: GPL-2.0-or-later
"""The user's own profiles: what they inherit, and which are refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lowlat.explain.entries import overview
from lowlat.host.root import Root
from lowlat.plan import profile
from support import needs
from support.cli import lowlat
from support.machines import CONFIG, CPU, machine, write_tree


def host(tmp_path: Path, **profiles: str) -> Path:
    files = {f"etc/lowlat/profiles/{name}/lowlat.conf": text for name, text in profiles.items()}
    return write_tree(tmp_path, {**machine(), **files})


def test_an_override_may_extend_the_packaged_profile_of_its_name(tmp_path: Path) -> None:
    root = host(tmp_path, lowlat="[main]\nparent = lowlat\n[settings]\nskew_tick = off\n")
    line = lowlat("plan", "--root", root, "--json").json()["cmdline"]["text"]
    assert "isolcpus=" in line and "skew_tick" not in line


def test_a_profile_may_name_its_sets(tmp_path: Path) -> None:
    root = host(tmp_path, mine="[main]\nparent = lowlat\n[cpus]\nisolate = feed=2,engine=3\n")
    found = lowlat("plan", "--root", root, "--profile", "mine", "--json").json()
    assert found["cpus"]["sets"] == {"feed": "2", "engine": "3"}


def test_a_childs_list_replaces_the_parents_other_list(tmp_path: Path) -> None:
    root = host(
        tmp_path,
        parent="[cpus]\nisolate = 2-3\n",
        child="[main]\nparent = parent\n[cpus]\nhousekeeping = 0-2\n",
    )
    document = lowlat("plan", "--root", root, "--profile", "child", "--json").json()
    assert document["cpus"]["isolated"] == "3"


@needs.root("it is root who must not trust others")
def test_root_refuses_a_profile_that_others_can_write(tmp_path: Path) -> None:
    root = host(tmp_path, mine="[main]\nparent = lowlat\n")
    (root / "etc/lowlat/profiles/mine/lowlat.conf").chmod(0o666)
    said = lowlat("plan", "--root", root, "--profile", "mine").refused()
    assert "can write it" in said


def test_a_child_inherits_whom_it_is_for_and_the_device(tmp_path: Path) -> None:
    files = {
        "etc/lowlat/profiles/card/lowlat.conf": "[main]\nparent = lowlat-nfv\nfor = my packets\n"
        "[cpus]\nfor_device = eth9\n",
        "etc/lowlat/profiles/list/lowlat.conf": "[main]\nparent = card\n[cpus]\nisolate = 2-3\n",
    }
    root = write_tree(tmp_path, {**machine(), **files})
    # Another choice in a child, or on the command line, replaces this one.
    for words in (("--profile", "list"), ("--profile", "card", "--isolate", "2-3")):
        document = lowlat("plan", "--root", root, *words, "--json").json()
        assert document["cpus"]["isolated"] == "2-3"
    card, costs = profile.load("card", Root(str(root))), profile.load_packaged("lowlat-nfv").costs
    assert (card.audience, card.costs) == ("my packets", costs)
    assert card.judged_by == "noise_ppm"


def test_what_a_profile_is_judged_by_is_said_and_inherited(tmp_path: Path) -> None:
    root = host(tmp_path, mine="[main]\nparent = lowlat-rt\n")
    assert profile.load("mine", Root(str(root))).judged_by == "wakeup_p99.9_ns"
    for name in ("lowlat-rt", "lowlat-audio"):
        assert "wakeup_p99.9_ns (report's primary endpoint)" in " ".join(
            lowlat("explain", name).out.split()
        )
    assert "primary endpoint" not in lowlat("explain", "lowlat").out


def test_a_child_may_isolate_again(tmp_path: Path) -> None:
    root = host(
        tmp_path,
        mine="[main]\nparent = lowlat-desktop\n[cpus]\nisolate = 3\n[settings]\nisolcpus = on\n",
    )
    document = lowlat("plan", "--root", root, "--profile", "mine", "--json").json()
    assert document["cpus"]["isolated"] == "3"
    assert "isolcpus=managed_irq,domain,3" in document["cmdline"]["text"]


@pytest.mark.parametrize("name", profile.packaged_names())
def test_a_packaged_profile_says_whom_it_is_for_and_what_it_costs(name: str) -> None:
    found = profile.load_packaged(name)
    assert found.summary and found.audience and found.costs


def test_the_packaged_profiles_are_these() -> None:
    assert profile.packaged_names() == [
        "lowlat",
        "lowlat-audio",
        "lowlat-bench",
        "lowlat-desktop",
        "lowlat-hpc",
        "lowlat-kvm-guest",
        "lowlat-kvm-host",
        "lowlat-nfv",
        "lowlat-poll",
        "lowlat-rt",
    ]


def test_a_desktop_that_records(tmp_path: Path) -> None:
    root = write_tree(tmp_path, machine())
    document = lowlat("plan", "--root", root, "--profile", "lowlat-audio", "--json").json()
    assert document["cpus"]["isolated"] == ""
    assert "threadirqs" in document["cmdline"]["text"].split()
    priorities = {s["target"]: s["value"] for s in document["runtime"] if "kthread" in s["target"]}
    assert {"kthread:irq/*-snd*:policy", "kthread:irq/*-?hci*:policy"} <= set(priorities)
    assert set(priorities.values()) == {"fifo:90"}
    assert any("'lowlat-gen explain audio' has the two" in one for one in document["warnings"])
    assert "rtprio" in lowlat("explain", "lowlat-audio").out


@pytest.mark.parametrize(
    ("release", "package"),
    [
        ("6.12.107+deb13-amd64", "the package linux-image-rt-amd64"),
        ("6.1.0-9-cloud-arm64", "the package linux-image-rt-arm64"),
        ("6.12.47+rpt-rpi-2712", "the package linux-image-rpi-v8-rt"),
        ("5.14.0-570.el9.x86_64", "the package kernel-rt"),
        ("6.14.0-29-generic", "your distribution's, if it has one"),
    ],
)
def test_a_profile_for_preempt_rt_warns_of_another_kernel(
    release: str, package: str, tmp_path: Path
) -> None:
    root = write_tree(tmp_path, machine(release=release))

    def told(name: str) -> list[str]:
        plan = lowlat("plan", "--root", root, "--profile", name, "--json").json()
        return [warning for warning in plan["warnings"] if "PREEMPT_RT" in warning]

    (warning,) = told("lowlat-rt")
    assert f"for which lowlat-rt is made: install {package}, or" in warning
    assert told("lowlat-audio") == []
    write_tree(tmp_path, machine(release=release, config=f"{CONFIG}CONFIG_PREEMPT_RT=y\n"))
    assert told("lowlat-rt") == []


@pytest.mark.parametrize("groups", ["cpuset cpu memory", None])
def test_a_machine_that_compares_programs(groups: str | None, tmp_path: Path) -> None:
    files = machine(config=f"{CONFIG}CONFIG_CPUSETS=y\n")
    if groups:
        files["sys/fs/cgroup/cgroup.controllers"] = f"{groups}\n"
    files[f"{CPU}/intel_pstate/no_turbo"] = "0\n"
    root = write_tree(tmp_path, files)
    document = lowlat("plan", "--root", root, "--profile", "lowlat-bench", "--json").json()
    line, settings = document["cmdline"]["text"], {s["name"]: s for s in document["runtime"]}
    assert ("cpuset.partition" in settings) == bool(groups)
    assert ("domain" in line) == (not groups)
    assert "nohz_full" not in line and "idle" not in line
    assert settings["turbo"]["value"] == "1"


def test_a_profile_is_checked_before_it_is_used(tmp_path: Path) -> None:
    root = host(tmp_path / "host")
    file = tmp_path / "mine" / "lowlat.conf"
    write_tree(file.parent, {file.name: "[main]\nparent = lowlat\n[settings]\nskew_tick = off\n"})
    answer = lowlat("profile", "check", file, "--root", root)
    assert answer.status == 0 and "/etc/lowlat/profiles/mine/lowlat.conf" in answer.out
    os.mkfifo(tmp_path / "pipe")
    for path in ("/dev/zero", tmp_path / "pipe"):
        assert "not a plain file" in lowlat("profile", "check", path, "--root", root).refused()


def test_profiles_of_ones_own_are_listed() -> None:
    assert "\n  mine " in overview(["mine"])
