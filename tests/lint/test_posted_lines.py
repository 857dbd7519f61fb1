# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines that people posted, on machines like theirs: the verdicts, and the cause that was found."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Optional

import pytest

from support.cli import lowlat
from support.machines import CPU, machine, write_tree

MACHINES = Path(__file__).parents[1] / "machines"

BOARD = Path(__file__).parents[1] / "machines/qemu-arm64-4c.txt"
BUILT = """CONFIG_CPU_ISOLATION=y
CONFIG_NO_HZ_FULL=y
CONFIG_RCU_NOCB_CPU=y
CONFIG_SOFTLOCKUP_DETECTOR=y
CONFIG_HARDLOCKUP_DETECTOR=y
CONFIG_HUGETLBFS=y
CONFIG_X86_MCE=y
CONFIG_X86_INTEL_PSTATE=y
CONFIG_IOMMU_SUPPORT=y
CONFIG_CPUMASK_OFFSTACK=y
"""
AMD = "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: Test CPU\nflags\t\t: fpu tsc lm\n"


class Posted(NamedTuple):
    """``says`` has words of the output for the cause that the poster, or the answer, named."""

    source: str
    line: str
    verdicts: Mapping[str, str]
    says: str
    cpus: int = 8
    threads: int = 1
    release: str = "6.12.1-x"
    config: str = BUILT
    flags: str = "fpu tsc lm constant_tsc nonstop_tsc"
    cpuinfo: Optional[str] = None
    states: str = ""
    driver: str = "intel_idle"


