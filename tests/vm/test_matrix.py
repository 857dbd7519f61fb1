# SPDX-License-Identifier: GPL-2.0-or-later
"""Every profile's boot half on real kernels: accepted without a complaint, and in effect.

The kernel is the oracle: ``verify`` judges, elsewhere, what the kernel shows of itself. Faults are
planted on purpose, and verify has to name each.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

import pytest

from lowlat.host import archive
from lowlat.plan import profile
from lowlat.rehearse import guest_measure
from lowlat.rehearse.kernel import BootableKernel
from lowlat.verify import evidence
from support.cli import lowlat
from support.guest import emulator, matrix, results
from support.guest.kernels import KERNELS, OLD, Packaged, packaged_or_skip

pytestmark = pytest.mark.vm

#: Where a profile is booted that is not booted everywhere; 6.12 for all others.
_HOME = {"lowlat-rt": "6.12-rt", "lowlat-kvm-guest": "newest"}

#: Loaded before the evidence is gathered: parameters of modules show only then.
_MODULES = {"lowlat-kvm-host": ("kvm",)}

#: What the captured guest does not show and the guest booted here has, or has to have.
_SEEN: Mapping[str, Mapping[str, str]] = {
    "lowlat-hpc": {"/sys/fs/cgroup/cgroup.controllers": "cpuset cpu io memory pids\n"},
    "lowlat-kvm-guest": {"/sys/hypervisor/type": "kvm\n"},
}

_NO_KVM = "QEMU without KVM offers it to no guest"
_NO_DRIVER = "QEMU emulates no frequency driver"
_NO_STATES = "QEMU emulates no idle state"
_COPY = "only the parameter's own copy shows it"

#: What no boot here can show; everything else has to be effective.
UNSEEN = {
    "cpufreq.default_governor": _NO_DRIVER,
    "cpuidle_haltpoll.force": _NO_KVM,
    "kvm_intel.ple_gap": _COPY,
    "kvm.kvmclock_periodic_sync": _COPY,
    "nopvspin": _NO_KVM,
    "irqaffinity": "no run-time half runs here, whose record tells who wrote the mask",
    "intel_idle.max_cstate": _NO_STATES,
    "processor.max_cstate": _NO_STATES,
    "nohlt": _NO_STATES,
    "threadirqs": "no driver here has an interrupt that could be seen to be threaded",
    "tsc": "nothing but a kernel message against it would tell",
    "workqueue.power_efficient": _COPY,
}

#: The part of isolcpus that verify tells of in a row of its own: this guest has a disk or two whose
#: interrupts would show it.
_FEW_INTERRUPTS = ("managed_irq", "unverifiable")

#: Beside a partition isolcpus keeps managed interrupts away alone.
_UNSEEN_OF_HPC = {"isolcpus": "no managed interrupt here would show it"}

#: What no profile asks of a physical machine by itself, because of what it costs.
_NEVER_SLEEPS = "--as-host --enable idle --enable mce"
_ARM_POLLS = "--as-host --enable nohlt"
_DRIVERS = (("intel_idle", "intel"), ("processor", "acpi"))

#: No driver here uses it: only the kernel's own copy shows that it took the name.
_GOVERNOR = "echo governor: $(cat /sys/module/cpufreq/parameters/default_governor)"

#: How long the default profile's boots count entries into the kernel.
_COUNTED_S = 3


@dataclass(frozen=True)
class Case:
    """What is booted: a kernel, a profile, more options of plan's, and the machine planned for."""

    kernel: str
    profile: str
    options: str = ""
    idle_driver: str = ""

    def __str__(self) -> str:
        return "_".join((self.kernel, self.profile, *self.options.split())).replace("--", "")

    @property
    def wanted(self) -> Packaged:
        return KERNELS[self.kernel]

    @property
    def as_host(self) -> bool:
        return "--as-host" in self.options

    @property
    def counted(self) -> bool:
        """Whether entries into the kernel are counted in this boot."""
        return self == Case(self.kernel, "lowlat")

    def seen(self) -> dict[str, str]:
        more = dict(_SEEN.get(self.profile, {}))
        if self.idle_driver:
            more["/sys/devices/system/cpu/cpuidle/current_driver"] = f"{self.idle_driver}\n"
        return more

    def hardware(self) -> emulator.Hardware:
        # Without the flag the kernel takes the machine for a physical one.
        hidden = self.as_host and self.wanted.arch == "amd64"
        cpu = f"{emulator.X86_CPU},-hypervisor" if hidden else ""
        return emulator.Hardware(self.wanted.arch, cpu=cpu)


