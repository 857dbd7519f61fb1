# SPDX-License-Identifier: GPL-2.0-or-later
"""CPU isolation at boot: scheduler domains, the tick, RCU callbacks, interrupts."""

from __future__ import annotations

from typing import Optional

from lowlat.catalogue.entry import PARAMETERS, Reads, Sign, Target, Tunable
from lowlat.catalogue.needs import ISOLATION, built_in, config, done_by
from lowlat.model.cpuset import CpuSet

_ISOLATION = "kernel/sched/isolation.c"


def _offloaded_already(target: Target) -> Optional[str]:
    built = built_in("RCU_NOCB_CPU_DEFAULT_ALL", "with all CPUs offloaded")
    return None if target.isolated else built(target)


ENTRIES = (
    Tunable(
        name="isolcpus",
        silences=(
            "thread: *",
            "ipi: IPI reschedul* from *",
            "ipi: IPI reschedul*",
            "irq: * (hrtimer_wakeup*",
        ),
        why="takes the isolated CPUs out of load balancing and wake-up placement, and keeps "
        "managed interrupts and unbound workqueues off them",
        source=f"{PARAMETERS} isolcpus; {_ISOLATION}",
        # managed_irq alone would drop the default flag and leave the scheduler domains untouched.
        value="managed_irq,domain,{isolated}",
        needs=(ISOLATION, config("CPU_ISOLATION")),
        unneeded=done_by(
            ("cpuset.partition",), "{} isolates these CPUs, and gives them back without a reboot"
        ),
        cost="tasks on isolated CPUs are never balanced: several threads pinned to the set pile up "
        "on one CPU unless each is pinned by itself",
        sign=Sign(
            path="/sys/devices/system/cpu/isolated",
            reads=Reads.LIST,
            expected=lambda value: value.replace("managed_irq,domain,", ""),
            contradiction=r"Housekeeping:|isolcpus:",
        ),
    ),
    Tunable(
        name="nohz_full",
        silences=(
            "irq: local_timer*",
            "irq: irq * arch_timer*",
            "softirq: TIMER*",
            "softirq: SCHED*",
            "softirq: HRTIMER*",
        ),
        why="stops the scheduler tick while one task runs, and moves timers, RCU callbacks, "
        "lockup watchdogs and, before 7.0, kernel threads to the housekeeping CPUs",
        source=f"timers/no_hz.rst; {_ISOLATION}",
        evidence="/sys/devices/system/cpu/nohz_full equals the list; LOC in /proc/interrupts flat",
        value="{isolated}",
        needs=(ISOLATION, config("NO_HZ_FULL")),
        cost="entering and leaving the kernel costs more on these CPUs: not for system-call-heavy "
        "work",
        implies=("rcu_nocbs", "kthread.affinity", "kernel.watchdog_cpumask"),
        sign=Sign(
            path="/sys/devices/system/cpu/nohz_full",
            reads=Reads.LIST,
            proof=r"NO_HZ: Full dynticks CPUs|Disabling watchdog on nohz_full",
            contradiction=r"Housekeeping:|NO_HZ: (Clearing|Can't run)",
        ),
    ),
    Tunable(
        name="rcu_nocbs",
        silences=("softirq: RCU*", "thread: rcuc/*", "thread: rcuo*"),
        why="runs RCU callbacks of the listed CPUs in kernel threads instead of in softirqs that "
        "interrupt whatever runs there",
        source=f"{PARAMETERS} rcu_nocbs; kernel/rcu/tree_nocb.h",
        evidence="kernel message 'Offload RCU callbacks from CPUs:'; rcuo threads exist",
        value="{isolated_or_all}",
        needs=(config("RCU_NOCB_CPU"),),
        unneeded=_offloaded_already,
        cost="the threads that run the callbacks have to be kept off the isolated CPUs: nohz_full "
        "and kthread.affinity do it",
        accepts=r"all",
        sign=Sign(
            thread=r"rcuo",
            proof=r"rcu:\s+Offload RCU callbacks from CPUs",
            contradiction=r"rcu_nocbs= bad CPU range|contains nonexistent CPUs",
        ),
    ),
    Tunable(
        name="irqaffinity",
        why="places interrupts on the housekeeping CPUs from the start; moving them later may take "
        "effect only at their next arrival",
        source=f"{PARAMETERS} irqaffinity; kernel/irq/irqdesc.c",
        value="{housekeeping}",
        needs=(ISOLATION,),
        implies=("irq.default_smp_affinity",),
        sign=Sign(
            path="/proc/irq/default_smp_affinity",
            reads=Reads.MASK,
            expected=lambda value: CpuSet.parse_list(value).mask(),
        ),
    ),
)
