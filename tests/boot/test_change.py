# SPDX-License-Identifier: GPL-2.0-or-later
"""``--json`` of the verbs that change the boot: they report changes, and a repetition changes
nothing. Engines such as Ansible rely on that."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.hosttree import (
    NEEDS,
    OLDER,
    RELEASE,
    Host,
    Namespace,
    apply_and_try,
    bare,
    changes,
    foreseen_changes,
)

pytest_plugins = ["support.hosttree"]
pytestmark = NEEDS


def told(host: Host, verb: str, *words: str) -> Any:
    """The answer. Assert that it says "changed" exactly if a file changed, and that --dry-run said
    the same before and wrote nothing."""
    before = host.snapshot()
    foreseen = host.lowlat(verb, "--json", "--dry-run", *words).json()
    assert host.snapshot() == before
    done = host.lowlat(verb, "--json", *words).json()
    assert done["schema"] == foreseen["schema"] == "lowlat.change/1"
    assert done["changed"] is foreseen["changed"]
    assert done["changed"] is (host.snapshot() != before)
    assert (done["before"], done["after"]) == (foreseen["before"], foreseen["after"])
    if verb in ("apply", "rollback"):
        assert foreseen_changes(foreseen["said"]) == changes(before, host.snapshot())
    return done


@pytest.fixture
def by_hand(tmp_path: Path, namespace: Namespace) -> Host:
    """A host with a boot loader that lowlat does not write."""
    host = bare(tmp_path / "host", namespace, {"etc/NIXOS": ""})
    host.boot_line(f"/vmlinuz-{RELEASE} root=/dev/sda ro quiet", "boot-0")
    return host


def test_each_step_changes_something_once(host: Host) -> None:
    applied = told(host, "apply")
    assert "isolcpus=" not in applied["before"] and "lowlat.plan=" in applied["after"]
    assert set(applied["before"].split()) < set(applied["after"].split())
    assert any("added the entry" in row for row in applied["said"])
    again = told(host, "apply")
    assert (applied["changed"], again["changed"]) == (True, False)
    assert all("added the entry" not in row for row in again["said"])
    assert f"would keep the plan for Linux {RELEASE}" in host.done("apply", "--dry-run")
    assert sorted(again["before"].split()) == sorted(applied["after"].split())
    assert again["after"] == again["before"]

    armed = told(host, "trial")
    assert "lowlat-trial.service" in armed["after"] and "lowlat.plan=" not in armed["before"]
    again = told(host, "trial")
    assert (armed["changed"], again["changed"]) == (True, False)
    assert again["before"] == armed["after"]

    apply_and_try(host)
    promoted = told(host, "promote")
    assert "lowlat.plan=" in promoted["after"] and "lowlat.plan=" not in promoted["before"]
    assert (promoted["changed"], told(host, "promote")["changed"]) == (True, False)
    assert not told(host, "apply")["changed"]
    assert host.status()["state"] == "promoted"

    assert told(host, "rollback")["changed"]
    assert not told(host, "rollback")["changed"]


@pytest.mark.parametrize("words", [("--isolate", "3"), ("--disable", "skew_tick")])
def test_another_wish_is_a_change(by_hand: Host, words: tuple[str, ...]) -> None:
    told(by_hand, "apply")
    assert told(by_hand, "apply", *words)["changed"]
    assert not told(by_hand, "apply", *words)["changed"]


def test_a_person_makes_that_line_the_default(by_hand: Host) -> None:
    told(by_hand, "apply")
    answer = by_hand.lowlat("promote", "--json")
    assert "not tried yet" in answer.refused()


def test_what_is_busy_now_moves_no_applied_split(by_hand: Host) -> None:
    """Otherwise a second play would undo the promotion of the first play."""
    for cpus, number in (("0-1", 25), ("2-3", 26)):
        folder = f"sys/bus/pci/devices/0000:0{cpus[0]}:00.0"
        by_hand.write(f"{folder}/class", "0x010802")
        by_hand.write(f"{folder}/numa_node", "0")
        by_hand.write(f"{folder}/local_cpulist", f"{cpus}\n")
        by_hand.write(f"{folder}/msi_irqs/{number}", "msi\n")

    def busy(first: int, second: int) -> str:
        by_hand.write(
            "proc/interrupts",
            "           CPU0       CPU1       CPU2       CPU3\n"
            f" 25: {first} 0 0 0 PCI-MSI nvme0q0\n 26: 0 0 {second} 0 PCI-MSI nvme1q0\n",
        )
        return str(by_hand.lowlat("plan", "--json", "--housekeeping-cores", "2").json()["cpus"])

    first = busy(900, 1)
    told(by_hand, "apply", "--housekeeping-cores", "2")
    entry = by_hand.status()["kernels"]
    assert busy(1, 900) != first
    assert not told(by_hand, "apply", "--housekeeping-cores", "2")["changed"]
    assert by_hand.status()["kernels"] == entry


def test_a_kept_split_keeps_the_interrupts_of_the_device_it_is_near(host: Host) -> None:
    def card(cpus: str) -> None:
        """The network card eth0, near these CPUs."""
        folder = "sys/bus/pci/devices/0000:03:00.0"
        host.write(f"{folder}/class", "0x020000")
        host.write(f"{folder}/net/eth0/address", "0")
        host.write(f"{folder}/local_cpulist", f"{cpus}\n")
        host.write(f"{folder}/msi_irqs/25", "msi\n")

    def planned() -> tuple[object, list[str]]:
        plan = json.loads(host.read(f"var/lib/lowlat/plans/{OLDER}.json"))
        named = [row["target"] for row in plan["runtime"] if row["value"] == "fifo:60"]
        return plan["cpus"]["isolated"], named

    card("2-3")
    asked = ("--for-device", "eth0", "--enable", "threadirqs", "--enable", "irq.thread_priority")
    told(host, "apply", *asked)
    first = planned()
    assert first == ("2-3", ["kthread:irq/25-*:policy"])
    # The firmware names other CPUs after an update, and GRUB's generator finds a new kernel.
    card("0-1")
    (host.path / f"var/lib/lowlat/plans/{OLDER}.json").unlink()
    host.update_grub()
    assert planned() == first
