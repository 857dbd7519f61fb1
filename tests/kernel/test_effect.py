# SPDX-License-Identifier: GPL-2.0-or-later
"""What kernels make of a line: rows of a line, a release, the build and the machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Optional

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowlat.host.archive import open_root
from lowlat.kernel.booting import End
from lowlat.kernel.effect import Effect, read
from lowlat.kernel.line import changed
from lowlat.model.machine import Config, IdleState, Machine
from lowlat.probe import probe
from support.machines import CONFIG, machine, write_tree

MACHINES = Path(__file__).parents[1] / "machines"
BUILT = f"{CONFIG}CONFIG_HARDLOCKUP_DETECTOR=y\nCONFIG_HUGETLBFS=y\nCONFIG_NR_CPUS=64\n"
FLAGS = "fpu tsc lm constant_tsc nonstop_tsc"


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """Eight Intel CPUs with intel_idle, four sleeps, and a TSC that wants a watchdog."""
    folder = tmp_path_factory.mktemp("host")
    made = probe(open_root(str(write_tree(folder, machine(8, config=BUILT, flags=FLAGS)))))
    names = ("POLL", "C1", "C1E", "C3", "C6")
    states = tuple(IdleState(0, name, 2**at) for at, name in enumerate(names))
    power = replace(made.power, idle_driver="intel_idle", frequency_driver="intel_pstate")
    return replace(made, power=replace(power, idle_states=states))


@pytest.fixture(scope="module")
def board() -> Machine:
    return probe(open_root(str(MACHINES / "qemu-arm64-4c.txt")))


def booted(host: Machine, line: str, release: str, config: str = "", **parts: Any) -> Effect:
    """The effect; ``config`` are options to switch on or off ("-NAME"), or "?" for none known."""
    built = host.kernel.config
    assert built is not None
    options = dict(built.options)
    for word in config.split():
        options[word.lstrip("-")] = "n" if word[0] == "-" else "y"
    known = None if config == "?" else Config(built.path, options)
    kernel = replace(host.kernel, release=release or None, config=known)
    return read(line, kernel, replace(host, **parts))


def shown(effect: Effect, names: Mapping[str, object]) -> dict[str, object]:
    found = {name: getattr(effect, name) for name in names}
    return {n: v if isinstance(names[n], (tuple, type(None))) else str(v) for n, v in found.items()}


SIX, NEW = "6.12.1-x", "6.19.0-x"
ROWS = [
    # isolcpus and nohz_full: flags, order, lists
    ("", SIX, "", dict(unbalanced="", tickless="", offloaded="", unbound="0-7", interrupts="0-7")),
    ("isolcpus=2-7", SIX, "", dict(unbalanced="2-7", managed="", unbound="0-1", services="0-1")),
    ("isolcpus=managed_irq,2-7", SIX, "", dict(unbalanced="", managed="2-7", unbound="0-7")),
    ("isolcpus=managed_irq,domain,2-7", "5.4.0-x", "", dict(unbalanced="", managed="")),
    ("isolcpus=managed_irq,2-7", "4.18.0-193.el8.x86_64", "", dict(unbalanced="", managed="2-7")),
    ("isolcpus=nohz,2-7", SIX, "", dict(unbalanced="", tickless="2-7", offloaded="2-7",
                                        unbound="0-7", soft="0-7")),
    ("isolcpus=nohz,2-7", "6.14.0-x", "", dict(tickless="2-7", unbound="0-1", soft="0-1")),
    ("isolcpus=nohz,domain,2-7", SIX, "-NO_HZ_FULL", dict(unbalanced="", tickless="")),
    ("isolcpus=inverse,0", SIX, "", dict(unbalanced="0")),
    ("isolcpus=inverse,0", "5.7.0-x", "", dict(unbalanced="0")),
    ("isolcpus=inverse,0", "5.4.0-x", "", dict(unbalanced="")),
    ("isolcpus=domain,managed_irq:2-7", SIX, "", dict(unbalanced="")),
    ("isolcpus=2-7", SIX, "-CPU_ISOLATION", dict(unbalanced="")),
    ("nohz_full=2-7", SIX, "", dict(tickless="2-7", offloaded="2-7", soft="0-1", hard="0-1")),
    ("nohz_full=0-3", SIX, "", dict(tickless="1-3", unbound="4-7")),
    ("nohz_full=0-3", SIX, "PM_SLEEP_SMP_NONZERO_CPU", dict(tickless="0-3")),
    ("nohz_full=all", SIX, "", dict(tickless="1-7")),
    ("nohz_full=4-7 nohz=on", SIX, "", dict(tickless="4-7", ticks_stop="True")),
    ("nohz_full=4-7 nohz=off", SIX, "", dict(tickless="4-7", ticks_stop="False", offloaded="4-7")),
    ("nohz=off nohz=y", SIX, "", dict(ticks_stop="True")),
    ("nohz=never", SIX, "", dict(ticks_stop="False")),
    ("nohz=disable", SIX, "", dict(ticks_stop="True")),
    ("isolcpus=0-7", SIX, "", dict(unbalanced="1-7")),
    ("isolcpus=2-7 nohz_full=4-7", "5.10.1-x", "", dict(unbalanced="2-7", tickless="")),
    ("nohz_full=4-7 isolcpus=2-7", "5.10.1-x", "", dict(unbalanced="", tickless="4-7")),
    ("isolcpus=2-7 nohz_full=4-7", SIX, "", dict(unbalanced="2-7", tickless="4-7")),
    ("isolcpus=2-7 isolcpus=managed_irq,2-7", SIX, "", dict(unbalanced="2-7", managed="2-7")),
    ("isolcpus=2-7 isolcpus=4-7", SIX, "", dict(unbalanced="2-7")),
    ("isolcpus=0-3 nohz_full=4-7", SIX, "", dict(unbalanced="0-3", tickless="4-7")),
    ("isolcpus=0-3 nohz_full=4-7", NEW, "", dict(unbalanced="0-3", tickless="")),
    ("isolcpus=0-3 nohz_full=4-7", "7.2.0-x", "", dict(unbalanced="0-3", tickless="4-7")),
    ("isolcpus=2-7 isolcpus=managed_irq,domain,2-7", SIX, "", dict(managed="2-7")),
    ("isolcpus=2-7 isolcpus=managed_irq,domain,2-7", "7.2.0-x", "", dict(managed="")),
    ("nohz_full=4-7", "7.0.0-x", "", dict(unbound="0-3")),
    ("isolcpus=0-3 nohz_full=4-7", "6.7.0-x", "", dict(unbound="0-3")),
    ("isolcpus=0-3 nohz_full=4-7", "6.1.0-x", "", dict(unbound="")),
    ("nohz_full=4-7 isolcpus=6-7", "7.2.0-x", "", dict(unbound="0-5")),
    ("isolcpus=0-3 isolcpus=managed_irq,4-7", NEW, "", dict(unbalanced="0-3", managed="4-7")),
    # lists of CPUs
    ("nohz_full=4-N", "5.10.1-x", "", dict(tickless="")),
    ("nohz_full=4-N", "5.13.0-x", "", dict(tickless="4-7")),
    ("nohz_full=all", "5.13.0-x", "", dict(tickless="")),
    ("isolcpus=0-7:1/2", SIX, "", dict(unbalanced="0,2,4,6")),
    ("isolcpus=6-9", SIX, "", dict(unbalanced="")),
    ("isolcpus=6-9", "5.10.1-x", "", dict(unbalanced="6-7")),
    ("isolcpus=6-9", "5.10.1-x", "CPUMASK_OFFSTACK", dict(unbalanced="")),
    ("isolcpus=6-64", "5.10.1-x", "", dict(unbalanced="")),
    ("isolcpus=6-9", "5.10.1-x", "?", dict(unbalanced="6-7")),
    ("isolcpus=2,,3,", SIX, "", dict(unbalanced="2-3")),
    # CPUs that the line keeps off
    ("nr_cpus=4 isolcpus=4-7 rcu_nocbs=4-7", SIX, "", dict(online="0-3", unbalanced="",
                                                            offloaded="0-3")),
    ("maxcpus=0 isolcpus=1-3 rcu_nocbs=1", SIX, "", dict(online="0", unbalanced="", offloaded="0")),
    ("maxcpus=4 isolcpus=4-7", SIX, "", dict(online="0-3", unbalanced="")),
    ("maxcpus=4 isolcpus=0-3", SIX, "", dict(unbalanced="1-3")),
    ("maxcpus=4 isolcpus=0-3", "6.8.0-x", "", dict(unbalanced="0-3")),
    ("maxcpus=4 isolcpus=0-3", "6.1.0-56-amd64", "", dict(unbalanced="1-3")),
    ("maxcpus=4 isolcpus=0-3", "6.1.0-55-amd64", "", dict(unbalanced="0-3")),
    # RCU, interrupts, work
    ("rcu_nocbs=x", SIX, "", dict(offloaded="0-7")),
    ("rcu_nocbs=x", "4.15.0-x", "", dict(offloaded="")),
    ("rcu_nocbs=all", "5.10.1-x", "", dict(offloaded="0-7")),
    ("rcu_nocbs=all", "4.15.0-x", "", dict(offloaded="")),
    ("", SIX, "RCU_NOCB_CPU_DEFAULT_ALL", dict(offloaded="0-7")),
    ("rcu_nocbs", SIX, "RCU_NOCB_CPU_DEFAULT_ALL", dict(offloaded="")),
    ("rcu_nocbs", "5.17.0-x", "RCU_NOCB_CPU_DEFAULT_ALL", dict(offloaded="")),
    ("rcu_nocbs", "5.16.0-x", "RCU_NOCB_CPU_DEFAULT_ALL", dict(offloaded="0-7")),
    ("nohz_full=2-3", SIX, "RCU_NOCB_CPU_DEFAULT_ALL", dict(offloaded="2-3")),
    ("rcu_nocbs=2-7", SIX, "-RCU_NOCB_CPU", dict(offloaded="")),
    # before 3.17 and 4.15 (RHEL 7, Linux 4.14)
    ("nohz_full=2-7", "3.10.0-1160.el7", "", dict(tickless="2-7", offloaded="")),
    ("nohz_full=2-7 rcu_nocbs=3-7", "3.10.0-1160.el7", "", dict(offloaded="3-7")),
    ("nohz_full=2-7", "4.14.1-x", "", dict(offloaded="2-7")),
    ("isolcpus=1-7 nohz_full=2-7", "4.14.1-x", "", dict(unbalanced="1-7", tickless="2-7")),
    ("isolcpus=1-7 nohz_full=2-7", "4.15.0-x", "", dict(unbalanced="1-7", tickless="")),
    ("isolcpus=domain,2-7", "4.14.1-x", "", dict(unbalanced="")),
    ("isolcpus=domain,2-7", "4.15.0-x", "", dict(unbalanced="2-7")),
    ("irqaffinity=2-3", SIX, "", dict(interrupts="0,2-3")),
    ("irqaffinity=2-3,x,5", SIX, "", dict(interrupts="0,2-3")),
    ("workqueue.unbound_cpus=0-1", SIX, "", dict(unbound="0-1")),
    ("workqueue.unbound_cpus=0-1", "6.1.0-x", "", dict(unbound="0-7")),
    ("workqueue.unbound_cpus=2-3 isolcpus=2-7", SIX, "", dict(unbound="0-1")),
    ("systemd.cpu_affinity=0 isolcpus=4-7", SIX, "", dict(services="0")),
    # lockup detection
    ("nosoftlockup", SIX, "", dict(soft="", hard="0-7")),
    ("nosoftlockup=0", SIX, "", dict(soft="", hard="0-7")),
    ("nmi_watchdog=panic,0", SIX, "", dict(soft="0-7", hard="")),
    ("nowatchdog", SIX, "", dict(soft="", hard="")),
    ("nmi_watchdog=1", SIX, "-HARDLOCKUP_DETECTOR", dict(hard="")),
]  # fmt: skip


@pytest.mark.parametrize(("line", "release", "config", "sets"), ROWS)
def test_the_sets_are_the_kernels(
    line: str, release: str, config: str, sets: dict[str, object], host: Machine
) -> None:
    assert shown(booted(host, line, release, config), sets) == sets


IDLE = [
    # the driver, whether it polls, and the deepest sleep
    ("", "intel_idle", False, None),
    ("intel_idle.max_cstate=1", "intel_idle", False, 1),
    ("intel_idle.max_cstate=4", "intel_idle", False, None),
    ("intel_idle.max_cstate=0", "acpi_idle", False, None),
    ("intel_idle.max_cstate=0 processor.max_cstate=0", "acpi_idle", False, 1),
    ("processor.max_cstate=1", "intel_idle", False, None),
    ("idle=nomwait intel_idle.max_cstate=1", "acpi_idle", False, None),
    ("idle=nomwait processor.max_cstate=1", "acpi_idle", False, 1),
    ("idle=halt", "none", False, 1),
    ("idle=poll", "none", True, 0),
    ("idle=nomwait idle=poll", "none", True, 0),
    ("idle=poll idle=nomwait", "acpi_idle", True, 0),
    ("idle=mwait", "intel_idle", False, None),
    ("cpuidle.off=1", "none", False, 1),
    ("nohlt", "intel_idle", False, None),
]


@pytest.mark.parametrize(("line", "driver", "polls", "deepest"), IDLE)
def test_idle_words_lead_to_a_driver(
    line: str, driver: str, polls: bool, deepest: Optional[int], host: Machine
) -> None:
    found = booted(host, line, SIX).idle
    assert (found.driver, found.polls, found.deepest) == (driver, polls, deepest)


def test_other_vendors_words_do_nothing(host: Machine) -> None:
    power = replace(host.power, idle_driver="acpi_idle", frequency_driver="acpi-cpufreq")
    other = replace(host.processor, vendor="AuthenticAMD")
    line = "intel_idle.max_cstate=0 processor.max_cstate=1 amd_pstate=guided intel_pstate=disable"
    at = {"power": replace(power, idle_states=()), "processor": other}
    found = booted(host, line, "6.4.0-x", "X86_AMD_PSTATE", **at)
    assert (found.idle.driver, found.idle.deepest, found.frequency) == (
        "acpi_idle",
        1,
        "amd-pstate",
    )
    assert [fate.end for fate in found.fates] == [End.DROPPED, End.TAKEN, End.TAKEN, End.DROPPED]
    assert booted(host, line, "6.1.0-x", "X86_AMD_PSTATE", **at).frequency == "acpi-cpufreq"
    assert booted(host, line, "6.4.0-x", "-X86_AMD_PSTATE", **at).frequency == "acpi-cpufreq"
    assert (
        booted(host, "intel_pstate=passive", SIX, "X86_INTEL_PSTATE").frequency == "intel_cpufreq"
    )


def test_the_clock_and_its_watchdog(host: Machine) -> None:
    def clock(line: str, release: str = SIX, flags: str = "") -> tuple[Optional[str], str]:
        more = replace(host.processor, flags=host.processor.flags | set(flags.split()))
        found = booted(host, line, release, processor=more).clock
        return found.source, str(found.watchdog)

    assert clock("") == ("tsc", "0-7")
    assert clock("", "7.3.0-x") == ("tsc", "0")
    assert clock("tsc=nowatchdog") == clock("tsc=reliable") == ("tsc", "")
    assert clock("", flags="tsc_adjust") == ("tsc", "")
    assert clock("", "4.18.0-193.el8.x86_64", "tsc_adjust") == ("tsc", "0-7")
    assert clock("notsc") == clock("tsc=unstable") == ("hpet", "")
    assert clock("clocksource=hpet")[0] == "hpet"
    assert clock("clocksource=acpi_pm")[0] == "tsc"
    assert clock("clocksource=hpet clocksource=none")[0] == "tsc"


def test_huge_pages_follow_their_size(host: Machine) -> None:
    def pages(line: str, release: str = SIX, flags: str = "pdpe1gb") -> tuple[object, ...]:
        more = replace(host.processor, flags=host.processor.flags | set(flags.split()))
        return booted(host, line, release, processor=more).pages.reserved

    small, big = 2 << 10, 1 << 20
    assert pages("hugepages=4") == ((small, None, 4),)
    assert pages("hugepagesz=1G hugepages=4") == ((big, None, 4),)
    assert pages("hugepages=4 hugepagesz=1G") == ((small, None, 4),)
    assert pages("hugepages=0 hugepages=40 hugepagesz=1G hugepagesz=2M") == ()
    assert pages("default_hugepagesz=1G hugepages=4") == ((big, None, 4),)
    assert pages("hugepages=4 default_hugepagesz=1G") == ((big, None, 4),)
    assert pages("hugepagesz=1G hugepages=0:1,1:2") == ((big, 0, 1), (big, 1, 2))
    assert pages("hugepagesz=1G hugepages=0:1", "5.10.1-x") == ()
    assert pages("hugepagesz=1G hugepages=6", flags="") == ()
    assert pages("hugepagesz=1G hugepages=6 hugepages=9", flags="") == ((small, None, 9),)


def test_cpus_of_arm_are_present_late(board: Machine) -> None:
    found = read("isolcpus=0 nohz_full=0-2", board.kernel, board)
    assert (str(found.unbalanced), str(found.tickless)) == ("", "1-2")
    assert found.fates[0].end is End.DROPPED
    assert "using boot CPU:0" in found.fates[0].why


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("skew_tick=1", {"skew_tick": ("1",)}),
        ("skew_tick=0 nohz=on mitigations=auto rcupdate.rcu_normal=0", {}),
        ("pcie_aspm=off", {"pcie_aspm": ("off",)}),
        ("skew_tick=1 skew_tick=0", {}),
        ("mitigations=off mds=off retbleed=off", {"mitigations": ("off",)}),
        ("mds=off", {"mds": ("off",)}),
        ("iommu=pt iommu.passthrough=1", {"iommu.passthrough": ("1",)}),
        ("console=a console=b", {"console": ("a", "b")}),
        ("threadirqs=1 mce=of numa_balancing=0 preempt=lazy", {"threadirqs": ("",)}),
        ("odd odd=1 other -- mds=off", {"odd": ("1",), "other": ("",)}),
        ("tsc=recalibrate tsc=reliable", {"tsc": ("recalibrate",)}),
    ],
)
def test_settings_are_what_differs_from_the_default(
    line: str, kept: dict[str, tuple[str, ...]], host: Machine
) -> None:
    assert booted(host, line, SIX).settings == kept


def test_what_is_not_known_is_assumed(host: Machine) -> None:
    found = booted(host, "nohz_full=2-7 isolcpus=2-7", "", "?")
    assert str(found.isolated) == "2-7"
    assert all("configuration not found" in fate.assumed for fate in found.fates)
    gone = booted(host, "kvm.kvmclock_periodic_sync=0", "")
    assert gone.settings and "release not known" in gone.fates[0].assumed


NAMES = (
    "isolcpus nohz_full rcu_nocbs irqaffinity idle intel_idle.max_cstate processor.max_cstate tsc"
)
NAMES += " maxcpus nr_cpus hugepages hugepagesz nosmt nosoftlockup nowatchdog skew_tick odd"
VALUES = "2-7 4-7 0-3 nohz,2-7 managed_irq,4-7 x 9 poll nomwait 0 1 1G reliable unstable all"
WORDS = st.builds("{}={}".format, st.sampled_from(NAMES.split()), st.sampled_from(VALUES.split()))
LINES = st.lists(WORDS | st.sampled_from(NAMES.split()), max_size=8).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(LINES, st.sampled_from(["4.15.0-x", "5.10.1-x", SIX, NEW]))
def test_a_word_that_does_not_count_counts_for_no_other(
    host: Machine, line: str, release: str
) -> None:
    """But a size of huge pages that is not taken keeps the count behind it from counting."""
    effect = booted(host, line, release)
    for word, fate in zip(effect.words, effect.fates):
        if fate.end in (End.DROPPED, End.NOT_READ) and not word.name.startswith("hugepages"):
            rest = booted(host, changed(line, {word.at: ""}), release)
            assert rest == effect, word.text
            others = [one for one in effect.fates if one is not fate]
            assert [one.end for one in rest.fates] == [one.end for one in others]
