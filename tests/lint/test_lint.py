# SPDX-License-Identifier: GPL-2.0-or-later
"""``lowlat-gen lint``: words of boot lines, judged for a machine and kernel."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from lowlat.base import bounds
from lowlat.kernel import effect
from lowlat.kernel.line import read_words
from lowlat.lint import booted
from lowlat.lint.system_part import SystemPart
from lowlat.model.cpuset import CpuSet
from support import machines
from support.cli import Answer, lowlat
from support.machines import machine, write_tree

DOC = Path(__file__).parents[2] / "packaging/doc/lines.md"
#: Verdicts that need no row of the table.
QUIET = ("effective", "assumed", "unknown")

GOLDEN = bool(os.environ.get("LOWLAT_GOLDEN"))


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return reference.bare_metal(tmp_path_factory.mktemp("host"), cpus=8)


Judge = Callable[..., dict[str, Any]]


def judged(root: Path, line: str) -> dict[str, Any]:
    """The verdict of each word, and "missing"."""
    document = lowlat("lint", "--root", root, line, "--json").json()
    verdicts = {word["word"]: word["verdict"] for word in document["words"]}
    return {**verdicts, "missing": [item["word"].partition("=")[0] for item in document["missing"]]}


def fix_of(root: Path, line: str) -> list[Any]:
    words = lowlat("lint", "--root", root, line, "--json").json()["words"]
    return [word["fix"] for word in words]


# ---------------------------------------------------------------- one word


@pytest.mark.parametrize(
    ("word", "verdict"),
    [
        ("nohz=onn", "ignored"),
        ("nohz=on", "redundant"),
        ("nohz=off", "harmful"),
        ("skew_tick=on", "ignored"),
        ("skew_tick=1", "effective"),
        ("workqueue.cpumask=1", "ignored"),
        ("isolcpu=2-7", "ignored"),
        ("kthread_cpus=0", "ignored"),
        ("noht", "ignored"),
        ("noirqbalance", "ignored"),
        ("elevator=noop", "ignored"),
        ("rcu_nocb_poll", "ignored"),
        ("rcupdate.rcu_expedited=1", "harmful"),
        ("rcupdate.rcu_normal_after_boot=1", "effective"),
        ("mce=off", "harmful"),
        ("mce=ignore_ce", "effective"),
        ("mce=of", "ignored"),
        ("idle=poll", "effective"),
        ("idle=mwait", "ignored"),
        ("intel_idle.max_cstate=0", "harmful"),
        ("intel_idle.max_cstate=1", "effective"),
        ("processor.max_cstate=1", "redundant"),
        ("amd_pstate=active", "ignored"),
        ("intel_pstate=off", "ignored"),
        ("intel_pstate=disable", "assumed"),
        ("numa_balancing=0", "ignored"),
        ("transparent_hugepage=0", "ignored"),
        ("transparent_hugepage=never", "effective"),
        ("clocksource=tsc", "redundant"),
        ("clocksource=hpet", "harmful"),
        ("tsc=reliable", "assumed"),
        ("tsc=nowatchdog", "redundant"),
        ("notsc", "harmful"),
        ("pcie_aspm=force", "harmful"),
        ("pcie_aspm=performance", "ignored"),
        ("iommu=pt", "redundant"),
        ("mitigations=auto", "redundant"),
        ("mitigations=off", "assumed"),
        ("tsa=off", "assumed"),
        ("no_stf_barrier", "ignored"),
        ("kpti=off", "ignored"),
        ("l1d_flush=on", "assumed"),
        ("rseq_slice_ext=1", "redundant"),
        ("nvme.poll_queues=4", "assumed"),
        ("irqpoll", "harmful"),
        ("nohpet", "assumed"),
        ("selinux=0", "assumed"),
        ("nohlt", "ignored"),
        ("preempt=full", "effective"),
        ("threadirqs", "effective"),
        ("threadirqs=1", "assumed"),
        ("kernel.sched_rt_runtime_us=-1", "ignored"),
        ("vm.stat_interval=10", "ignored"),
        ("sysctl.vm.stat_interval=10", "assumed"),
        ("some_driver.option=1", "unknown"),
        ("intel_idle.max_cstates=1", "ignored"),
        ("quiet", "unknown"),
        ("numa_policy=interleave", "unknown"),
        ("iommu_dma_numa_policy=interleave", "unknown"),
        ("root=UUID=1-2", "unknown"),
        ("systemd.unit=rescue.target", "unknown"),
        ("init_on_alloc=0", "unknown"),
        ("isolcpus=nohz,domain,2-7", "effective"),
        ("irqaffinity=0-1", "effective"),
        ("systemd.cpu_affinity=0-1", "effective"),
        ("rcu_nocbs", "redundant"),
        ("rcutree.kthread_prio=50", "assumed"),
        ("mce=2", "unknown"),
        ("vm.swappiness=10", "ignored"),
        ("isolcpus=2-7,domain", "ignored"),
        ("isolcpus=domain,managed_irq:2-7", "ignored"),
        ("isolcpus=inverse,0", "harmful"),
        ("isolcpus=0-3", "harmful"),
        ("isolcpus=6-9", "ignored"),
        ("isolcpus=0-7", "harmful"),
        ("isolcpus=<list>", "ignored"),
        ("nohz_full=2–7", "ignored"),
        ("nohz_full=all", "harmful"),
        ("rcu_nocbs=x", "harmful"),
        ("rcu_nocbs=2-7", "effective"),
    ],
)  # fmt: skip
def test_a_word_alone(word: str, verdict: str, host: Path) -> None:
    assert judged(host, word)[word] == verdict


@pytest.mark.parametrize(
    ("word", "verdict"),
    [
        ("isolcpus=2-7,", "effective"),
        ("nohz_full=2,,3", "effective"),
        ("nohalt", "ignored"),
        ("numa_balancing=disable", "assumed"),
        ("cgroup_disable=memory", "unknown"),
        ("rcupdate.rcu_expedited=0", "redundant"),
        ("clocksource=tcs", "ignored"),
        ("amd_iommu=pt", "ignored"),
        ("slab_strict_numa", "unknown"),
        ("hugetlb_cma_only=1", "unknown"),
    ],
)
def test_words_that_were_judged_wrongly_once(word: str, verdict: str, host: Path) -> None:
    assert judged(host, word)[word] == verdict


@pytest.mark.parametrize(("release", "missing"), [("6.12.1-x", ["nohz_full=2-7"]), ("7.2.0-x", [])])
def test_the_flag_nohz_of_isolcpus_stops_the_tick(
    release: str, missing: list[str], tmp_path: Path
) -> None:
    root = reference.bare_metal(tmp_path, cpus=8, release=release)
    whole = "isolcpus=nohz,domain,managed_irq,2-7 irqaffinity=0-1"
    document = lowlat("lint", "--root", root, whole, "--json").json()
    assert [item["word"] for item in document["missing"]] == missing
    assert "nohz_full" not in [item["word"][:9] for item in document["against"]["adds"]]
    found = lowlat("lint", "--root", root, "isolcpus=nohz,2-7", "--json").json()
    assert [word["verdict"] for word in found["words"]] == ["effective"]
    words = [*missing, "isolcpus=nohz,managed_irq,domain,2-7"]
    assert [item["word"] for item in found["missing"]][: len(words)] == words


@pytest.mark.parametrize(
    ("line", "fixes"),
    [
        ("intel_pstate=enable", ["leave it out"]),
        ("idle=nopoll", ["leave it out"]),
        ("intel_pstate=pasive", ["intel_pstate=passive"]),
        ("amd_iommu=enable", ["leave it out"]),
        ("mitgations=off", ["leave it out (or write mitigations=off)"]),
        ("nosoftlookup", ["leave it out (or write nosoftlockup)"]),
    ],
)
def test_no_advice_switches_off_what_was_on(line: str, fixes: list[str], host: Path) -> None:
    assert fix_of(host, line) == fixes
    word = line.partition("=")[0]
    assert f"{word}=disable" not in lowlat("lint", "--root", host, line).out


def test_of_two_lists_the_one_that_keeps_tasks_away_counts(host: Path) -> None:
    document = lowlat("lint", "--root", host, "nohz_full=1-4 isolcpus=3-7", "--json").json()
    assert "isolcpus=managed_irq,domain,3-7" in document["mended"].split()
    assert "nohz_full=3-7" in document["mended"].split()


def test_a_list_of_first_threads_is_extended_to_their_cores(tmp_path: Path) -> None:
    files = machine(cpus=64, release="6.12.107-x", config=machines.CONFIG)
    for cpu in range(64):
        files[f"{machines.CPU}/cpu{cpu}/topology/core_cpus_list"] = f"{cpu % 32},{cpu % 32 + 32}\n"
    root = write_tree(tmp_path, files)
    wide = lowlat("lint", "--root", root, "isolcpus=2-37", "--json").json()
    assert "isolcpus=managed_irq,domain,2-31,34-63" in wide["mended"].split()


def test_links_that_are_left_to_the_firmware(host: Path) -> None:
    found = judged(host, "pcie_aspm=off pcie_aspm.policy=performance")
    assert found["pcie_aspm=off"] == "assumed"
    assert found["pcie_aspm.policy=performance"] == "contradictory"
    assert judged(host, "pcie_aspm.policy=performance")["pcie_aspm.policy=performance"] != (
        "contradictory"
    )
    assert "hides faults: pcie_aspm=off" in lowlat("lint", "--root", host, "pcie_aspm=off").out


def test_pass_through_is_named_as_this_architecture_names_it() -> None:
    root = Path(__file__).parents[1] / "machines/qemu-arm64-4c.txt"
    assert judged(root, "iommu=pt")["iommu=pt"] == "ignored"
    assert fix_of(root, "iommu=pt") == ["iommu.passthrough=1"]


def test_the_boot_cpu_is_told_of_as_the_kernel_treats_it(host: Path) -> None:
    found = judged(host, "isolcpus=0-2 irqaffinity=3-7")
    assert found["isolcpus=0-2"] == "harmful"
    assert found["irqaffinity=3-7"] == "effective"


@pytest.mark.parametrize(
    ("release", "word", "verdict"),
    [
        ("5.10.1-x", "nosmap", "unknown"),
        ("6.12.1-x", "nosmap", "ignored"),
        ("5.4.0-x", "cpufreq.default_governor=performance", "ignored"),
        ("6.8.4-2-pve", "pcie_acs_override=downstream", "unknown"),
        ("6.8.4-2-x", "pcie_acs_override=downstream", "ignored"),
    ],
)
def test_a_name_belongs_to_releases(release: str, word: str, verdict: str, tmp_path: Path) -> None:
    root = reference.bare_metal(tmp_path, cpus=8, release=release)
    assert judged(root, word)[word] == verdict


def test_devices_without_queues(host: Path) -> None:
    assert judged(host, "pci=noats,nomsi")["pci=noats,nomsi"] == "harmful"


def test_a_kernel_newer_than_the_known_names(tmp_path: Path) -> None:
    root = reference.bare_metal(tmp_path, release="9.1.0-x")
    assert judged(root, "some_news=1")["some_news=1"] == "unknown"
    assert judged(root, "isolcpu=2-7")["isolcpu=2-7"] == "ignored"


def test_an_iommu_that_is_asked_for_and_switched_off(host: Path) -> None:
    assert judged(host, "intel_iommu=off iommu=pt")["intel_iommu=off"] == "contradictory"
    assert judged(host, "iommu=pt iommu=nopt")["iommu=nopt"] == "contradictory"
    assert judged(host, "intel_iommu=on iommu=off")["iommu=off"] == "contradictory"
    assert judged(host, "intel_iommu=off")["intel_iommu=off"] != "contradictory"


@pytest.mark.parametrize(
    ("line", "fits"),
    [
        ("hugepages=3000", True),
        ("hugepages=4000", False),
        ("hugepagesz=1G hugepages=6", True),
        ("hugepagesz=1G hugepages=4 hugepagesz=2M hugepages=2000", False),
        ("default_hugepagesz=1G hugepages=7", False),
        ("hugepagesz=1G hugepages=0:3,1:4", False),
    ],
)
def test_huge_pages_leave_memory_to_the_system(line: str, fits: bool, tmp_path: Path) -> None:
    root = reference.bare_metal(tmp_path, cpus=8)
    text = "Node 0 MemTotal:        8388608 kB\n"
    write_tree(root, {"sys/devices/system/node/node0/meminfo": text})
    found = judged(root, line)
    counts = {found[word] for word in line.split() if word.startswith("hugepages=")}
    assert counts == ({"assumed"} if fits else {"harmful"})


def test_the_kernel_reads_onn_as_on_and_lint_says_so(host: Path) -> None:
    answer = lowlat("lint", "--root", host, "--all", "nohz=onn")
    assert answer.status == 1
    assert "misspelt" in answer.out
    assert "nohz=on)" in answer.out


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("isolcpu=2-7", "isolcpus=2-7"),
        ("irq_affinity=0-1", "irqaffinity=0-1"),
        ("rcu-nocb=2-7", "rcu_nocbs=2-7"),
        ("preempt=fulll", "preempt=full"),
        ("processor_idle.max_cstate=1", "processor.max_cstate=1"),
        ("pcie_aspm=performance", "pcie_aspm.policy=performance"),
        ("timer_migration=1", "sysctl.kernel.timer_migration=1"),
        ("timer_migration=0", "leave it out (lowlat would set 1)"),
    ],
)
def test_what_was_meant_is_offered(line: str, fix: str, host: Path) -> None:
    assert fix_of(host, line) == [fix]


# ---------------------------------------------------------------- words together


def test_words_contradict_each_other(host: Path) -> None:
    found = judged(host, "isolcpus=2-7 nohz_full=2-7 nohz=off irqaffinity=0-3")
    assert found["nohz=off"] == "contradictory"
    assert found["irqaffinity=0-3"] == "contradictory"
    assert fix_of(host, "isolcpus=2-7 irqaffinity=0-3")[1] == "irqaffinity=0-1"


def test_a_parameter_given_twice(host: Path) -> None:
    twice = judged(host, "skew_tick=1 skew_tick=0 nohz_full=2-7 nohz_full=2-7 console=a console=b")
    assert (twice["skew_tick=1"], twice["skew_tick=0"]) == ("contradictory", "redundant")
    assert twice["nohz_full=2-7"] == "redundant"
    assert twice["console=a"] == "unknown"
    flags = ("isolcpus=domain,2-7", "isolcpus=managed_irq,2-7")
    assert [judged(host, " ".join(flags))[word] for word in flags] == ["effective"] * 2
    assert judged(host, "isolcpus=2-7 isolcpus=4-7")["isolcpus=4-7"] == "ignored"


def test_a_word_that_another_brings_too_is_not_to_be_left_out(host: Path) -> None:
    """Else two words that bring the same would each be called needless, and both go."""
    line = "nohz_full=2-7 rcu_nocbs=2-7 nosoftlockup nowatchdog nmi_watchdog=0 tsc=nowatchdog"
    words = lowlat("lint", "--root", host, line, "--json").json()["words"]
    found = {word["word"]: word for word in words}
    for word, other in [
        ("rcu_nocbs=2-7", "nohz_full=2-7"),
        ("nosoftlockup", "nowatchdog"),
        ("nmi_watchdog=0", "nowatchdog"),
    ]:
        assert found[word]["verdict"] == "effective", word
        assert found[word]["why"].endswith(f"also by {other}"), word
        assert found[word]["fix"] is None, word
    assert found["tsc=nowatchdog"]["verdict"] == "redundant"
    assert judged(host, "nohz_full=2-3 rcu_nocbs=2-7")["rcu_nocbs=2-7"] == "effective"


def test_huge_pages_are_counted_after_their_size(host: Path) -> None:
    good = judged(host, "default_hugepagesz=1G hugepagesz=1G hugepages=4")
    assert (good["hugepagesz=1G"], good["hugepages=4"]) == ("effective", "assumed")
    wrong = judged(host, "hugepages=4 hugepagesz=1G")
    assert (wrong["hugepages=4"], wrong["hugepagesz=1G"]) == ("assumed", "ignored")
    assert judged(host, "hugepages=0 hugepages=40")["hugepages=40"] == "ignored"


def test_what_stands_behind_two_dashes_goes_to_init(host: Path) -> None:
    found = judged(host, "quiet -- isolcpus=2-7 --flag")
    assert (found["isolcpus=2-7"], found["--flag"]) == ("ignored", "unknown")


def test_the_kernel_cuts_long_lines(host: Path) -> None:
    found = judged(host, f"x={'y' * 2040} isolcpus=2-7")
    assert found["isolcpus=2-7"] == "ignored"


def test_what_is_missing_beside_what_is_there(host: Path) -> None:
    assert judged(host, "isolcpus=2-7")["missing"] == [
        "nohz_full", "isolcpus", "irqaffinity",
    ]  # fmt: skip
    assert judged(host, "nohz_full=2-7")["missing"] == ["isolcpus", "irqaffinity"]
    whole = "isolcpus=managed_irq,domain,2-7 nohz_full=2-7 irqaffinity=0-1"
    assert judged(host, whole)["missing"] == []
    assert judged(host, "quiet")["missing"] == []


# ---------------------------------------------------------------- the machine and kernel at hand


def test_siblings_belong_together(tmp_path: Path) -> None:
    root = reference.bare_metal(tmp_path, cpus=8, threads=2)
    assert judged(root, "isolcpus=3-7")["isolcpus=3-7"] == "harmful"
    assert fix_of(root, "isolcpus=3-7") == ["isolcpus=2-7"]
    assert judged(root, "isolcpus=2-7")["isolcpus=2-7"] == "effective"
    assert judged(root, "idle=poll")["idle=poll"] == "harmful"
    without = judged(root, "idle=poll nosmt isolcpus=3")
    assert (without["idle=poll"], without["isolcpus=3"]) == ("assumed", "ignored")


def test_a_virtual_machine_shall_not_poll(tmp_path: Path) -> None:
    files = machine(4, flags=f"{machines.FLAGS} hypervisor")
    root = write_tree(tmp_path, {**files, "sys/class/dmi/id/sys_vendor": "QEMU\n"})
    assert judged(root, "idle=poll")["idle=poll"] == "harmful"


@pytest.mark.parametrize(
    ("release", "word", "verdict"),
    [
        ("5.4.0", "isolcpus=managed_irq,domain,2-7", "ignored"),
        ("5.10.0", "nohz_full=4-N", "ignored"),
        ("6.1.0", "nohz_full=4-N", "effective"),
        ("6.17.0", "isolcpus=nohz,domain,2-7", "effective"),
        ("6.12.1", "preempt=lazy", "ignored"),
        ("6.13.0", "preempt=lazy", "assumed"),
        ("6.12.1", "preempt=voluntary", "assumed"),
        ("7.0.0", "preempt=voluntary", "ignored"),
        ("6.1.0", "workqueue.unbound_cpus=0-1", "ignored"),
        ("6.8.0", "kvm.lapic_timer_advance_ns=1000", "assumed"),
        ("6.12.0", "kvm.lapic_timer_advance_ns=1000", "ignored"),
    ],
)
def test_kernels_differ(release: str, word: str, verdict: str, tmp_path: Path) -> None:
    line = f"{word} isolcpus=4-7" if word.startswith("workqueue") else word
    root = reference.bare_metal(tmp_path, cpus=8, release=f"{release}-x")
    assert judged(root, line)[word] == verdict


def test_before_per_type_masks_both_lists_are_to_be_the_same(tmp_path: Path) -> None:
    root = reference.bare_metal(tmp_path, cpus=8, release="5.10.0-x")
    assert judged(root, "isolcpus=2-7 nohz_full=4-7")["nohz_full=4-7"] == "ignored"
    assert judged(root, "isolcpus=2-7 nohz_full=2-7")["nohz_full=2-7"] == "effective"


def test_an_option_that_is_not_built_in_is_ignored(tmp_path: Path) -> None:
    root = write_tree(tmp_path, machine(8, config="CONFIG_CPU_ISOLATION=y\n"))
    both = judged(root, "nohz_full=2-7 rcu_nocbs=2-7")
    assert both["nohz_full=2-7"] == both["rcu_nocbs=2-7"] == "ignored"
    for word in ("hugepages=4", "hugepagesz=1G", "default_hugepagesz=1G"):
        assert judged(root, word)[word] == "ignored"


def test_a_dropped_list_is_mended_not_only_left_out(host: Path, tmp_path: Path) -> None:
    assert fix_of(host, "isolcpus=managed_irq,domain,6-9") == ["isolcpus=managed_irq,domain,6-7"]
    assert fix_of(host, "nohz_full=2–7 rcu_nocbs=2–7") == ["nohz_full=2-7", "rcu_nocbs=2-7"]
    colon = "isolcpus=domain,managed_irq:2-7 nohz_full=2-7 irqaffinity=0-1"
    document = lowlat("lint", "--root", host, colon, "--json").json()
    assert document["mended"] == "isolcpus=managed_irq,domain,2-7 nohz_full=2-7 irqaffinity=0-1"
    old = reference.bare_metal(tmp_path / "old", cpus=8, release="5.10.0-x")
    assert fix_of(old, "isolcpus=2-7 nohz_full=4-7")[1] == "nohz_full=2-7"
    bare = write_tree(tmp_path / "bare", machine(8, config="CONFIG_CPU_ISOLATION=y\n"))
    assert fix_of(bare, "nohz_full=2-7") == ["leave it out"]
    assert fix_of(bare, "isolcpus=nohz,domain,2-7") == ["isolcpus=domain,2-7"]
    answer = lowlat("lint", "--root", bare, "isolcpus=nohz,domain,2-7 quiet", "--json").json()
    assert answer["mended"] == "isolcpus=managed_irq,domain,2-7 quiet irqaffinity=0-1"
    text = lowlat("lint", "--root", bare, "isolcpus=nohz,managed_irq,domain,2-7 irqaffinity=0").out
    assert "  - isolcpus=nohz,managed_irq,domain,2-7\n  + isolcpus=managed_irq,domain," in text


def test_a_misspelt_word_goes_where_the_line_has_the_right_one(host: Path) -> None:
    kept = "nohz_full=2-7 irqaffinity=0-1"
    for line in (
        f"isolcpus=managed_irq,domain,2-7 rcu_nocbs=2-7 rcu_nocb=2-3 {kept}",
        f"isolcpus=managed_irq,domain,2-7 rcu_nocb=2-3 rcu_nocbs=2-7 {kept}",
    ):
        document = lowlat("lint", "--root", host, line, "--json").json()
        assert document["mended"] == line.replace("rcu_nocb=2-3 ", "")
        (bad,) = [word for word in document["words"] if word["verdict"] == "ignored"]
        assert bad["fix"] == "leave it out: the line has rcu_nocbs=2-7"


@pytest.mark.parametrize(
    ("idle", "driver"),
    [("nomwait", "acpi_idle"), ("halt", "none"), ("poll", "none"), ("mwait", "intel_idle")],
)
def test_bounds_of_sleep_are_judged_by_the_driver_that_idle_leads_to(
    idle: str, driver: str, host: Path
) -> None:
    found = judged(host, f"idle={idle} intel_idle.max_cstate=1 processor.max_cstate=1")
    kept = ("effective", "assumed")
    assert (found["intel_idle.max_cstate=1"] in kept) == (driver == "intel_idle" or idle == "poll")
    assert (found["processor.max_cstate=1"] in kept) == (driver == "acpi_idle")


def test_without_a_configuration_it_is_assumed(tmp_path: Path) -> None:
    root = write_tree(tmp_path, machine(8, config=None))
    assert judged(root, "nohz_full=2-7")["nohz_full=2-7"] == "assumed"


# ---------------------------------------------------------------- against lowlat's


def test_the_line_is_held_against_lowlats(host: Path) -> None:
    line = "isolcpus=2-7 nohz_full=2-7 mce=ignore_ce"
    against = lowlat("lint", "--root", host, line, "--json").json()["against"]
    assert against["line"].startswith("isolcpus=managed_irq,domain,2-7 nohz_full=2-7")
    assert "skew_tick=1" in [item["word"] for item in against["adds"]]
    [left_out] = against["leaves_out"]
    assert left_out["word"] == "mce=ignore_ce"
    assert "corrected memory errors" in left_out["cost"]


def test_a_profile_without_isolation_has_a_line_too(host: Path) -> None:
    wanted = ("--root", host, "--profile", "lowlat-desktop", "--json")
    against = lowlat("lint", *wanted, "threadirqs").json()["against"]
    assert against["line"].startswith("rcu_nocbs=all ") and against["why"] is None
    assert "rcu_nocbs=all" in [item["word"] for item in against["adds"]]
    assert [item["word"] for item in against["leaves_out"]] == ["threadirqs"]


def test_lowlats_line_is_for_the_cpus_that_the_line_leaves(host: Path) -> None:
    line = "maxcpus=4 isolcpus=2-3 nohz_full=2-3"
    against = lowlat("lint", "--root", host, line, "--json").json()["against"]
    assert "irqaffinity=0-1 " in f"{against['line']} "


@pytest.mark.parametrize("name", ["lowlat", "lowlat-poll"])
def test_lowlats_own_line_has_nothing_to_mend(name: str, host: Path) -> None:
    wanted = ("--profile", name, "--root", host, "--json")
    line = lowlat("plan", *wanted).json()["cmdline"]["text"]
    answer = lowlat("lint", *wanted, line)
    assert answer.status == 0
    assert answer.json()["missing"] == []
    assert (answer.json()["against"]["adds"], answer.json()["against"]["leaves_out"]) == ([], [])


# ---------------------------------------------------------------- where the line comes from


def answer_of(root: Path, text: str, tmp_path: Path) -> Answer:
    path = tmp_path / "given"
    path.write_text(text)
    return lowlat("lint", "--root", root, path, "--json")


@pytest.mark.parametrize(
    "text",
    [
        "isolcpus=2-7\n",
        "# mine\n\nisolcpus=2-7\n",
        'GRUB_CMDLINE_LINUX_DEFAULT="isolcpus=2-7"\n',
        'GRUB_TIMEOUT=5\nGRUB_CMDLINE_LINUX=""\nGRUB_CMDLINE_LINUX_DEFAULT="isolcpus=2-7"\n',
        "title Debian\nlinux /vmlinuz\noptions isolcpus=2-7\n",
        "\tlinux\t/boot/vmlinuz-6.12 isolcpus=2-7\n",
    ],
)
def test_a_file_holds_the_line(text: str, host: Path, tmp_path: Path) -> None:
    words = answer_of(host, text, tmp_path).json()["words"]
    assert [word["word"] for word in words] == ["isolcpus=2-7"]


def test_the_setting_of_grub_is_read_as_an_argument_too(host: Path) -> None:
    found = judged(host, 'GRUB_CMDLINE_LINUX_DEFAULT="quiet isolcpus=2-7"')
    assert {"quiet", "isolcpus=2-7"} <= set(found)


def test_a_running_word_is_not_judged_by_the_sign_of_another_value(tmp_path: Path) -> None:
    """/proc/pressure, which psi=0 removes, is there with psi=1."""
    root = reference.bare_metal(tmp_path, cpus=8)
    write_tree(root, {"proc/cmdline": "quiet psi=1", "proc/pressure/cpu": "", "var/log/dmesg": ""})
    words = lowlat("lint", "--root", root, "--json").json()["words"]
    assert {word["word"]: word["verdict"] for word in words}["psi=1"] == "unknown"


def test_words_need_no_quotes(host: Path) -> None:
    words = lowlat("lint", "--root", host, "isolcpus=2-7", "quiet", "--json").json()["words"]
    assert [word["word"] for word in words] == ["isolcpus=2-7", "quiet"]


def test_the_running_line_is_the_default(host: Path) -> None:
    answer = lowlat("lint", "--root", host, "--json")
    assert answer.status == 0
    assert [word["word"] for word in answer.json()["words"]][-1] == "quiet"


def test_what_the_running_kernel_shows_goes_first(tmp_path: Path) -> None:
    root = reference.bare_metal(tmp_path, cpus=8)
    line = "isolcpus=managed_irq,domain,2-7 nohz_full=2-7 irqaffinity=0-1 odd_name odd_other"
    log = 'Linux version 6.12\nUnknown kernel command line parameters "odd_name", will be passed'
    shown = {"proc/cmdline": line, "var/log/dmesg": log, "sys/devices/system/cpu/isolated": "2-7\n"}
    write_tree(root, {**shown, "sys/devices/system/cpu/nohz_full": "\n"})
    words = lowlat("lint", "--root", root, "--json").json()["words"]
    assert [word["verdict"] for word in words] == [
        "effective", "ignored", "assumed", "ignored", "unknown",
    ]  # fmt: skip


def test_what_is_no_text_is_refused(host: Path, tmp_path: Path) -> None:
    assert "holds no boot line" in answer_of(host, "quiet\0", tmp_path).refused()


BOARD = Path(__file__).parents[1] / "machines/qemu-arm64-4c.txt"


def test_names_of_other_architectures_are_ignored(host: Path) -> None:
    line = "xmon=on kvm-arm.mode=nvhe nopti rodata=on"
    names = [word.partition("=")[0] for word in line.split()]
    ours, board = (dict(zip(names, judged(root, line).values())) for root in (host, BOARD))
    assert ours == {"xmon": "ignored", "kvm-arm.mode": "ignored", "nopti": ours["nopti"],
                    "rodata": "unknown"}  # fmt: skip
    assert board["xmon"] == board["nopti"] == "ignored"
    assert board["kvm-arm.mode"] == board["rodata"] == "unknown"


def test_a_text_longer_than_any_line_is_refused(host: Path) -> None:
    assert lowlat("lint", "--root", host, "x" * (1 << 17)).refused()


LONG = {
    "the same list": "nohz_full=0-7:1/2 " * 110,
    "lists that are the same": "isolcpus=domain,1-7:1/2 isolcpus=domain,1-6:2/2 " * 40,
    "beside others": "nohz_full=0-7:1/2 " * 50 + "irqaffinity=0-7:1/2 " * 50,
    "misspelt": "preempt=ful " * 160,
    "behind the end": "quiet " + "nohz_full=0-7:1/2 " * 3000,
}


@pytest.mark.parametrize("line", LONG.values(), ids=LONG)
def test_a_line_is_read_a_bounded_number_of_times(
    line: str, host: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[int] = []
    searches: list[CpuSet] = []

    whole_cores = SystemPart.whole_cores

    def whole(part: SystemPart, cpus: CpuSet) -> CpuSet:
        """On a machine with thousands of CPUs it takes half a second."""
        searches.append(cpus)
        assert len(searches) <= 24, "two names, in each round of mending"
        return whole_cores(part, cpus)

    def read(text: str, *where: Any) -> Any:
        reads.append(len(read_words(text)))
        assert sum(reads) <= bounds.LINT_WORDS
        return effect.read(text, *where)

    monkeypatch.setattr(booted, "read", read)
    monkeypatch.setattr(SystemPart, "whole_cores", whole)
    profile = tmp_path / "profile.json"
    spec = {"cpu": {"isolated": "2-7", "reserved": "0-1"}, "additionalKernelArgs": line.split()}
    profile.write_text(json.dumps({"kind": "PerformanceProfile", "spec": spec}))
    tuned = tmp_path / "tuned.conf"
    tuned.write_text(f"[main]\nsummary=x\n[bootloader]\ncmdline={line}\n")
    for source in (line, tuned, profile):
        reads.clear()
        searches.clear()
        assert lowlat("lint", "--root", host, source).status in (0, 1, 2)


def test_what_the_kernel_cuts_off_is_told_once(host: Path) -> None:
    line = f"{FINE} y={'y' * 1800} {'isolcpu=2 z ' * 2000}"
    document = lowlat("lint", "--root", host, line, "--json").json()
    (rest,) = [word for word in document["words"] if "never sees" in word["why"]]
    assert rest == document["words"][-1] and len(document["words"]) < 60
    assert len(line.strip()) - len(rest["word"]) in range(2020, 2048)
    assert rest["verdict"] == "ignored" and rest["fix"] == "leave it out"
    assert len(document["mended"]) < 2048


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("a " * 300, "the line has 300 words"),
        ("nowatchdog nosoftlockup nmi_watchdog=0 " * 50, "it has nowatchdog 50 times"),
    ],
)
def test_a_line_of_which_nobody_could_tell_what_it_does(line: str, why: str, host: Path) -> None:
    assert why in lowlat("lint", "--root", host, line).refused()


# ---------------------------------------------------------------- what is shown

TWENTY = (
    "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro quiet splash net.ifnames=0 isolcpus=2-7 nohz=on "
    "skew_tick=1 nosoftlockup mce=off tsc=reliable intel_idle.max_cstate=1 processor.max_cstate=1 "
    "elevator=noop kthread_cpus=0-1 rcu_nocb_poll transparent_hugepage=never audit=0 idle=mwait"
)


FINE = "isolcpus=managed_irq,domain,2-7 nohz_full=2-7 rcu_nocbs=2-7 irqaffinity=0-1 skew_tick=1"


@pytest.mark.parametrize("columns", ["80", "40"])
def test_what_matters_fits_a_screen(
    columns: str, host: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    rows = lowlat("lint", "--root", host, TWENTY).out.splitlines()
    contradicted = lowlat("lint", "--root", host, "isolcpus=2-7 irqaffinity=0-3").out
    assert "  contradictory irqaffinity" in contradicted
    assert len(rows) <= (15 if columns == "80" else 25)
    assert max(map(len, rows)) <= int(columns)
    labels = [row[2:15].rstrip() for row in rows]
    assert "harmful" in labels[1:3] and labels.count("not judged") == 1
    assert labels.count("missing") == 3
    kept = " ".join(word for word in TWENTY.split() if not word.startswith(("el", "kt", "mce")))
    assert columns == "40" or len(lowlat("lint", "--root", host, kept).out.splitlines()) <= 12


def test_what_a_word_costs_is_shown(host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that takes effect as its author wished, at a price that he may not know."""
    monkeypatch.setenv("COLUMNS", "80")
    line = f"{FINE} tsc=reliable idle=poll mce=ignore_ce mitigations=off nopti nosoftlockup"
    answer = lowlat("lint", "--root", host, f"{line} nmi_watchdog=0 transparent_hugepage=never")
    (row,) = re.findall(r"^  costly +(.*\n(?: {8}.*\n)*)", answer.out, re.M)
    assert " ".join(row.split()) == (
        "security: mitigations=off nopti; "
        "hides faults: tsc=reliable mce=ignore_ce nosoftlockup; power: idle=poll"
    )
    assert answer.status == 0 and "leaves out 6 words" in answer.out
    assert "costly" not in lowlat("lint", "--root", host, FINE).out
    words = lowlat("lint", "--root", host, "nopti idle=halt", "--json").json()["words"]
    assert [word["risk"] for word in words] == ["security", "none"]


