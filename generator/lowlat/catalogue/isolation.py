# SPDX-License-Identifier: GPL-2.0-or-later
"""CPU isolation: scheduler domains, the tick, RCU callbacks, interrupts at boot."""

from __future__ import annotations

from typing import Optional

from lowlat.catalogue.entry import Reads, Risk, Sign, Stage, Target, Tunable, config
from lowlat.cpuset import CpuSet

_ISOLATION = "kernel/sched/isolation.c"
_PARAMETERS = "admin-guide/kernel-parameters.txt"


def _isolated(target: Target) -> str:
    return str(target.isolated)


def _normal_already(target: Target) -> Optional[str]:
    if target.kernel.realtime:
        return "PREEMPT_RT kernels do this by default (kernel/rcu/update.c)"
    return None


ENTRIES = (
    Tunable(
        name="isolcpus",
        stage=Stage.BOOT,
        why="takes the isolated CPUs out of load balancing and wake-up placement, and keeps "
        "managed interrupts and unbound workqueues off them",
        source=f"{_PARAMETERS} isolcpus; {_ISOLATION}",
        evidence="/sys/devices/system/cpu/isolated equals the list",
        # managed_irq alone would drop the default flag and leave the scheduler domains untouched.
        value=lambda target: f"managed_irq,domain,{target.isolated}",
        needs=(config("CPU_ISOLATION"),),
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
        stage=Stage.BOOT,
        why="stops the scheduler tick while one task runs, and moves timers, RCU callbacks, "
        "kernel threads and lockup watchdogs to the housekeeping CPUs",
        source=f"timers/no_hz.rst; {_ISOLATION}",
        evidence="/sys/devices/system/cpu/nohz_full equals the list; LOC in /proc/interrupts flat",
        value=_isolated,
        needs=(config("NO_HZ_FULL"),),
        cost="entering and leaving the kernel costs more on these CPUs: not for system-call-heavy "
        "work",
        sign=Sign(
            path="/sys/devices/system/cpu/nohz_full",
            reads=Reads.LIST,
            proof=r"NO_HZ: Full dynticks CPUs",
            contradiction=r"Housekeeping:|NO_HZ: (Clearing|Can't run)",
        ),
    ),
    Tunable(
        name="rcu_nocbs",
        stage=Stage.BOOT,
        why="runs RCU callbacks of the isolated CPUs in kernel threads elsewhere instead of in "
        "softirqs there",
        source=f"{_PARAMETERS} rcu_nocbs; kernel/rcu/tree_nocb.h",
        evidence="kernel message 'Offload RCU callbacks from CPUs:'; rcuo threads exist",
        value=_isolated,
        needs=(config("RCU_NOCB_CPU"),),
        sign=Sign(
            proof=r"rcu:\s+Offload RCU callbacks from CPUs",
            contradiction=r"rcu_nocbs= bad CPU range|contains nonexistent CPUs",
        ),
    ),
    Tunable(
        name="irqaffinity",
        stage=Stage.BOOT,
        why="places interrupts on the housekeeping CPUs from the start; moving them later may take "
        "effect only at their next arrival",
        source=f"{_PARAMETERS} irqaffinity; kernel/irq/irqdesc.c",
        evidence="/proc/irq/default_smp_affinity equals the housekeeping CPUs",
        value=lambda target: str(target.housekeeping),
        sign=Sign(
            path="/proc/irq/default_smp_affinity",
            reads=Reads.MASK,
            expected=lambda value: CpuSet.parse_list(value).mask(),
        ),
    ),
    Tunable(
        name="rcupdate.rcu_normal_after_boot",
        stage=Stage.BOOT,
        why="turns expedited RCU grace periods, which interrupt every busy CPU, into normal ones "
        "once the system is up",
        source=f"{_PARAMETERS} rcupdate.rcu_normal_after_boot; kernel/rcu/update.c",
        evidence="/sys/module/rcupdate/parameters/rcu_normal_after_boot is 1",
        value=lambda target: "1",
        unneeded=_normal_already,
        cost="network namespace, module and cgroup operations take longer",
        sign=Sign(path="/sys/module/rcupdate/parameters/rcu_normal_after_boot"),
    ),
    Tunable(
        name="skew_tick",
        stage=Stage.BOOT,
        why="staggers the ticks of the CPUs that still tick, so that they do not contend for the "
        "same locks at the same instant",
        source=f"{_PARAMETERS} skew_tick; kernel/time/tick-sched.c",
        evidence="on the command line; no file shows it",
        value=lambda target: "1",
        cost="a little power on idle systems",
    ),
    Tunable(
        name="rcu_nocb_poll",
        stage=Stage.BOOT,
        why="lets the RCU callback threads poll, which saves the isolated CPUs waking them",
        source=f"{_PARAMETERS} rcu_nocb_poll; kernel/rcu/tree_nocb.h",
        evidence="kernel message 'Poll for callbacks from no-CBs CPUs.'",
        value=lambda target: "",
        needs=(config("RCU_NOCB_CPU"),),
        cost="constant wake-ups on the housekeeping CPUs",
        risk=Risk.POWER,
        sign=Sign(proof=r"Poll for callbacks from no-CBs CPUs"),
    ),
    Tunable(
        name="rcutree.enable_rcu_lazy",
        stage=Stage.BOOT,
        why="switches off the batching of RCU callbacks, which delays the freeing of memory by up "
        "to ten seconds",
        source=f"{_PARAMETERS} rcutree.enable_rcu_lazy; kernel/rcu/Kconfig RCU_LAZY",
        evidence="/sys/module/rcutree/parameters/enable_rcu_lazy",
        value=lambda target: "0",
        needs=(config("RCU_LAZY"),),
        cost="more wake-ups of the RCU threads",
        risk=Risk.POWER,
        accepts=r"0|1",
        sign=Sign(
            path="/sys/module/rcutree/parameters/enable_rcu_lazy",
            expected=lambda value: "Y" if value == "1" else "N",
        ),
    ),
)