POSTED = [
    Posted(
        "github.com/raspberrypi/linux/issues/4106",
        "console=tty1 isolcpus=0",
        {"isolcpus=0": "ignored"},
        "must include one present CPU, using boot CPU:0",
        cpus=0,
    ),
    Posted(
        "github.com/vyos/vyos-build/pull/1045",
        "isolcpus=2-3 nohz_full=2-3 rcu_nocbs=2-3 nmi_watchdog=0 mce=off",
        {"nohz_full=2-3": "ignored", "rcu_nocbs=2-3": "ignored", "nmi_watchdog=0": "effective"},
        "built without CONFIG_NO_HZ_FULL",
        cpus=4,
        release="6.6.105-vyos",
        config=BUILT.replace("NO_HZ_FULL=y", "NO_HZ_FULL=n").replace("NOCB_CPU=y", "NOCB_CPU=n"),
    ),
    Posted(
        "github.com/ValveSoftware/SteamOS/issues/1243",
        "amd_pstate=passive",
        {"amd_pstate=passive": "ignored"},
        "built without CONFIG_X86_AMD_PSTATE",
        release="6.1.52-valve9-1-neptune-61",
        cpuinfo=AMD,
        driver="acpi_idle",
    ),
    Posted(
        "github.com/xmrig/xmrig/issues/3076",
        "quiet hugepagesz=1GB hugepages=6",
        {"hugepagesz=1GB": "ignored", "hugepages=6": "ignored"},
        "this processor has no pages of that size",
        cpus=4,
        release="5.17.9",
    ),
    Posted(
        "github.com/starlingx/config/pull/2",
        "isolcpus=6-35 rcu_nocbs=2-35 kthread_cpus=0-1 irqaffinity=0-1 nmi_watchdog=0 "
        "nohz_full=2-35",
        {
            "nohz_full=2-35": "ignored",
            "rcu_nocbs=2-35": "effective",
            "nmi_watchdog=0": "effective",
            "kthread_cpus=0-1": "ignored",
        },
        "have to list the same CPUs: the second",
        cpus=36,
        release="5.10.74-200.1810.tis.el7.x86_64",
    ),
    Posted(
        "github.com/openshift-kni/performance-addon-operators/issues/288",
        "nohz=on rcu_nocbs=2-7 tsc=nowatchdog isolcpus=managed_irq,2-7 systemd.cpu_affinity=0,1",
        {
            "isolcpus=managed_irq,2-7": "effective",
            "tsc=nowatchdog": "effective",
            "nohz=on": "redundant",
        },
        "no CPU is isolated from tasks",
        release="4.18.0-193.14.3.rt13.67.el8_2.x86_64",
        flags="fpu tsc lm constant_tsc nonstop_tsc tsc_adjust",
    ),
    Posted(
        "github.com/suse-edge/suse-edge.github.io/pull/723",
        "default_hugepagesz=1G hugepages=0 hugepages=40 hugepagesz=1G hugepagesz=2M "
        "irqaffinity=0-1 isolcpus=domain,nohz,managed_irq,2-7 nohz_full=2-7 nosoftlockup "
        "nowatchdog idle=poll rcupdate.rcu_expedited=1 rcupdate.rcu_normal_after_boot=1 "
        "rcutree.kthread_prio=99",
        {
            "hugepages=0": "assumed",
            "hugepages=40": "ignored",
            "hugepagesz=1G": "ignored",
            "idle=poll": "harmful",
            "nowatchdog": "effective",
            "nosoftlockup": "effective",
            "rcupdate.rcu_expedited=1": "assumed",
            "rcutree.kthread_prio=99": "unknown",
        },
        "a second count for the same size is ignored",
        threads=2,
        release="6.4.0-150600.10.17-rt",
        config=f"{BUILT}CONFIG_PREEMPT_RT=y\nCONFIG_RCU_BOOST=y\n",
        flags="fpu tsc lm pdpe1gb",
    ),
    Posted(
        "docs.cloud-atlas.dev, amd_cpu_c-state",
        "processor.max_cstate=1 intel_idle.max_cstate=0",
        {"processor.max_cstate=1": "effective", "intel_idle.max_cstate=0": "ignored"},
        "this is not an Intel processor",
        cpuinfo=AMD,
        driver="acpi_idle",
    ),
    Posted(
        "utcc.utoronto.ca, KernelRcuNocbsMeaning",
        "rcu_nocbs=0-7 processor.max_cstate=5",
        {"rcu_nocbs=0-7": "effective", "processor.max_cstate=5": "redundant"},
        "it bounds nothing here, where acpi_idle",
        cpuinfo=AMD,
        states="POLL C1 C2",
        driver="acpi_idle",
    ),
    Posted(
        "github.com/projectacrn/acrn-hypervisor, commit 81f9837e",
        "maxcpus=2 nohpet console=hvc0 tsc=reliable noapic",
        {"tsc=reliable": "assumed", "maxcpus=2": "effective", "noapic": "harmful"},
        "this boot has CPU 0-1",
        cpus=4,
        release="6.1.80",
        flags="fpu tsc lm hypervisor",
    ),
    Posted(
        "KDE Linux, commit 3fa9a6933",
        "preempt=full nohz_full=all threadirqs rcu_nocbs=all",
        {"nohz_full=all": "harmful"},
        "nothing keeps tasks off the ones that your work is on",
        cpus=32,
        threads=2,
    ),
    Posted(
        "docs.redhat.com, OpenShift 4.21, vDU",
        "rcupdate.rcu_normal_after_boot=0",
        {"rcupdate.rcu_normal_after_boot=0": "unknown"},
        "lowlat does not judge it",
        config=f"{BUILT}CONFIG_PREEMPT_RT=y\n",
    ),
    Posted(
        "access.redhat.com, hangs in intel_idle",
        "intel_idle.max_cstate=0 processor.max_cstate=0 idle=poll idle=halt",
        {"idle=poll": "harmful", "processor.max_cstate=0": "assumed"},
        "means 1, not C0",
        cpus=32,
        threads=2,
        release="4.18.0-193.el8.x86_64",
        states="POLL C1 C6",
    ),
    Posted(
        "github.com/thanasxda/basic-linux-setup",
        "nodelayacct nohighres",
        {"nodelayacct": "ignored", "nohighres": "ignored"},
        "no mainline kernel from 6.1 to",
    ),
    Posted(
        "wsg1100, cnblogs",
        "nosmt isolcpus=1,3",
        {"isolcpus=1,3": "ignored"},
        "CPU 1,3 stays offline in this boot by nosmt",
        cpus=4,
        threads=2,
    ),
    Posted(
        "FD.io CSIT, Altra",
        "default_hugepagesz=2M hugepagesz=1G hugepages=32 hugepagesz=2M hugepages=64",
        {"default_hugepagesz=2M": "redundant"},
        "the boot comes to the same without it",
        flags="fpu tsc lm pse pdpe1gb",
    ),
]


