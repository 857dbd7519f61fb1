# SPDX-License-Identifier: GPL-2.0-or-later
"""The planned line comes to what the plan says, as a kernel reads it."""

from __future__ import annotations

from pathlib import Path

from lowlat.base import resources
from lowlat.base.errors import Refused
from lowlat.host.archive import open_root
from lowlat.plan import planner, profile
from lowlat.plan.planner import Options
from lowlat.probe import probe
from support.cli import lowlat
from support.machines import machine, write_tree

MACHINES = Path(__file__).parents[1] / "machines"
PROFILES = sorted(path.name for path in resources.profiles().iterdir() if path.is_dir())
#: Refusals that are about the machine.
ABOUT = ("this is a container", "comes back with this boot", "has one core online")


def test_every_plan_is_read_back_as_it_says() -> None:
    """Every profile on a third of the captures, by turns."""
    found = []
    captures = sorted([*MACHINES.glob("*.txt"), *MACHINES.glob("field/*.txt.gz")])
    captures = [path for path in captures if ".refused" not in path.name]
    assert len(captures) > 40
    for turn, path in enumerate(captures):
        root = open_root(str(path))
        at = probe(root)
        for name in PROFILES[turn % 3 :: 3]:
            try:
                planner.make_plan(at, at.kernel, profile.load(name, root), Options())
            except Refused as error:
                found.append((path.name, name, error.message))
    assert [one for one in found if not any(about in one[2] for about in ABOUT)] == []


def test_a_stock_word_that_makes_the_kernel_drop_ours_is_named(tmp_path: Path) -> None:
    files = machine(8, release="5.10.0-x")
    files["proc/cmdline"] = "root=/dev/sda1 nohz_full=2-3"
    root = write_tree(tmp_path, files)
    refused = lowlat("plan", "--root", root, "--disable", "nohz_full").refused()
    assert "the kernel would not take isolcpus=managed_irq,domain,2-7" in refused
    assert "before 5.18" in refused
    assert lowlat("plan", "--root", root).status == 0


def test_a_kernel_that_does_not_read_all_is_not_given_it(tmp_path: Path) -> None:
    root = write_tree(tmp_path, machine(8, release="4.15.0-x"))
    plan = lowlat("plan", "--root", root, "--profile", "lowlat-desktop", "--json").json()
    assert "rcu_nocbs" not in plan["cmdline"]["text"]
    [why] = [item["why"] for item in plan["skipped"] if item["name"] == "rcu_nocbs"]
    assert "before 5.2" in why


def test_a_stock_word_that_keeps_every_tick_is_named(tmp_path: Path) -> None:
    files = machine(8)
    files["proc/cmdline"] = "root=/dev/sda1 nohz=off"
    root = write_tree(tmp_path, files)
    assert "with nohz=off no CPU stops its tick" in lowlat("plan", "--root", root).refused()
    assert lowlat("plan", "--root", root, "--disable", "nohz_full").status == 0
