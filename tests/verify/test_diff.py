# SPDX-License-Identifier: GPL-2.0-or-later
"""``plan --diff``: the changes that the plan would make on the running system."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.cli import lowlat
from support.machines import CONFIG, fair_server, machine, write_tree

MASK = "sys/devices/virtual/workqueue/cpumask"
SETTLED = {
    "proc/sys/kernel/timer_migration": "1\n",
    "proc/irq/default_smp_affinity": "1\n",
    MASK: "f\n",
    "sys/bus/workqueue/devices/writeback/cpumask": "1\n",
    "proc/sys/vm/compaction_proactiveness": "0\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "proc/irq/7/smp_affinity": "f\n",
    "proc/irq/8/smp_affinity": "1\n",
    "proc/irq/9/smp_affinity": "e\n",
    **fair_server(range(1, 4)),
}


def host(tmp_path: Path, line: str = "root=/dev/sda1 quiet") -> Path:
    root = write_tree(tmp_path, {**machine(), **SETTLED, "proc/cmdline": f"{line}\n"})
    # The kernel shows an interrupt that it keeps in its place like this.
    (root / "proc/irq/9/smp_affinity").chmod(0o444)
    return root


def diff(root: Path, *words: str) -> dict[str, Any]:
    document = lowlat("plan", "--root", root, "--diff", "--json", *words).json()
    assert list(document) == ["schema", "changes", "unchanged"]
    assert document["schema"] == "lowlat.diff/1"
    for change in document["changes"]:
        assert list(change) == ["name", "where", "now", "planned"]
    return dict(document)


def change(name: str, where: str, now: object, planned: object) -> dict[str, object]:
    return {"name": name, "where": where, "now": now, "planned": planned}


def test_only_what_would_change_is_listed_and_the_rest_counted(tmp_path: Path) -> None:
    root = host(tmp_path, "root=/dev/sda1 isolcpus=2-3 skew_tick=1 quiet")
    found = diff(root)
    line = [item for item in found["changes"] if item["where"] == "cmdline"]
    assert line == [
        change("isolcpus", "cmdline", "2-3", "managed_irq,domain,1-3"),
        change("nohz_full", "cmdline", None, "1-3"),
        change("rcu_nocbs", "cmdline", None, "1-3"),
        change("irqaffinity", "cmdline", None, "0"),
        change("rcupdate.rcu_normal_after_boot", "cmdline", None, "1"),
    ]
    assert [item for item in found["changes"] if item not in line] == [
        change("irq.smp_affinity", "/proc/irq/7/smp_affinity", "f", "1"),
        change("workqueue.cpumask", f"/{MASK}", "f", "1"),
    ]
    # skew_tick; the timers, the default and the two other interrupts, writeback and memory.
    assert found["unchanged"] == 1 + 13


def test_a_system_that_is_as_planned_has_nothing_to_change(tmp_path: Path) -> None:
    root = host(tmp_path)
    document = lowlat("plan", "--root", root, "--json").json()
    (root / "proc/cmdline").write_text(f"root=/dev/sda1 {document['cmdline']['text']}\n")
    (root / MASK).write_text("1\n")
    (root / "proc/irq/7/smp_affinity").write_text("1\n")
    assert diff(root) == {"schema": "lowlat.diff/1", "changes": [], "unchanged": 6 + 15}
    out = lowlat("plan", "--root", root, "--diff").out
    assert out.splitlines()[-1] == "0 values would change, 21 are already as planned."


def test_a_boot_of_another_plan_loses_what_the_new_one_has_not(tmp_path: Path) -> None:
    line = "root=/dev/sda1 mitigations=auto threadirqs idle=poll"
    # Another owner put this word on a stock line, and it stays.
    stock = diff(host(tmp_path / "stock", line))
    assert not {"threadirqs", "idle"} & {item["name"] for item in stock["changes"]}
    ours = diff(host(tmp_path / "ours", f"{line} lowlat.plan=0123456789ab"))
    gone = [item for item in ours["changes"] if item["planned"] is None]
    assert gone == [
        change("threadirqs", "cmdline", "", None),
        change("idle", "cmdline", "poll", None),
    ]


def test_a_parameter_that_is_given_twice_would_change(tmp_path: Path) -> None:
    found = diff(host(tmp_path, "skew_tick=0 skew_tick=1"))
    assert change("skew_tick", "cmdline", "0 and 1", "1") in found["changes"]


def test_what_is_not_there_is_nothing(tmp_path: Path) -> None:
    root = host(tmp_path)
    (root / MASK).unlink()
    assert change("workqueue.cpumask", f"/{MASK}", None, "1") in diff(root)["changes"]
    out = lowlat("plan", "--root", root, "--diff").out
    assert f"/{MASK}: is not there, planned 0" in " ".join(out.split())


def test_the_words_tell_the_same(tmp_path: Path) -> None:
    out = lowlat("plan", "--root", host(tmp_path), "--diff").out
    words = " ".join(out.split())
    assert "isolcpus is not set, planned managed_irq,domain,1-3" in words
    assert f"workqueue.cpumask /{MASK}: 0-3 would become 0" in words
    assert out.splitlines()[-1] == "8 values would change, 13 are already as planned."


def test_many_files_of_one_setting_are_one_line(tmp_path: Path) -> None:
    more = {f"proc/irq/{number}/smp_affinity": "f\n" for number in range(20, 40)}
    root = write_tree(host(tmp_path), more)
    out = lowlat("plan", "--root", root, "--diff").out
    lines = [line for line in out.splitlines() if "/proc/irq/" in line and "default" not in line]
    assert len(lines) == 1 and "(and 20 more)" in " ".join(out.split())


def test_a_kernel_thread_is_named_as_people_know_it(tmp_path: Path) -> None:
    config = CONFIG.replace("CONFIG_NO_HZ_FULL=y\n", "")
    root = write_tree(tmp_path, machine(config=config))
    stat = "2 (kthreadd) S 0 0 0 0 -1 2129984 " + "0 " * 12 + "25 " + "0 " * 22
    status = "Name:\tkthreadd\nCpus_allowed:\tf\n"
    write_tree(root, {"proc/2/stat": stat, "proc/2/status": status})
    out = lowlat("plan", "--root", root, "--diff").out
    assert "affinity of kernel thread kthreadd (2): 0-3 would become 0" in " ".join(out.split())
    assert "kthread:" not in out