def tree(posted: Posted, folder: Path) -> Path:
    if not posted.cpus:
        return BOARD
    files = machine(
        posted.cpus,
        posted.threads,
        posted.release,
        posted.config,
        posted.flags,
        posted.cpuinfo,
    )
    files[f"{CPU}/cpuidle/current_driver"] = f"{posted.driver}\n"
    for at, name in enumerate(posted.states.split()):
        files[f"{CPU}/cpu0/cpuidle/state{at}/name"] = f"{name}\n"
        files[f"{CPU}/cpu0/cpuidle/state{at}/latency"] = f"{at}\n"
    return write_tree(folder, files)


@pytest.mark.parametrize("posted", POSTED, ids=lambda posted: posted.release + posted.line[:12])
def test_the_cause_is_found(posted: Posted, tmp_path: Path) -> None:
    document = lowlat("lint", "--root", tree(posted, tmp_path), posted.line, "--json").json()
    found = {word["word"]: word["verdict"] for word in document["words"]}
    assert {word: found[word] for word in posted.verdicts} == posted.verdicts
    told = [item["why"] for item in (*document["words"], *document["missing"])]
    assert any(posted.says in why for why in told), told


#: A line, a release, its words' verdicts, and what becomes of the line ("" for nothing).
JUDGED = [
    (
        "rcutree.nohz_full_patience_delay=1000 isolcpus=managed_irq,domain,6-7",
        "7.0.1-x",
        "ignored effective",
        "rcutree.nohz_full_patience_delay=1000 isolcpus=managed_irq,domain,6-7 nohz_full=6-7 "
        "irqaffinity=0-5",
    ),
    ("nohz_full=1-7 rcu_nocbs=1-7", "6.16.1-x", "harmful effective", ""),
    (
        "isolcpus=domain,2-3,6-7",
        "4.14.1-x",
        "ignored",
        "isolcpus=2-3,6-7 nohz_full=2-3,6-7 irqaffinity=0-1,4-5",
    ),
    (
        "isolcpus=nohz,domain,managed_irq,2,3 nohz_full=2,3 rcu_nocbs=2,3 irqaffinity=0-1,4-7",
        "6.8.1-x",
        "effective effective effective effective",
        "",
    ),
    (
        "isolcpus=managed_irq,2-3 rcu_nocb_poll irqaffinity=0-1,4-7",
        "6.8.1-x",
        "effective ignored effective",
        "isolcpus=managed_irq,domain,2-3 rcu_nocb_poll irqaffinity=0-1,4-7 nohz_full=2-3",
    ),
]


@pytest.mark.parametrize(("line", "release", "verdicts", "mended"), JUDGED)
def test_a_line_is_judged_and_mended(
    line: str, release: str, verdicts: str, mended: str, tmp_path: Path
) -> None:
    """On four cores of two threads, CPU 0 and 1 being the first."""
    host = write_tree(tmp_path, machine(8, 2, release, BUILT))
    document = lowlat("lint", "--root", host, line, "--json").json()
    assert " ".join(word["verdict"] for word in document["words"]) == verdicts
    assert (document["mended"] or "") == mended
    for word in document["words"]:
        assert not (word["word"] in mended.split() and word["fix"] == "leave it out")
    said = lowlat("lint", "--root", host, "--all", line).out.partition("left to you: ")[2]
    assert not mended or said == ""


