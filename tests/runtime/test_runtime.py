# SPDX-License-Identifier: GPL-2.0-or-later
"""``runtime``: set the values that differ, record them, and restore them. The tests use a tree of
files, which enforces no rules; the VM tests check the kernel's part."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from lowlat import __version__
from lowlat.host.root import Root
from lowlat.model.plan import digest
from lowlat.plan.store import facts
from support.cli import lowlat
from support.machines import CPU, fair_server, machine, write_tree

VALUES = {
    "proc/irq/default_smp_affinity": "f\n",
    "proc/irq/24/smp_affinity": "0000000f\n",
    "proc/irq/25/smp_affinity": "1\n",
    "proc/sys/kernel/timer_migration": "1\n",
    "proc/sys/vm/compaction_proactiveness": "20\n",
    "sys/devices/virtual/workqueue/cpumask": "f\n",
    "sys/bus/workqueue/devices/writeback/cpumask": "1\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n",
    **fair_server(range(1, 4), planned=False),
}

#: Already right: a tree would not print a chosen value in the kernel's form.
MADVISE = {"sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n"}

#: The effect of isolcpus and nohz_full in a boot that has them.
LEFT_TO_BOOT = {
    "proc/sys/kernel/watchdog_cpumask": "0-3\n",
    "proc/sys/vm/stat_interval": "1\n",
}

PLANNED = {
    "proc/irq/default_smp_affinity": "1",
    "proc/irq/24/smp_affinity": "1",
    "proc/sys/vm/compaction_proactiveness": "0",
    "sys/devices/virtual/workqueue/cpumask": "1",
    "sys/kernel/mm/transparent_hugepage/enabled": "madvise",
    **{name: text.strip() for name, text in fair_server(range(1, 4)).items()},
}


@pytest.fixture
def host(tmp_path: Path) -> Path:
    root = write_tree(tmp_path, {**machine(), **VALUES})
    plan = lowlat("plan", "--root", root, "--json").out
    write_tree(root, {"var/lib/lowlat/plan.json": plan})
    return root


def contents(root: Path) -> dict[str, str]:
    return {name: (root / name).read_text() for name in VALUES}


@pytest.mark.parametrize(
    ("node", "held", "moved"),
    [
        *[("1", "2", "10"), ("0", "2", "1"), ("-1", "2", "11"), ("1", "3", "1"), ("7", "2", "11")],
        *[("1", "ff", "10"), ("0", "ff", "1"), ("-1", "ff", "11"), ("7", "ff", "11")],
    ],
)
def test_an_interrupt_stays_on_the_node_of_its_device(
    tmp_path: Path, node: str, held: str, moved: str
) -> None:
    files = {
        **machine(cpus=8),
        "sys/devices/system/node/node0/cpulist": "0-3",
        "sys/devices/system/node/node1/cpulist": "4-7",
        "proc/irq/24/smp_affinity": held,
        "proc/irq/24/node": node,
    }
    root = write_tree(tmp_path, files)
    plan = lowlat("plan", "--root", root, "--json")
    assert plan.json()["cpus"]["housekeeping"] == "0,4"
    write_tree(root, {"var/lib/lowlat/plan.json": plan.out})
    lowlat("runtime", "start", "--root", root)
    assert (root / "proc/irq/24/smp_affinity").read_text() == moved


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


def test_json_tells_what_changed_and_a_second_time_nothing_did(host: Path) -> None:
    def told(action: str, *words: str) -> tuple[bool, bool]:
        """The reported changes, and whether before and after differ."""
        found = lowlat("runtime", action, "--root", host, "--json", *words).json()
        assert found["schema"] == "lowlat.change/1"
        return found["changed"], found["before"] != found["after"]

    before = contents(host)
    assert told("start", "--dry-run") == (True, True)
    assert contents(host) == before
    assert told("stop", "--dry-run") == (False, False)
    assert told("start") == (True, True)
    assert told("start", "--dry-run") == told("start") == (False, False)
    assert told("verify") == (False, False)
    assert told("stop")[0]
    assert not told("stop")[0]


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
    assert "compaction_proactiveness: 20 would become 0" in answer.out
    assert "workqueue/cpumask: 0-3 would become 0\n" in answer.out
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
    assert "workqueue/cpumask is 0-3, planned 0\n" in answer.out


@pytest.mark.parametrize("name", ["lock", "runtime.json", "runtime.json.PID.new"])
def test_a_planted_link_is_not_followed(host: Path, tmp_path: Path, name: str) -> None:
    victim = tmp_path / "victim"
    victim.write_text("keep")
    (host / "run/lowlat").mkdir(parents=True)
    (host / "run/lowlat" / name.replace("PID", str(os.getpid()))).symlink_to(victim)
    answer = lowlat("runtime", "start", "--root", host)
    assert victim.read_text() == "keep"
    if name == "lock":
        answer.refused()
        assert contents(host) == VALUES


@pytest.mark.security
@pytest.mark.parametrize("link", ["run", "run/lowlat"])
def test_nothing_is_written_out_of_a_tree(
    host: Path, tmp_path_factory: pytest.TempPathFactory, link: str
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "plan.json").write_text("keep")
    (host / link).parent.mkdir(parents=True, exist_ok=True)
    (host / link).symlink_to(outside)
    (host / "etc").mkdir(exist_ok=True)
    lowlat("runtime", "stop", "--root", host)
    for words in (("runtime", "start"), ("tune", "--resume")):
        assert "a symbolic link or a file is in the way" in lowlat(*words, "--root", host).refused()
    assert [path.name for path in outside.iterdir()] == ["plan.json"]
    assert (outside / "plan.json").read_text() == "keep"
    assert contents(host) == {name: text for name, text in VALUES.items()}


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
    # A mask that also names isolated CPUs loses only these CPUs.
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
        '{"old": {"kthread:x:1:2:nice": "0"}}',
        '{"old": {"cgroup:/sys/fs/cgroup/system.slice/../x.slice": "folder"}}',
        '{"done": {"/etc/passwd": "evil"}}',
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


@pytest.mark.security
def test_stop_puts_back_what_a_later_version_started(host: Path) -> None:
    lowlat("runtime", "start", "--root", host)
    path = host / "run/lowlat/runtime.json"
    journal = json.loads(path.read_text())
    assert (journal["schema"], journal["writer"]) == ("lowlat.runtime/1", __version__)
    later = {**journal, "schema": "lowlat.runtime/2", "writer": "9.9.9", "more": {"of": "it"}}
    path.write_text(json.dumps(later))
    assert lowlat("runtime", "stop", "--root", host).status == 0
    assert (host / "proc/sys/vm/compaction_proactiveness").read_text() == "20"
    assert not path.exists()


def test_what_was_effective_is_on_record(host: Path) -> None:
    lowlat("runtime", "start", "--root", host)
    done = json.loads((host / "run/lowlat/runtime.json").read_text())["done"]
    # The record also has TuneD's native settings, and values that were right before.
    expected = {**PLANNED, "proc/irq/25/smp_affinity": "1", "proc/sys/kernel/timer_migration": "1"}
    # A tree does not mark the chosen value as the kernel does, so nothing proves this value.
    del expected["sys/kernel/mm/transparent_hugepage/enabled"]
    assert {name: done[f"/{name}"] for name in expected} == expected
    # A value that no longer exists keeps its record.
    (host / "proc/sys/vm/compaction_proactiveness").unlink()
    lowlat("runtime", "start", "--root", host)
    again = json.loads((host / "run/lowlat/runtime.json").read_text())["done"]
    assert again == done


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


# ------------------------------------------------- selected by TuneD alone


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A machine on which no plan was ever applied."""
    return write_tree(tmp_path, {**machine(), **VALUES, **MADVISE, **LEFT_TO_BOOT})