def _cases() -> list[Any]:
    """The boots that every run has, then those that only the long one has."""
    every = [Case(kernel, name) for kernel in KERNELS for name in profile.packaged_names()]
    physical = [
        Case(kernel, "lowlat-poll", _NEVER_SLEEPS if kernel != "6.12-arm64" else _ARM_POLLS)
        for kernel in KERNELS
    ]
    drivers = [
        Case(kernel, "lowlat-poll", f"--as-host --enable {name}.max_cstate", f"{driver}_idle")
        for kernel in KERNELS
        if kernel != "6.12-arm64"
        for name, driver in _DRIVERS
    ]
    # The default profile on every kernel, every profile once, and what a plan for a physical
    # machine adds once.
    always = [Case(kernel, "lowlat") for kernel in KERNELS]
    always += [Case(_HOME.get(name, "6.12"), name) for name in profile.packaged_names()]
    always += [
        Case("6.12", "lowlat-kvm-host", "--as-host"),
        Case("newest", "lowlat-poll", _NEVER_SLEEPS),
        Case("6.12", "lowlat-poll", "--as-host --enable intel_idle.max_cstate", "intel_idle"),
    ]
    every += [*physical, *drivers]
    always = list(dict.fromkeys(always))
    rest = [case for case in dict.fromkeys(every) if case not in always]
    return [*always, *(pytest.param(case, marks=pytest.mark.proof) for case in rest)]


@dataclass(frozen=True)
class Booted:
    """One boot: the plan's document, its boot rows as verify judged them, and the evidence."""

    kernel: BootableKernel
    plan: Any
    rows: list[dict[str, Any]]
    evidence: archive.Archive
    console: str

    def states(self) -> dict[str, str]:
        """Of the planned parameters."""
        rows = (row for row in self.rows if row["where"] == "cmdline")
        states = ((row["name"], row["state"]) for row in rows if row["state"] != "not-planned")
        return dict(state for state in states if state != _FEW_INTERRUPTS)

    def ticks(self) -> list[dict[str, Any]]:
        """What verify says of the tick by its counts, a row for each isolated CPU."""
        ticks = (row for row in self.rows if row["name"] == "nohz_full")
        return [row for row in ticks if "/proc/interrupts" in row["where"]]

    def row(self, name: str, where: str = "cmdline") -> dict[str, Any]:
        return next(row for row in self.rows if row["name"] == name and where in row["where"])

    def complaints(self) -> list[str]:
        said = self.evidence.read("/var/log/dmesg") or ""
        return list(guest_measure.complaints(said, self.states()))