def test_everything_is_shown_on_demand(host: Path) -> None:
    document = lowlat("lint", "--root", host, TWENTY, "--json").json()
    told = " ".join(lowlat("lint", "--root", host, "--all", TWENTY).out.split())
    for word in (*document["words"], *document["missing"]):
        assert word["word"] in told
        assert word.get("verdict") == "unknown" or word["why"] in told
    assert document["mended"] in told


def test_the_mended_line_has_what_was_missing(host: Path) -> None:
    document = lowlat("lint", "--root", host, "isolcpu=2-7 skew_tick=1 -- init", "--json").json()
    assert document["mended"] == (
        "isolcpus=managed_irq,domain,2-7 skew_tick=1 nohz_full=2-7 irqaffinity=0-1 -- init"
    )
    assert lowlat("lint", "--root", host, document["mended"], "--json").json()["missing"] == []
    document = lowlat("lint", "--root", host, "noapic isolcpus=2-7 nohz=on", "--json").json()
    assert document["mended"].startswith("noapic isolcpus=managed_irq,"), "noapic: no simple advice"


# ---------------------------------------------------------------- any text


NAMES = "isolcpus nohz_full rcu_nocbs irqaffinity nohz idle mce tsc hugepages hugepagesz preempt"
WORDS = st.sampled_from([*NAMES.split(), "sysctl.vm.stat_interval", "nosmt", "--", "a.b", "quiet"])
VALUES = st.text("0123456789-,:/Nalonf.domainmanaged_irq<>\"'$\\ ", max_size=20) | st.text(
    max_size=20
)
LINES = st.lists(
    st.builds("{}={}".format, WORDS, VALUES) | WORDS | st.text(max_size=30), max_size=12
)


