# SPDX-License-Identifier: GPL-2.0-or-later
"""``runtime``: set what differs, remember, put back. On a tree of files, which keeps no rules of
its own; the kernel's part is tested in the VM."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trees import lowlat, machine, write_tree

VALUES = {
    "proc/irq/default_smp_affinity": "f\n",
    "proc/irq/24/smp_affinity": "0000000f\n",
    "proc/irq/25/smp_affinity": "1\n",
    "proc/sys/kernel/timer_migration": "1\n",
    "proc/sys/vm/compaction_proactiveness": "20\n",
    "sys/devices/virtual/workqueue/cpumask": "f\n",
    "sys/bus/workqueue/devices/writeback/cpumask": "1\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n",
}

PLANNED = {
    "proc/irq/default_smp_affinity": "1",
    "proc/irq/24/smp_affinity": "1",
    "proc/sys/vm/compaction_proactiveness": "0",
    "sys/devices/virtual/workqueue/cpumask": "1",
    "sys/kernel/mm/transparent_hugepage/enabled": "madvise",
}


@pytest.fixture
def host(tmp_path: Path) -> Path:
    root = write_tree(tmp_path, {**machine(), **VALUES})
    plan = lowlat("plan", "--root", root, "--json").out
    write_tree(root, {"var/lib/lowlat/plan.json": plan})
    return root


def contents(root: Path) -> dict[str, str]:
    return {name: (root / name).read_text() for name in VALUES}


def test_start_writes_only_what_differs(host: Path) -> None:
    inode = (host / "proc/irq/25/smp_affinity").stat().st_mtime_ns
    lowlat("runtime", "start", "--root", host)
    now = contents(host)
    assert {name: now[name] for name in PLANNED} == PLANNED
    untouched = VALUES.keys() - PLANNED.keys()
    assert {name: now[name] for name in untouched} == {name: VALUES[name] for name in untouched}
    assert (host / "proc/irq/25/smp_affinity").stat().st_mtime_ns == inode


def test_stop_puts_every_value_back_and_twice_is_once(host: Path) -> None:
    before = contents(host)
    lowlat("runtime", "start", "--root", host)
    assert contents(host) != before
    assert lowlat("runtime", "stop", "--root", host).status == 0
    restored = {name: text.strip() for name, text in contents(host).items()}
    expected = {name: text.strip() for name, text in before.items()}
    expected["sys/kernel/mm/transparent_hugepage/enabled"] = "always"
    assert restored == expected
    assert lowlat("runtime", "stop", "--root", host).status == 0


def test_a_second_start_keeps_the_first_values(host: Path) -> None:
    lowlat("runtime", "start", "--root", host)
    (host / "proc/sys/vm/compaction_proactiveness").write_text("50\n")
    lowlat("runtime", "start", "--root", host)
    lowlat("runtime", "stop", "--root", host)
    assert (host / "proc/sys/vm/compaction_proactiveness").read_text() == "20"


def test_a_dry_run_writes_nothing(host: Path) -> None:
    before = contents(host)
    answer = lowlat("runtime", "start", "--dry-run", "--root", host)
    assert answer.status == 0
    assert "compaction_proactiveness (20) would become 0" in answer.out
    assert contents(host) == before
    assert not (host / "run").exists()


def test_what_is_missing_is_said(host: Path) -> None:
    (host / "proc/sys/vm/compaction_proactiveness").unlink()
    answer = lowlat("runtime", "start", "--root", host)
    assert answer.status == 1
    assert "compaction_proactiveness" in answer.out and "not there" in answer.out
    assert not (host / "proc/sys/vm/compaction_proactiveness").exists()


def test_verify_tells_what_was_changed_behind_our_back(host: Path) -> None:
    lowlat("runtime", "start", "--root", host)
    (host / "sys/devices/virtual/workqueue/cpumask").write_text("f\n")
    answer = lowlat("runtime", "verify", "--root", host)
    assert answer.status == 1
    assert "workqueue/cpumask (f) is not 1" in answer.out


def test_a_link_planted_as_the_journal_is_not_followed(host: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("keep")
    (host / "run/lowlat").mkdir(parents=True)
    (host / "run/lowlat/runtime.new").symlink_to(victim)
    answer = lowlat("runtime", "start", "--root", host)
    answer.refused()
    assert victim.read_text() == "keep"
    assert contents(host) == {name: text for name, text in VALUES.items()}


def test_without_a_plan_it_is_refused(tmp_path: Path) -> None:
    root = write_tree(tmp_path, machine())
    assert "no plan is applied" in lowlat("runtime", "start", "--root", root).refused()


def test_the_journal_holds_the_old_values_before_anything_is_written(host: Path) -> None:
    lowlat("runtime", "start", "--root", host)
    journal = json.loads((host / "run/lowlat/runtime.json").read_text())
    assert journal["old"]["/proc/sys/vm/compaction_proactiveness"] == "20"
    assert journal["old"]["/sys/kernel/mm/transparent_hugepage/enabled"] == "always"


def test_a_value_that_could_not_be_put_back_is_not_forgotten(host: Path) -> None:
    lowlat("runtime", "start", "--root", host)
    target = host / "proc/sys/vm/compaction_proactiveness"
    target.rename(target.with_name("aside"))
    target.mkdir()
    assert lowlat("runtime", "stop", "--root", host).status == 1
    target.rmdir()
    target.with_name("aside").rename(target)
    assert lowlat("runtime", "stop", "--root", host).status == 0
    assert target.read_text() == "20"


def test_an_interrupt_that_is_gone_is_no_problem(host: Path) -> None:
    lowlat("runtime", "start", "--root", host)
    (host / "proc/irq/24/smp_affinity").unlink()
    (host / "proc/irq/24").rmdir()
    assert lowlat("runtime", "stop", "--root", host).status == 0


def test_an_interrupt_among_the_housekeeping_cpus_stays_where_it_is(tmp_path: Path) -> None:
    masks = {"proc/irq/24/smp_affinity": "2\n", "proc/irq/25/smp_affinity": "6\n"}
    root = write_tree(tmp_path, {**machine(), **VALUES, **masks})
    plan = lowlat("plan", "--root", root, "--isolate", "2-3", "--json").out
    write_tree(root, {"var/lib/lowlat/plan.json": plan})
    lowlat("runtime", "start", "--root", root)
    assert (root / "proc/irq/24/smp_affinity").read_text() == "2\n"
    # One that also names isolated CPUs loses only those.
    assert (root / "proc/irq/25/smp_affinity").read_text() == "2"
    rows = lowlat("verify", "--root", root, "--json").json()["settings"]
    states = {row["name"]: row["state"] for row in rows}
    assert states["irq.smp_affinity"] == "effective"


def test_the_check_interval_is_put_back_as_the_kernel_reads_it(tmp_path: Path) -> None:
    name = "sys/devices/system/machinecheck/machinecheck0/check_interval"
    root = write_tree(tmp_path, {**machine(), **VALUES, name: "12c\n"})
    enable = ("--enable", "machinecheck.check_interval")
    plan = lowlat("plan", "--root", root, *enable, "--json").out
    write_tree(root, {"var/lib/lowlat/plan.json": plan})
    lowlat("runtime", "start", "--root", root)
    assert (root / name).read_text() == "0"
    lowlat("runtime", "stop", "--root", root)
    assert (root / name).read_text() == "300"


@pytest.mark.parametrize(
    "journal",
    [
        '{"old": {"/../outside": "evil"}}',
        '{"old": {"/etc/passwd": "evil"}}',
        '{"old": {"/proc/sys/x": 5}}',
        '{"old": []}',
        "[" * 100_000,
        "{",
    ],
)
def test_a_damaged_or_forged_journal_is_not_obeyed(host: Path, journal: str) -> None:
    write_tree(host, {"run/lowlat/runtime.json": journal, "etc/passwd": "root\n"})
    answer = lowlat("runtime", "stop", "--root", host)
    assert answer.status == 1 and answer.err.count("\n") == 1 and "damaged" in answer.err
    assert (host / "etc/passwd").read_text() == "root\n"


def test_a_link_in_a_captured_machine_does_not_lead_out(host: Path, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (outside / "compaction_proactiveness").write_text("20\n")
    for path in (host / "proc/sys/vm").iterdir():
        path.unlink()
    (host / "proc/sys/vm").rmdir()
    (host / "proc/sys/vm").symlink_to(outside)
    lowlat("runtime", "start", "--root", host)
    assert (outside / "compaction_proactiveness").read_text() == "20\n"
