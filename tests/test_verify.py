# SPDX-License-Identifier: GPL-2.0-or-later
"""``verify``: every state, with its evidence, on trees of files; real kernels are in tests/vm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trees import CPU, lowlat, machine, write_tree

LINE = (
    "quiet isolcpus=managed_irq,domain,1-3 nohz_full=1-3 rcu_nocbs=1-3 irqaffinity=0 "
    "rcupdate.rcu_normal_after_boot=1 skew_tick=1\n"
)

DMESG = """Linux version 6.12.107-test
rcu: \tOffload RCU callbacks from CPUs: 1-3.
NO_HZ: Full dynticks CPUs: 1-3.
"""

TUNED_BOOT = {
    "proc/cmdline": LINE,
    f"{CPU}/isolated": "1-3\n",
    f"{CPU}/nohz_full": "1-3\n",
    "sys/module/rcupdate/parameters/rcu_normal_after_boot": "1\n",
    "proc/irq/default_smp_affinity": "1\n",
    "proc/irq/24/smp_affinity": "1\n",
    "proc/sys/kernel/timer_migration": "1\n",
    "proc/sys/vm/compaction_proactiveness": "0\n",
    "sys/devices/virtual/workqueue/cpumask": "1\n",
    "sys/bus/workqueue/devices/writeback/cpumask": "1\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "var/log/dmesg": DMESG,
}


@pytest.fixture
def host(tmp_path: Path) -> Path:
    root = write_tree(tmp_path, machine())
    plan = lowlat("plan", "--root", root, "--json").out
    return write_tree(root, {**TUNED_BOOT, "var/lib/lowlat/plan.json": plan})


def rows(root: Path, status: int) -> dict[str, dict[str, Any]]:
    answer = lowlat("verify", "--root", root, "--json")
    assert answer.status == status, answer.out
    document = answer.json()
    assert list(document) == ["schema", "settings"]
    assert document["schema"] == "lowlat.verify/1"
    for row in document["settings"]:
        assert list(row) == ["name", "where", "planned", "effective", "state", "by", "evidence"]
    return {row["name"]: row for row in document["settings"]}


def test_all_in_effect(host: Path) -> None:
    found = rows(host, 0)
    assert {row["state"] for row in found.values()} == {"effective"}
    assert "Offload RCU callbacks" in found["rcu_nocbs"]["evidence"]
    assert len(found) == 13


def test_a_missing_parameter(host: Path) -> None:
    (host / "proc/cmdline").write_text(LINE.replace("nohz_full=1-3 ", ""))
    assert rows(host, 1)["nohz_full"]["state"] == "not-applied"


def test_a_second_isolcpus(host: Path) -> None:
    (host / "proc/cmdline").write_text(LINE.strip() + " isolcpus=2\n")
    row = rows(host, 1)["isolcpus"]
    assert row["state"] == "not-applied" and "more than once" in row["evidence"]


def test_a_kernel_without_the_feature(host: Path) -> None:
    (host / CPU / "nohz_full").unlink()
    text = DMESG.replace("NO_HZ: Full dynticks CPUs: 1-3.", "")
    text += "Housekeeping: nohz unsupported. Build with CONFIG_NO_HZ_FULL\n"
    (host / "var/log/dmesg").write_text(text)
    row = rows(host, 1)["nohz_full"]
    assert row["state"] == "ignored-by-kernel" and "CONFIG_NO_HZ_FULL" in row["evidence"]


def test_the_kernel_reads_another_list(host: Path) -> None:
    (host / CPU / "isolated").write_text("\n")
    assert rows(host, 1)["isolcpus"]["state"] == "ignored-by-kernel"


def test_an_unknown_parameter(host: Path) -> None:
    text = 'Unknown kernel command line parameters "skew_tick=1", will be passed to user space.\n'
    (host / "var/log/dmesg").write_text(DMESG + text)
    found = rows(host, 1)
    assert found["skew_tick"]["state"] == "ignored-by-kernel"
    assert found["irqaffinity"]["state"] == "effective"


def test_without_the_start_of_the_messages_nothing_is_called_good(host: Path) -> None:
    (host / "var/log/dmesg").write_text("later messages only\n")
    found = rows(host, 0)
    assert found["skew_tick"]["state"] == "unverifiable"
    assert found["rcu_nocbs"]["state"] == "unverifiable"
    assert found["isolcpus"]["state"] == "effective"


def test_a_widened_workqueue_mask(host: Path) -> None:
    (host / "sys/devices/virtual/workqueue/cpumask").write_text("f\n")
    row = rows(host, 1)["workqueue.cpumask"]
    assert row["state"] == "not-applied" and "is f" in row["evidence"]


def test_an_interrupt_moved_back_and_one_that_cannot_move(host: Path) -> None:
    (host / "proc/irq/24/smp_affinity").write_text("f\n")
    lowlat_rows = lowlat("verify", "--root", host, "--json").json()["settings"]
    row = next(row for row in lowlat_rows if row["where"] == "/proc/irq/[0-9]*/smp_affinity")
    assert row["state"] == "not-applied" and "/proc/irq/24/" in row["evidence"]
    (host / "proc/irq/24/smp_affinity").chmod(0o444)
    lowlat_rows = lowlat("verify", "--root", host, "--json").json()["settings"]
    row = next(row for row in lowlat_rows if row["where"] == "/proc/irq/[0-9]*/smp_affinity")
    assert row["state"] == "effective" and "keeps these" in row["evidence"]
    assert lowlat("verify", "--root", host).status == 0


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("isolcpus", f"{CPU}/isolated"),
        ("rcupdate.rcu_normal_after_boot", "sys/module/rcupdate/parameters/rcu_normal_after_boot"),
    ],
)
def test_what_cannot_be_seen_is_not_called_effective(host: Path, name: str, file: str) -> None:
    (host / file).unlink()
    assert rows(host, 0)[name]["state"] == "unverifiable"


def test_an_old_kernel_does_not_report_unknown_parameters(host: Path) -> None:
    (host / "proc/sys/kernel/osrelease").write_text("5.10.0-30-amd64\n")
    assert rows(host, 0)["skew_tick"]["state"] == "unverifiable"