@settings(max_examples=50, deadline=None)
@given(LINES)
def test_any_text_has_an_answer_or_is_refused(words: list[str]) -> None:
    machine = str(Path(__file__).parents[1] / "machines/qemu-x86-8c-isolated.txt")
    line = " ".join(words)
    if line.startswith("-"):
        line = f" {line}"
    answer = lowlat("lint", "--root", machine, line)
    assert answer.status in (0, 1, 2)
    if answer.status == 2:
        assert answer.refused()
    assert max(map(len, answer.out.splitlines()), default=0) <= 80


# ---------------------------------------------------------------- lines of public guides


def sections(folder: Path) -> Iterator[str]:
    root = reference.bare_metal(folder)
    for number, (source, line, remark) in enumerate(reference.guide_lines(), 1):
        document = lowlat("lint", "--root", root, line, "--json").json()
        yield f"### {number}. <{source}>\n"
        yield f"```\n{line}\n```\n"
        yield f"{remark}\n"
        told = [word for word in document["words"] if word["verdict"] not in QUIET]
        rows = [f"| `{word['word']}` | {word['verdict']} | {plain(word['why'])} |" for word in told]
        rows += [
            f"| `{item['word']}` | missing | {plain(item['why'])} |" for item in document["missing"]
        ]
        if rows:
            yield "\n".join(["| word | | |", "|---|---|---|", *rows, ""])


def plain(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "\\<")


def test_the_verdicts_on_lines_of_guides_are_those_that_were_read(tmp_path: Path) -> None:
    assert len(reference.guide_lines()) >= 25
    assert len({line.source for line in reference.guide_lines()}) >= 25
    text = DOC.read_text("utf-8")
    head = text[: text.index("### 1. ")]
    expected = head + "\n".join(sections(tmp_path))
    if GOLDEN:
        DOC.write_text(expected, "utf-8")
    assert text == expected