def test_cores_are_completed_but_those_that_the_system_needs(tmp_path: Path) -> None:
    """Twenty cores whose second threads are CPU 20 to 39: the posted list has each first one but
    CPU 0. Of so many cores the system needs two."""
    files = machine(40, 1, "5.10.1-x", BUILT)
    for cpu in range(40):
        siblings = f"{cpu % 20},{cpu % 20 + 20}\n"
        files[f"{CPU}/cpu{cpu}/topology/core_cpus_list"] = siblings
    line = "isolcpus=managed_irq,domain,1-19 nohz_full=1-19"
    document = lowlat("lint", "--root", write_tree(tmp_path, files), line, "--json").json()
    whole = "2-19,22-39"
    assert document["mended"] == (
        f"isolcpus=managed_irq,domain,{whole} nohz_full={whole} irqaffinity=0-1,20-21"
    )


def test_a_word_that_keeps_cpus_off_is_not_spare_because_another_does() -> None:
    capture = MACHINES / "field/meteor-155h.txt.gz"
    line = "isolcpus=domain,managed_irq,1-9 nohz_full=1-9 nosmt=force maxcpus=4"
    words = lowlat("lint", "--root", capture, line, "--json").json()["words"]
    assert [(word["verdict"], word["why"]) for word in words[2:]] == [
        ("effective", "this boot has CPU 0,2-4")
    ] * 2


@pytest.mark.parametrize("release", ["5.4.0-26-custom", "4.18.0-147.rt24.93.el8.x86_64"])
def test_what_is_missing_is_what_this_kernel_takes(release: str, tmp_path: Path) -> None:
    host = write_tree(tmp_path, machine(8, 1, release, BUILT))
    document = lowlat("lint", "--root", host, "nohz_full=2-7", "--json").json()
    assert document["missing"][0]["word"] == "isolcpus=2-7"
    again = lowlat("lint", "--root", host, document["mended"], "--json").json()
    assert {word["verdict"] for word in again["words"]} == {"effective"}


@pytest.mark.parametrize(("kind", "fix"), [("vmware", "leave it out"), ("kvm", "cpuidle_")])
def test_a_guest_is_offered_what_its_hypervisor_has(kind: str, fix: str, tmp_path: Path) -> None:
    config = f"{BUILT}CONFIG_HALTPOLL_CPUIDLE=y\n"
    files = machine(4, config=config, flags="fpu tsc lm hypervisor")
    files["sys/hypervisor/type"] = f"{kind}\n"
    document = lowlat("lint", "--root", write_tree(tmp_path, files), "idle=poll", "--json").json()
    assert document["words"][0]["fix"].startswith(fix)


def test_a_word_goes_with_its_reason(tmp_path: Path) -> None:
    host = write_tree(tmp_path, machine(4))
    said = lowlat("lint", "--root", host, "nohz=on quiet").out
    assert "  redundant     nohz=on: it is the default\n  - nohz=on\n" in said


def test_a_bad_word_that_stays_is_named(tmp_path: Path) -> None:
    host = write_tree(tmp_path, machine(4))
    said = lowlat("lint", "--root", host, "--all", "pci=nomsi,noaer isolcpus=2-3").out
    assert "left to you: pci=nomsi,noaer\n" in said
    assert lowlat("lint", "--root", host, "pci=nomsi quiet", "--json").json()["mended"] == "quiet"


def test_no_advice_repeats_the_word_or_empties_a_list() -> None:
    capture = MACHINES / "field/epyc-8434p-8n.txt.gz"
    for line in ("isolcpus=1-47,49-95 nohz_full=48-95", "isolcpus=0-95 irqaffinity=6-47"):
        words = lowlat("lint", "--root", capture, line, "--json").json()["words"]
        assert [word for word in words if word["fix"] == word["word"]] == []
        assert [word for word in words if (word["fix"] or "").endswith("=")] == []