class MatrixBench:
    """Plans, boots and judges in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def plan(self, kernel: BootableKernel, case: Case, capture: str = "") -> dict[str, Any]:
        capture = capture or matrix.CAPTURES[case.wanted.arch]
        tree = matrix.machine(kernel, capture, self._folder / "machine.txt", case.seen())
        words = ("--kernel", kernel.release, "--profile", case.profile, *case.options.split())
        document: dict[str, Any] = lowlat("plan", "--root", tree, "--json", *words).json()
        return document

    def boot(self, plan: dict[str, Any], trial: matrix.Trial) -> Booted:
        """Boot and let verify judge the evidence against the plan."""
        path = self._folder / "plan.json"
        path.write_text(json.dumps(plan))
        found = matrix.boot(trial, self._folder, evidence.script())
        judged = lowlat("verify", "--plan", path, "--root", found, "--json")
        assert judged.status in (0, 1), judged.err
        rows = json.loads(judged.out)["settings"]
        return Booted(trial.kernel, plan, rows, archive.load(str(found)), self._console())

    def _console(self) -> str:
        return (self._folder / matrix.CONSOLE).read_text()


@pytest.fixture
def bench(tmp_path: Path) -> MatrixBench:
    return MatrixBench(tmp_path)


@pytest.mark.parametrize("case", _cases(), ids=str)
def test_the_kernel_takes_what_is_planned(case: Case, bench: MatrixBench) -> None:
    booted = _boot(case, bench)
    states = booted.states()
    assert list(states) == [item["name"] for item in booted.plan["cmdline"]["parameters"]]
    unseen = [name for name, state in states.items() if state != "effective"]
    reasons = {**UNSEEN, **(_UNSEEN_OF_HPC if case.profile == "lowlat-hpc" else {})}
    assert set(unseen) <= set(reasons), [booted.row(name) for name in unseen]
    assert booted.complaints() == []
    assert [row["state"] for row in booted.ticks()] == ["effective"] * 3 * case.counted
    if case.as_host and case.wanted.arch == "amd64":
        assert "Hypervisor detected" not in (booted.evidence.read("/var/log/dmesg") or "")
    if "cpufreq.default_governor" in states:
        assert "governor: performance" in booted.console
    _keep(case, booted, {name: reasons[name] for name in unseen})


def _boot(case: Case, bench: MatrixBench) -> Booted:
    kernel = packaged_or_skip(case.wanted)
    plan = bench.plan(kernel, case)
    trial = matrix.Trial(
        kernel,
        plan["cmdline"]["text"],
        case.hardware(),
        modules=_MODULES.get(case.profile, ()) if case.wanted.arch == "amd64" else (),
        before=_GOVERNOR,
        seconds=_COUNTED_S if case.counted else 0,
    )
    return bench.boot(plan, trial)


def _keep(case: Case, booted: Booted, unseen: Mapping[str, str]) -> None:
    """The row of this boot."""
    driver = f"(idle driver {case.idle_driver})" if case.idle_driver else ""
    what = " ".join(filter(None, (case.profile, case.options, driver)))
    remarks = [f"{name} not seen: {why}" for name, why in unseen.items()]
    if case.counted:
        remarks.append("the tick stops under a task on every isolated CPU")
    count = len(booted.states())
    results.add(
        booted.kernel.release, what, f"{count - len(unseen)} of {count}", "; ".join(remarks)
    )


# -------------------------------------------------------- physical parameters


@pytest.mark.parametrize("kernel", [name for name in KERNELS if name != "6.12-arm64"])
def test_a_physical_plan_asks_for_all_that_is_to_be_proved(kernel: str, bench: MatrixBench) -> None:
    """The boots above prove what they plan: here, that they plan what matters."""
    found = packaged_or_skip(KERNELS[kernel])
    polls = bench.plan(found, Case(kernel, "lowlat-poll", _NEVER_SLEEPS))["cmdline"]["text"]
    assert {"idle=poll", "mce=ignore_ce", "cpufreq.default_governor=performance"} <= set(
        polls.split()
    )
    for name, driver in _DRIVERS:
        options = f"--as-host --enable {name}.max_cstate"
        case = Case(kernel, "lowlat-poll", options, f"{driver}_idle")
        sleeps = bench.plan(found, case)["cmdline"]["text"].split()
        assert f"{name}.max_cstate=1" in sleeps


# -------------------------------------------------------------- planted faults


def _fault(
    bench: MatrixBench,
    wanted: Packaged,
    change: Callable[[str], str],
    before: str = "",
    seconds: int = 0,
) -> Booted:
    """Boot the default profile's plan with a changed line; what verify says of it."""
    kernel = packaged_or_skip(wanted)
    plan = bench.plan(kernel, Case("6.12", "lowlat"))
    line = change(plan["cmdline"]["text"])
    return bench.boot(plan, matrix.Trial(kernel, line, before=before, seconds=seconds))


def _told(booted: Booted, fault: str, row: Mapping[str, Any]) -> None:
    said = f"{row['name']}: {row['state']}, {row['evidence']}"
    results.add(booted.kernel.release, f"lowlat, planted: {fault}", "", said)


