# SPDX-License-Identifier: GPL-2.0-or-later
"""The catalogue as a whole: every entry is complete and explained, and none is forbidden."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from lowlat.catalogue import CATALOGUE, lookup
from lowlat.catalogue.entry import Risk, Tunable
from lowlat.catalogue.names import ALIASES, ELSEWHERE, NEVER
from lowlat.explain.entries import parts
from lowlat.host.root import Root
from lowlat.plan import profile
from support import needs
from support.cli import lowlat

#: The settings of the mission; each must be an entry or a stated refusal.
MISSION = [
    "isolcpus",
    "nohz_full",
    "rcu_nocbs",
    "idle=poll",
    "mce=ignore_ce",
    "skew_tick",
    "irqaffinity",
    "nosoftlockup",
    "nowatchdog",
    "rcu_nocb_poll",
    "rcupdate.rcu_normal_after_boot",
    "processor.max_cstate",
    "intel_idle.max_cstate",
    "transparent_hugepage",
    "tsc",
    "clocksource",
    "cpufreq.default_governor",
    "preempt",
    "threadirqs",
    "rcutree.enable_rcu_lazy",
    "vm.stat_interval",
    "workqueue.cpumask",
    "workqueue.writeback.cpumask",
    "irq.smp_affinity",
    "irq.default_smp_affinity",
    "kernel.watchdog_cpumask",
    "kernel.timer_migration",
    "kernel.numa_balancing",
    "scaling_governor",
    "pm_qos_resume_latency_us",
    "machinecheck.check_interval",
    "fair_server",
    "cpuset.cpus",
    "cpuset.partition",
    "kthread.affinity",
    "kthread.priority",
]


@pytest.mark.parametrize("name", MISSION)
def test_the_mission_is_covered(name: str) -> None:
    assert lookup(name)


def test_irqbalance_is_left_to_itself_and_that_is_said() -> None:
    answer = lowlat("explain", "irqbalance")
    assert answer.status == 0 and "isolcpus and nohz_full" in answer.out


def test_explain_says_that_isolcpus_is_not_deprecated() -> None:
    assert "not deprecated" in lowlat("explain", "isolcpus").out
    assert "from linux 7.0 on" in lowlat("explain", "cpuset.partition").out.lower()
    for name in ("mitigations", "mitigations=off"):
        said = " ".join(lowlat("explain", name).out.split())
        assert "is not set by lowlat" in said and "guest exits" in said


def test_names_are_unique() -> None:
    names = [entry.name for entry in CATALOGUE]
    assert len(names) == len(set(names))
    assert not [name for name in names if "-" in name]


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda entry: entry.name)
def test_an_entry_is_complete(entry: Tunable) -> None:
    assert entry.why and entry.source and dict(parts(entry))["Seen"] and entry.cost
    assert (entry.value is None) == bool(entry.rows)
    assert (entry.risk is Risk.NONE) or entry.cost != "none"
    if entry.tuned:
        assert [row.value for row in entry.rows if "{" not in row.path + row.value]
    if entry.accepts:
        re.compile(entry.accepts)


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda entry: entry.name)
def test_what_an_entry_refers_to_is_there(entry: Tunable) -> None:
    before = [other.name for other in CATALOGUE[: CATALOGUE.index(entry)]]
    assert set(entry.conflicts) <= set(before), "the planner decides in the catalogue's order"
    assert set(entry.implies) <= {other.name for other in CATALOGUE} - {entry.name}
    for need in entry.needs:
        assert need.missing and need.wants


def test_no_name_has_two_meanings() -> None:
    tables = [{entry.name for entry in CATALOGUE}, set(NEVER), set(ELSEWHERE), set(ALIASES)]
    assert sum(map(len, tables)) == len(set().union(*tables))
    assert set(ALIASES.values()) <= tables[0]


# ------------------------------------------------------- the sheet of kernel facts

FACTS = Path(os.environ.get("LOWLAT_FACTS", os.devnull))

#: The tables also quote these, but they are no settings: values, evidence of an effect, programs.
IGNORED = """
    0 =0 =1 12c (null) n/a all domain enable isolated lazy managed_irq member nopanic passive root
    Housekeeping: isolcpus: /proc/cmdline timer:tick_stop irq/NN-name rcuop/N rcuos/N rcuog/N
    sched_tick_remote dl_task_timer nohz_full_kick_func clocksource_watchdog tsc_adjust hypervisor
    cpumask_isolated cpumask_requested cpuset.cpus.isolated effective_affinity_list
    cpuidle/current_driver cpu0/cpuidle/state*/name cpuidle/stateN/usage
    /sys/devices/system/cpu/vulnerabilities/* /sys/devices/system/cpu/smt/control
    /sys/devices/system/cpu/smt/active /sys/kernel/debug/sched/*
    /sys/module/intel_idle/parameters/max_cstate
    ps perf bpftool lscpu Delegate= -rt uncoreNN/
"""


def quoted(text: str) -> Iterator[str]:
    """The names quoted in the tables of sections 1 to 9, each a parameter or file."""
    section = 0
    for line in text.splitlines():
        heading = re.match(r"## (\d+)\.", line)
        section = int(heading[1]) if heading else section
        if 1 <= section <= 9 and line.startswith("|"):
            for found in re.findall(r"`([^` ]+)`", line):
                yield from expanded(found.replace("\\|", "|"))


def expanded(text: str) -> Iterator[str]:
    """Expand a{b,c}d to abd and acd, as a shell does."""
    braces = re.fullmatch(r"(.*?)\{([^}]*)\}(.*)", text)
    for part in braces[2].split(",") if braces else ():
        if part != "...":
            yield from expanded(f"{braces[1]}{part}{braces[3]}" if braces else "")
    if not braces:
        yield text


def is_known(text: str) -> bool:
    """Whether the catalogue covers this text: by its name, by a part of the name, or as the file
    that shows an effect."""
    names = {*NEVER, *ELSEWHERE, *ALIASES, *(entry.name for entry in CATALOGUE)}
    bare = re.split(r"[=\[*]", text)[0].rstrip("/")
    if bare.startswith("CONFIG_") or bare.isupper():
        return True
    shown = " ".join(f"{entry.evidence} {entry.sign.path}" for entry in CATALOGUE)
    shown += " ".join(row.path for entry in CATALOGUE for row in entry.rows)
    parts = {text, bare, f"{bare}_enabled", *text.split("/"), *bare.split("/")}
    suffixes = (f".{bare}", f"/{bare}")
    inside = bare.startswith("/") and (bare in shown or any(bare.endswith(name) for name in names))
    return bool(parts & names) or any(name.endswith(suffixes) for name in names) or inside


@needs.that("LOWLAT_FACTS" in os.environ, "LOWLAT_FACTS names no sheet of kernel facts")
def test_every_setting_of_the_sheet_is_an_entry_or_a_stated_non_entry() -> None:
    said = dict.fromkeys(quoted(FACTS.read_text("utf-8")))
    assert len(said) > 150
    ignored = IGNORED.split()
    assert [name for name in said if name not in ignored and not is_known(name)] == []
    assert not is_known("kernel.no_such_setting") and not is_known("/sys/kernel/no_such_file")


def test_nothing_forbidden_is_an_entry() -> None:
    names = {entry.name for entry in CATALOGUE}
    assert not names & {name for name in NEVER if "=" not in name}


def test_default_profile_risks_no_safety() -> None:
    settings = profile.load("lowlat", Root()).settings
    on = [lookup(name) for name, value in settings.items() if value != "off"]
    assert {entry.risk for entry in on} <= {Risk.NONE, Risk.POWER, Risk.THROUGHPUT}
