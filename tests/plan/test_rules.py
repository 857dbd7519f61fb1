# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules across entries: every packaged profile on every kind of machine and kernel."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from lowlat.base.errors import Refused
from lowlat.catalogue import CATALOGUE, lookup
from lowlat.catalogue.entry import Risk
from lowlat.host.root import Root
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import (
    ClockSource,
    Config,
    Core,
    Cpus,
    IdleState,
    Kernel,
    Machine,
    Node,
    PowerControl,
    Processor,
    Services,
)
from lowlat.model.plan import Plan
from lowlat.plan import planner, profile, store
from lowlat.plan.planner import Options

_OPTIONS = """
    CPU_ISOLATION NO_HZ_FULL RCU_NOCB_CPU RCU_LAZY CPUSETS PREEMPT_DYNAMIC IRQ_FORCED_THREADING PSI
    SOFTLOCKUP_DETECTOR HARDLOCKUP_DETECTOR X86_MCE COMPACTION NUMA_BALANCING TRANSPARENT_HUGEPAGE
    KSM CPU_IDLE CPU_FREQ_GOV_PERFORMANCE PCIEASPM IOMMU_SUPPORT RPS NET_RX_BUSY_POLL KVM KVM_INTEL
    PARAVIRT_SPINLOCKS HALTPOLL_CPUIDLE GENERIC_IDLE_POLL_SETUP DEBUG_FS HUGETLBFS XPS INTEL_IOMMU
"""
CONFIG = Config("/boot/config", {name: "y" for name in _OPTIONS.split()})
REALTIME = Config("/boot/config", {**CONFIG.options, "PREEMPT_RT": "y"})


