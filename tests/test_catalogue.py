# SPDX-License-Identifier: GPL-2.0-or-later
"""The catalogue as a whole: every entry is complete, explained, and never one of the forbidden."""

from __future__ import annotations

import re

import pytest

from lowlat import profile
from lowlat.catalogue import CATALOGUE, lookup
from lowlat.catalogue.entry import Risk, Stage, Tunable
from lowlat.catalogue.never import NEVER
from lowlat.root import Root
from trees import lowlat

#: What the mission names; each must be an entry or a stated refusal.
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
]


@pytest.mark.parametrize("name", MISSION)
def test_the_mission_is_covered(name: str) -> None:
    assert lookup(name)


def test_irqbalance_is_left_to_itself_and_that_is_said() -> None:
    answer = lowlat("explain", "irqbalance")
    assert answer.status == 0 and "isolcpus and nohz_full" in answer.out


def test_names_are_unique() -> None:
    names = [entry.name for entry in CATALOGUE]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda entry: entry.name)
def test_an_entry_is_complete(entry: Tunable) -> None:
    assert entry.why and entry.source and entry.evidence and entry.cost
    assert (entry.value is not None) == (entry.stage is Stage.BOOT)
    assert (entry.rows is not None) == (entry.stage is Stage.RUNTIME)
    assert (entry.risk is Risk.NONE) or entry.cost != "none"
    assert (entry.tuned is None) == (entry.native is None)
    if entry.accepts:
        re.compile(entry.accepts)


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda entry: entry.name)
def test_an_explanation_fits_a_screen(entry: Tunable) -> None:
    answer = lowlat("explain", entry.name)
    assert answer.status == 0
    lines = answer.out.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 88
    assert entry.name == lines[0]


def test_explain_without_a_name_lists_all() -> None:
    out = lowlat("explain").out
    assert all(f"  {entry.name} " in out for entry in CATALOGUE)
    assert all(f"  {name} " in out for name in NEVER)


def test_nothing_forbidden_is_an_entry() -> None:
    names = {entry.name for entry in CATALOGUE}
    assert not names & {name for name in NEVER if "=" not in name}


def test_default_profile_holds_no_risk() -> None:
    settings = profile.load("lowlat", Root()).settings
    on = [lookup(name) for name, value in settings.items() if value != "off"]
    assert {entry.risk for entry in on} == {Risk.NONE}