def in_use(root: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((root / "run/lowlat/plan.json").read_text())
    return document


def test_without_a_stored_plan_a_profile_is_planned_for_the_running_machine(bare: Path) -> None:
    answer = lowlat("runtime", "start", "--profile", "lowlat", "--root", bare)
    assert answer.status == 0, answer.out
    plan = lowlat("plan", "--root", bare, "--json").json()
    assert in_use(bare)["cpus"] == plan["cpus"]
    assert in_use(bare)["cmdline"] == plan["cmdline"]
    assert (bare / "proc/irq/24/smp_affinity").read_text() == "1"
    assert not (bare / "var").exists()
    assert lowlat("runtime", "verify", "--root", bare).status == 0
    assert lowlat("runtime", "stop", "--profile", "lowlat", "--root", bare).status == 0
    assert [path.name for path in (bare / "run/lowlat").iterdir()] == ["lock"]


def test_what_the_boot_parameters_have_not_done_is_set(bare: Path) -> None:
    """Without nohz_full and isolcpus on the running line, nothing else has the effect of these
    settings."""
    asked = ("runtime", "start", "--profile", "lowlat", "--root", bare)
    assert lowlat(*asked).status == 0
    assert (bare / "proc/sys/kernel/watchdog_cpumask").read_text() == "0"
    assert (bare / "proc/sys/vm/stat_interval").read_text() == "120"
    assert "kthread.affinity" in {item["name"] for item in in_use(bare)["runtime"]}
    parameters = in_use(bare)["cmdline"]["parameters"]
    assert {"isolcpus", "nohz_full"} <= {item["name"] for item in parameters}


def test_what_the_boot_parameters_have_done_is_left_alone(bare: Path) -> None:
    plan = lowlat("plan", "--root", bare, "--json").json()
    (bare / "proc/cmdline").write_text(f"quiet {plan['cmdline']['text']}\n")
    (bare / CPU / "isolated").write_text("1-3\n")
    assert lowlat("runtime", "start", "--profile", "lowlat", "--root", bare).status == 0
    assert in_use(bare)["runtime"] == plan["runtime"]
    kept = {name: (bare / name).read_text() for name in LEFT_TO_BOOT}
    assert kept == LEFT_TO_BOOT


def test_the_cpus_that_the_kernel_isolates_are_taken(bare: Path) -> None:
    (bare / CPU / "isolated").write_text("2-3\n")
    asked = ("--profile", "lowlat", "--root", bare)
    assert lowlat("runtime", "start", *asked).status == 0
    assert in_use(bare)["cpus"]["isolated"] == "2-3"
    assert lowlat("cpus", "isolated", *asked).out == "2-3\n"
    assert (bare / "proc/irq/24/smp_affinity").read_text() == "3"


def test_a_profile_that_isolates_nothing_ignores_them(bare: Path) -> None:
    (bare / CPU / "isolated").write_text("2-3\n")
    assert lowlat("runtime", "start", "--profile", "lowlat-desktop", "--root", bare).status == 0
    assert in_use(bare)["cpus"]["isolated"] == ""
    assert lowlat("cpus", "isolated", "--profile", "lowlat-desktop", "--root", bare).out == "\n"


def test_a_users_profile_chooses_for_both(bare: Path) -> None:
    own = "[main]\nparent = lowlat\nsummary = mine\n[cpus]\nhousekeeping_cores = 2\n"
    write_tree(bare, {"etc/lowlat/profiles/mine/lowlat.conf": own})
    assert lowlat("runtime", "start", "--profile", "mine", "--root", bare).status == 0
    assert in_use(bare)["cpus"]["isolated"] == "2-3"
    assert lowlat("cpus", "isolated", "--profile", "mine", "--root", bare).out == "2-3\n"


@pytest.mark.parametrize(
    ("marker", "profile", "isolated"),
    [("own", "lowlat", "3"), ("other", "lowlat", "1-3"), ("own", "lowlat-hpc", "1-3")],
)
def test_the_applied_plan_holds_in_a_boot_of_it(
    bare: Path, marker: str, profile: str, isolated: str
) -> None:
    plan = lowlat("plan", "--root", bare, "--isolate", "3", "--json")
    write_tree(bare, {"var/lib/lowlat/plan.json": plan.out})
    marked = plan.json()["id"] if marker == "own" else marker
    (bare / "proc/cmdline").write_text(f"quiet lowlat.plan={marked}\n")
    asked = ("--profile", profile, "--root", bare)
    lowlat("runtime", "start", *asked)
    assert in_use(bare)["cpus"]["isolated"] == isolated
    assert lowlat("cpus", "isolated", *asked).out == f"{isolated}\n"
    assert lowlat("runtime", "verify", *asked).status == 0


def test_a_named_set_of_the_applied_plan_is_found_by_its_name(bare: Path) -> None:
    plan = lowlat("plan", "--root", bare, "--isolate", "feed=1,engine=2-3", "--json")
    write_tree(bare, {"var/lib/lowlat/plan.json": plan.out})
    (bare / "proc/cmdline").write_text(f"quiet lowlat.plan={plan.json()['id']}\n")
    for name, cpus in (("feed", "1"), ("engine", "2-3"), ("isolated", "1-3")):
        assert lowlat("cpus", name, "--root", bare).out == f"{cpus}\n"
    # The part of the plan that a run keeps for the report.
    sets = {"feed": "1", "engine": "2-3"}
    found = {"sets": sets, "profile": "lowlat", "judged_by": "noise_ppm"}
    assert facts(Root(str(bare))) == found
    asked = ("run", "--root", bare, "--dry-run", "--set", "engine", "--one-per-thread")
    assert "on CPU 2-3 (each thread on one of its own, in the order 2,3)" in (
        lowlat(*asked, "--", "engine").out
    )
    said = lowlat("cpus", "fed", "--root", bare).refused()
    assert "no set of CPUs 'fed' (there are: isolated, housekeeping, feed, engine;" in said
    assert "give one of the two" in lowlat(*asked, "--cpus", "2", "--", "engine").refused()
    (bare / "proc/cmdline").write_text("quiet\n")
    assert facts(Root(str(bare))) == {"sets": {}, "profile": None, "judged_by": None}


def test_a_plan_whose_sets_are_not_isolated_is_refused(bare: Path, tmp_path: Path) -> None:
    plan = lowlat("plan", "--root", bare, "--isolate", "feed=1,engine=2-3", "--json").json()
    del plan["schema"], plan["id"]
    plan["cpus"]["sets"]["feed"] = "0"
    changed = {"schema": "lowlat.plan/1", "id": digest(plan), **plan}
    file = write_tree(tmp_path / "changed", {"plan.json": json.dumps(changed)}) / "plan.json"
    said = lowlat("verify", "--root", bare, "--plan", file).refused()
    assert "its named sets are not all isolated" in said


def test_a_profile_that_isolates_nothing_takes_one_cpu(tmp_path: Path) -> None:
    root = write_tree(tmp_path, {**machine(cpus=1), **VALUES})
    assert lowlat("runtime", "start", "--profile", "lowlat-desktop", "--root", root).status == 0


def test_a_forged_plan_in_use_is_refused(host: Path) -> None:
    lowlat("runtime", "start", "--root", host)
    document = in_use(host)
    document["runtime"][0]["target"] = "/proc/sys/kernel/core_pattern"
    (host / "run/lowlat/plan.json").write_text(json.dumps(document))
    assert "/run/lowlat/plan.json" in lowlat("runtime", "verify", "--root", host).refused()


# ------------------------------------------------------------ TuneD's state


def test_what_tuned_does_not_do_is_said(host: Path) -> None:
    assert "install the package tuned" in lowlat("runtime", "start", "--root", host).out
    write_tree(host, {"usr/sbin/tuned": "", "etc/tuned/tuned-main.conf": "daemon = 1\n"})
    assert "TuneD is not running" in lowlat("runtime", "verify", "--root", host).out
    write_tree(host, {"etc/tuned/tuned-main.conf": "# x\ndaemon = 0\n"})
    assert "once and does not revert" in lowlat("runtime", "verify", "--root", host).out
    write_tree(host, {"etc/tuned/tuned-main.conf": "", "proc/77/comm": "tuned\n"})
    assert "TuneD" not in lowlat("runtime", "verify", "--root", host).out