def machine(
    release: str = "6.12.107",
    config: Config | None = CONFIG,
    arch: str = "x86_64",
    hypervisor: str | None = None,
    threads: int = 1,
    cores: int = 8,
    cgroup: str | None = "v1",
) -> Machine:
    """Eight cores on two nodes, with every driver that a tunable might ask for."""
    online = CpuSet.of(range(cores * threads))
    made = [CpuSet.of(range(core * threads, (core + 1) * threads)) for core in range(cores)]
    half = cores * threads // 2
    nodes = (CpuSet.of(range(half)), CpuSet.of(range(half, cores * threads)))
    flags = frozenset({"constant_tsc", "nonstop_tsc", "split_lock_detect"})
    return Machine(
        arch=arch,
        cpus=Cpus(online=online, offline=CpuSet(), possible=online, boot=0),
        cores=tuple(Core(cpus, nodes=(cpus.first // half,)) for cpus in made),
        nodes=tuple(Node(number, cpus) for number, cpus in enumerate(nodes)),
        processor=Processor("GenuineIntel", "Test", flags, flags_known=True),
        hypervisor=hypervisor,
        clock=ClockSource("tsc", ("tsc", "hpet")),
        power=PowerControl()
        if hypervisor
        else PowerControl("intel_idle", "intel_pstate", ("performance", "powersave"), None, (_C1,)),
        kernel=Kernel(release, config is REALTIME if config else None, config),
        cmdline="root=/dev/sda1 ro quiet",
        services=Services(cgroup=cgroup),
    )


_C1 = IdleState(0, "C1", 2)

MACHINES = {
    "5.10": machine("5.10.0-28-amd64"),
    "6.1": machine("6.1.0-56-amd64"),
    "6.1-rt": machine("6.1.0-56-rt-amd64", REALTIME),
    "6.6": machine("6.6.30"),
    "6.12": machine("6.12.107+deb13-amd64"),
    "6.12-partitions": machine("6.12.107+deb13-amd64", cgroup="v2"),
    "6.12-rt": machine("6.12.107+deb13-rt-amd64", REALTIME),
    "6.17": machine("6.17.0-5-generic"),  # where writing workqueue masks stalls devices
    "7.0": machine("7.0.0-14-generic", cgroup="v2"),
    "7.0-rt": machine("7.0.0-14-realtime", REALTIME),
    "arm64": machine("6.12.107+deb13-arm64", arch="aarch64"),
    "guest": machine(hypervisor="kvm"),
    "emulated": machine(hypervisor="qemu"),
    "smt": machine(threads=2),
    "no-config": machine(config=None),
    "no-version": machine("unknown", config=None),
    "2-cores": machine(cores=2),
}
PROFILES = profile.packaged_names()
ISOLATING = [name for name in PROFILES if profile.load_packaged(name).isolates]


@dataclass(frozen=True)
class MadePlan:
    """A plan with the profile, machine and kernel that it was made for."""

    profile: str
    machine: Machine
    plan: Plan

    @property
    def line(self) -> dict[str, str]:
        return {parameter.name: parameter.value for parameter in self.plan.parameters}

    @property
    def names(self) -> set[str]:
        return {*self.line, *(setting.name for setting in self.plan.runtime)}


def make(name: str, machine: Machine, *enable: str, disable: tuple[str, ...] = ()) -> MadePlan:
    wanted = profile.load_packaged(name)
    # The kept core of the second node leaves none on a node of two cores.
    if len(machine.cores) == 2:
        machine = replace(machine, nodes=(Node(0, machine.cpus.online),))
    options = Options(enable=enable, disable=disable)
    return MadePlan(name, machine, planner.make_plan(machine, machine.kernel, wanted, options))


@cache
def every() -> tuple[MadePlan, ...]:
    """Each profile's plan on each machine, first plain and then with every optional setting given
    up."""
    drops = ((), ("isolcpus",), ("nohz_full",), ("cpuset.partition",))
    return tuple(
        make(name, machine, disable=dropped)
        for name, machine, dropped in product(PROFILES, MACHINES.values(), drops)
    )


def test_the_lists_of_isolcpus_nohz_full_and_rcu_nocbs_are_one() -> None:
    """If two lists differ, kernel 5.10 ignores the second one."""
    for made in every():
        given = {made.line[name] for name in ("nohz_full", "rcu_nocbs") if name in made.line}
        if "isolcpus" in made.line:
            given |= {re.sub("^([a-z_]+,)*", "", made.line["isolcpus"])}
        lists = {str(made.plan.isolated), made.plan.isolated.strided()}
        assert len(given) <= 1 and given <= (lists if made.plan.isolated else {"all"}), made
    assert {"isolcpus", "nohz_full", "rcu_nocbs"} <= set(make("lowlat", MACHINES["5.10"]).line)


def test_managed_irq_comes_with_domain_and_nohz_never() -> None:
    found = [made.line["isolcpus"].split(",") for made in every() if "isolcpus" in made.line]
    assert found
    for flags in found:
        assert flags[0] == "managed_irq" and "nohz" not in flags


def test_beside_a_partition_isolcpus_leaves_the_scheduler_alone() -> None:
    made = make("lowlat-hpc", MACHINES["7.0"])
    assert made.line["isolcpus"] == f"managed_irq,{made.plan.isolated}"
    without = make("lowlat-hpc", MACHINES["7.0"], disable=("cpuset.partition",))
    assert without.line["isolcpus"] == f"managed_irq,domain,{made.plan.isolated}"


@pytest.mark.parametrize(
    ("release", "flags"),
    [
        ("5.3.0-46-generic", ""),
        ("4.14.336-amzn2", ""),
        ("3.10.0-1160.el7.x86_64", ""),
        ("4.18.0-147.el8.x86_64", ""),
        ("4.18.0-193.el8.x86_64", "managed_irq,domain,"),
        ("5.6.0", "managed_irq,domain,"),
        ("unknown", "managed_irq,domain,"),
    ],
)
def test_a_flag_that_the_kernel_does_not_know_would_cost_the_whole_parameter(
    release: str, flags: str
) -> None:
    made = make("lowlat", machine(release))
    assert made.line["isolcpus"] == f"{flags}{made.plan.isolated}"
    (why,) = [p.why for p in made.plan.parameters if p.name == "isolcpus"]
    assert ("assumed: Linux 5.6 or newer" in why) is (release == "unknown")


@pytest.mark.parametrize("arch", ["i686", "ia64", "s390x"])
def test_no_tick_is_stopped_where_no_kernel_can(arch: str) -> None:
    made = make("lowlat", machine(config=None, arch=arch))
    assert "nohz_full" not in made.line
    assert "nohz_full" in make("lowlat", machine(config=None)).line


def test_what_is_assumed_does_not_take_the_place_of_what_does_no_harm() -> None:
    twins = {"kernel.watchdog_cpumask", "kthread.affinity"}
    for name in ("lowlat", "lowlat-hpc"):
        assert twins <= make(name, MACHINES["no-config"]).names
        assert not twins & make(name, MACHINES["6.12"]).names


IDLE_STATES = {
    # Alder Lake: C1 is number 1 and switched off (adl_cstates).
    "alder-lake": ([("C1E", 2), ("C6", 220)], "2", "2"),
    "meteor-lake": ([("C1E", 1), ("C6", 140)], "1", "1"),
    "sapphire-rapids": ([("C1", 1), ("C1E", 2), ("C6", 290)], "1", "1"),
    "skylake-server": ([("C1", 2), ("C1E", 10), ("C6", 133)], "1", "2"),
    # 0 would mean no limit, and the next state is a deep sleep.
    "no latency": ([("C1", 0), ("C2", 18)], "1", "1"),
    "unknown": ([], "1", "2"),
}


@pytest.mark.parametrize("name", IDLE_STATES)
def test_the_lightest_sleep_stays_and_is_the_only_one(name: str) -> None:
    states, number, bound = IDLE_STATES[name]
    shown = (IdleState(0, "POLL", 0), *(IdleState(0, *state) for state in states))
    on = machine(threads=2)
    on = replace(on, power=replace(on.power, idle_states=shown))
    made = make("lowlat-poll", on, "intel_idle.max_cstate")
    assert made.line["intel_idle.max_cstate"] == number
    (why,) = [p.why for p in made.plan.parameters if p.name == "intel_idle.max_cstate"]
    assert ("assumed: the first idle state" in why) is (not states)
    values = {s.value for s in made.plan.runtime if s.name == "pm_qos_resume_latency_us"}
    assert values == {bound}


def test_a_partition_is_not_made_where_that_changes_masks_that_must_not_change() -> None:
    """workqueue_unbound_exclude_cpumask() changes the same masks as workqueue.cpumask."""
    on = machine("6.12.60+deb13-amd64", cgroup="v2")
    made = make("lowlat-hpc", on)
    assert not {"cpuset.partition", "workqueue.cpumask"} & made.names
    assert made.line["isolcpus"].startswith("managed_irq,domain,")
    with pytest.raises(Refused, match="stall devices"):
        make("lowlat-hpc", on, "cpuset.partition")


def test_an_online_cpu_is_in_neither_list() -> None:
    """Otherwise kernels from 7.0 on ignore the parameter, and older ones lose their timekeeper."""
    for made in every():
        kept = made.plan.housekeeping
        assert made.machine.cpus.boot in kept
        assert not kept & made.plan.isolated


def test_timers_may_migrate_where_the_tick_stops() -> None:
    found = [made for made in every() if "nohz_full" in made.line]
    assert found
    for made in found:
        values = {s.value for s in made.plan.runtime if s.name == "kernel.timer_migration"}
        assert values == {"1"}, made.profile


def test_real_time_throttling_goes_on_request_and_on_a_real_time_kernel_only() -> None:
    name = "kernel.sched_rt_runtime_us"
    assert not [made for made in every() if name in made.names]
    for key, on in MACHINES.items():
        if on.kernel.realtime is False:
            with pytest.raises(Refused, match="PREEMPT_RT"):
                make("lowlat-rt", on, name)
        elif on.kernel.realtime:
            made = make("lowlat-rt", on, name)
            assert [s.value for s in made.plan.runtime if s.name == name] == ["-1"], key


def test_workqueue_masks_are_left_alone_where_writing_them_stalls_devices() -> None:
    masks = {"workqueue.cpumask", "workqueue.writeback.cpumask"}
    for name in ISOLATING:
        made = make(name, MACHINES["6.17"])
        assert not masks & made.names
        assert made.names & {"isolcpus", "nohz_full", "cpuset.partition"}, "unbound work may come"
        assert masks <= make(name, MACHINES["7.0"]).names
    alone = ("isolcpus", "nohz_full")
    made = make("lowlat", MACHINES["6.17"], "workqueue.unbound_cpus", disable=alone)
    assert made.line["workqueue.unbound_cpus"] == str(made.plan.housekeeping)


X86_ONLY = """
    idle intel_idle.max_cstate processor.max_cstate tsc clocksource mce machinecheck.check_interval
    split_lock_detect kernel.split_lock_mitigate nopvspin cpuidle_haltpoll.force
    kvm.kvmclock_periodic_sync kvm_intel.ple_gap
"""


@pytest.mark.parametrize("name", X86_ONLY.split())
def test_nothing_x86_on_arm(name: str) -> None:
    for wanted in PROFILES:
        assert name not in make(wanted, MACHINES["arm64"]).names
    with pytest.raises(Refused):
        make("lowlat", MACHINES["arm64"], name)


def test_arm_has_its_own_form_of_polling() -> None:
    assert "nohlt" in make("lowlat-poll", MACHINES["arm64"], "nohlt").line
    with pytest.raises(Refused, match="ARM only"):
        make("lowlat-poll", MACHINES["6.12"], "nohlt")


PHYSICAL = """
    idle nohlt cpuidle.off intel_idle.max_cstate processor.max_cstate pm_qos_resume_latency_us
    cpufreq.default_governor scaling_governor energy_performance_preference turbo pcie_aspm.policy
    tsc clocksource mce machinecheck.check_interval split_lock_detect kernel.split_lock_mitigate
    iommu.passthrough kvm.kvmclock_periodic_sync kvm_intel.ple_gap
"""


@pytest.mark.parametrize("name", PHYSICAL.split())
def test_nothing_physical_in_a_guest(name: str) -> None:
    for wanted, kind in product(PROFILES, ("guest", "emulated")):
        assert name not in make(wanted, MACHINES[kind]).names
    with pytest.raises(Refused, match="virtual machine|only"):
        make("lowlat", MACHINES["guest"], name)


HANDED_ON = """
    intel_idle.max_cstate pm_qos_resume_latency_us cpufreq.default_governor scaling_governor
"""


@pytest.mark.parametrize("name", HANDED_ON.split())
def test_a_large_guest_has_what_its_host_hands_on(name: str) -> None:
    guest = replace(machine(hypervisor="amazon"), power=MACHINES["6.12"].power)
    assert name in make("lowlat", guest, name).names
    with pytest.raises(Refused, match="virtual machine"):
        make("lowlat", guest, "idle")


def test_what_is_for_guests_is_for_guests() -> None:
    for name in ("nopvspin", "cpuidle_haltpoll.force"):
        assert name in make("lowlat-kvm-guest", MACHINES["guest"]).line
        assert name not in make("lowlat-kvm-guest", MACHINES["6.12"]).line


#: The costs of the default profile, none of which concerns safety, as README.md says.
DEFAULT_COSTS = {
    "skew_tick": Risk.POWER,
    "rcupdate.rcu_normal_after_boot": Risk.THROUGHPUT,
    "transparent_hugepage.enabled": Risk.THROUGHPUT,
}


def test_the_default_profile_costs_what_is_said_and_no_safety() -> None:
    for machine in MACHINES.values():
        for name in make("lowlat", machine).names:
            assert lookup(name).risk is DEFAULT_COSTS.get(name, Risk.NONE), name


def test_exactly_one_isolates() -> None:
    """The partition is chosen if the kernel is known to have it; otherwise isolcpus is chosen."""
    for name, key in product(ISOLATING, MACHINES):
        made = make(name, MACHINES[key])
        domains = made.line["isolcpus"].startswith("managed_irq,domain,")
        partition = name in ("lowlat-bench", "lowlat-hpc") and MACHINES[key].services.cgroup == "v2"
        assert ("cpuset.partition" in made.names) is partition is not domains, (name, key)


def test_the_high_performance_profile_leaves_throughput_alone() -> None:
    knobs = {entry.name for entry in CATALOGUE if entry.risk is not Risk.NONE}
    knobs -= {"skew_tick", "rcupdate.rcu_normal_after_boot"}
    knobs |= {"vm.compaction_proactiveness"}
    for machine in MACHINES.values():
        assert not make("lowlat-hpc", machine).names & knobs


def test_the_desktop_profile_needs_no_isolated_cpu() -> None:
    for machine in MACHINES.values():
        made = make("lowlat-desktop", machine)
        assert made.plan.isolated == CpuSet()
        assert made.plan.housekeeping == machine.cpus.online
        assert set(made.line) <= {"preempt", "rcu_nocbs", "rcutree.enable_rcu_lazy"}
        assert not made.plan.runtime
    alone = replace(MACHINES["6.12"], cores=MACHINES["6.12"].cores[:1])
    assert make("lowlat-desktop", alone).line == {
        "preempt": "full",
        "rcu_nocbs": "all",
        "rcutree.enable_rcu_lazy": "0",
    }


def test_polling_profiles_set_nothing_that_only_costs() -> None:
    made = make("lowlat-poll", MACHINES["6.12"])
    kept = {"pm_qos_resume_latency_us", "machinecheck.check_interval", "fair_server", "tsc"}
    assert kept <= made.names
    # CPUs that never sleep lose Intel's turbo, and a spinning CPU needs no such help.
    assert not {"idle", "intel_idle.max_cstate"} & made.names
    # Only the user may choose not to log errors, and the plan states this cost.
    assert "unlogged" in {offer.name: offer.cost for offer in made.plan.optional}["mce"]
    for name in ("lowlat-poll", "lowlat-nfv"):
        nothing = {"kernel.nmi_watchdog", "net.core.busy_poll", "net.core.busy_read"}
        for key in MACHINES:
            assert not nothing & make(name, MACHINES[key]).names
    # Lockup detection stays on for the housekeeping CPUs alone.
    skipped = {item.name: item.why for item in made.plan.skipped}
    assert "nohz_full" in skipped["kernel.nmi_watchdog"]


def test_the_real_time_profile_stops_the_tick_on_request() -> None:
    """Work that sleeps and wakes a thousand times a second pays for nohz_full each time."""
    made = make("lowlat-rt", MACHINES["6.12-rt"])
    assert "nohz_full" not in made.line
    assert {"kernel.watchdog_cpumask", "kthread.affinity"} <= made.names
    assert "thousand times" in {offer.name: offer.cost for offer in made.plan.optional}["nohz_full"]
    assert "nohz_full" in make("lowlat-rt", MACHINES["6.12-rt"], "nohz_full").line


def test_the_real_time_profile_sets_priorities_where_they_count() -> None:
    made = make("lowlat-rt", MACHINES["6.12-rt"])
    assert made.line["rcutree.kthread_prio"] == "4" and "threadirqs" not in made.line
    rows = {s.target: s.value for s in made.plan.runtime if s.name == "kthread.priority"}
    isolated = made.plan.isolated
    expected = {
        f"kthread:{kind}/{cpu}:policy" for kind in ("ksoftirqd", "ktimers") for cpu in isolated
    }
    assert set(rows) == expected and set(rows.values()) == {"fifo:2"}
    assert "threadirqs" in make("lowlat-rt", MACHINES["6.12"]).line


@pytest.mark.parametrize("key", MACHINES)
def test_what_is_offered_is_possible(key: str) -> None:
    for name in PROFILES:
        for offer in make(name, MACHINES[key]).plan.optional:
            asked = offer.enable.removeprefix("--enable ")
            assert offer.name in make(name, MACHINES[key], asked).names


@pytest.mark.parametrize("key", MACHINES)
def test_every_plan_can_be_stored_and_is_accepted_again(key: str, tmp_path: Path) -> None:
    for name in PROFILES:
        made = make(name, MACHINES[key])
        stored = tmp_path / f"{name}.json"
        stored.write_text(json.dumps(made.plan.to_json()))
        assert store.read(str(stored), Root()) == made.plan