def test_a_list_out_of_range_is_named(bench: MatrixBench) -> None:
    kernel = packaged_or_skip(KERNELS["6.12"])
    # A machine with eight CPUs, of which four are left when it is booted.
    plan = bench.plan(kernel, Case("6.12", "lowlat"), "qemu-x86-2s4c-2n-devices")
    booted = bench.boot(plan, matrix.Trial(kernel, plan["cmdline"]["text"]))
    for name in ("isolcpus", "nohz_full"):
        row = booted.row(name)
        assert row["state"] == "ignored-by-kernel"
        assert "incorrect CPU range" in row["evidence"]
        _told(booted, "a list out of range", row)


def test_faults_beside_each_other_are_named(bench: MatrixBench) -> None:
    """A second isolcpus=, which the kernel drops, and a second irqaffinity=, which counts; a
    parameter left out, and a mask widened after the boot."""
    booted = _fault(
        bench,
        KERNELS["6.12"],
        lambda line: f"{line.replace(' skew_tick=1', '')} isolcpus=2 irqaffinity=1",
        "echo f >/sys/devices/virtual/workqueue/cpumask",
    )
    row = booted.row("isolcpus")
    assert row["state"] == "effective"
    assert "isolcpus=2 is dropped" in row["evidence"]
    _told(booted, "a second isolcpus=", row)

    row = booted.row("irqaffinity")
    assert row["state"] == "not-applied"
    assert "/proc/cmdline has irqaffinity=1 too" in row["evidence"]
    _told(booted, "a second irqaffinity=", row)

    row = booted.row("skew_tick")
    assert row["state"] == "not-applied"
    _told(booted, "skew_tick=1 left out", row)

    row = booted.row("workqueue.cpumask", "/workqueue/cpumask")
    assert row["state"] == "not-applied"
    assert row["effective"] == "f"
    _told(booted, "the workqueue mask widened", row)


def test_an_unstable_clock_is_named(bench: MatrixBench) -> None:
    """Unstable from its start, the clock keeps no tick (kernel/sched/clock.c): counters tell."""
    booted = _fault(bench, KERNELS["6.12"], lambda line: f"{line} tsc=unstable", "", _COUNTED_S)
    row = booted.row("nohz_full")
    assert "Marking TSC unstable due to boot parameter" in row["evidence"]
    assert row["state"] == "effective"
    assert [row["state"] for row in booted.ticks()] == ["effective"] * 3
    _told(booted, "tsc=unstable", row)


def test_a_kernel_without_nohz_full_is_named(bench: MatrixBench) -> None:
    kernel = packaged_or_skip(OLD)
    # Planned for another kernel: for this one nohz_full would be left out.
    plan = bench.plan(packaged_or_skip(KERNELS["6.1"]), Case("6.1", "lowlat"))
    booted = bench.boot(plan, matrix.Trial(kernel, plan["cmdline"]["text"]))
    row = booted.row("nohz_full")
    assert row["state"] == "ignored-by-kernel"
    _told(booted, "a kernel without NO_HZ_FULL", row)


#: A root partition takes CPUs away from its parent for good; the parent has to own them first.
_PARTITION = """
mkdir -p /sys/fs/cgroup && mount -t cgroup2 cgroup /sys/fs/cgroup
echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/lowlat.slice /sys/fs/cgroup/other.slice
echo 1-3 >/sys/fs/cgroup/lowlat.slice/cpuset.cpus
echo 0-3 >/sys/fs/cgroup/other.slice/cpuset.cpus
echo isolated >/sys/fs/cgroup/lowlat.slice/cpuset.cpus.partition
"""


def test_an_invalid_partition_is_named(bench: MatrixBench) -> None:
    kernel = packaged_or_skip(KERNELS["6.12"])
    plan = bench.plan(kernel, Case("6.12", "lowlat-hpc"))
    assert "isolcpus=managed_irq,domain" not in plan["cmdline"]["text"]
    # All CPUs in one partition leave nothing to the rest of the system.
    before = f"{_PARTITION}echo 0-3 >/sys/fs/cgroup/lowlat.slice/cpuset.cpus\n"
    booted = bench.boot(plan, matrix.Trial(kernel, plan["cmdline"]["text"], before=before))
    row = booted.row("cpuset.partition", "cpuset.cpus.partition")
    assert row["state"] == "ignored-by-kernel"
    assert "isolated invalid" in row["effective"]
    _told(booted, "a partition that the kernel refuses", row)
