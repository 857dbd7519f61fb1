# SPDX-License-Identifier: GPL-2.0-or-later
"""CPU isolation at boot: scheduler domains, the tick, RCU callbacks, interrupts."""

import re
from typing import Optional

from lowlat.catalogue.entry import (
    PARAMETERS,
    USER_TASK,
    Evidence,
    EvidenceKind,
    Need,
    Risk,
    Target,
    Tunable,
    ValueFormat,
)
from lowlat.catalogue.needs import ISOLATES, ISOLATION, built_in, config
from lowlat.kernel.cpus import takes_nosmt

_ISOLATION = "kernel/sched/isolation.c"
_TICK = "kernel/time/tick-sched.c tick_nohz_full_update_tick()"

#: Architectures whose kernels cannot be built to stop the tick (NO_HZ_FULL in kernel/time/Kconfig).
_TICKING = re.compile(r"i[3-6]86|ia64|s390x?|alpha|m68k|sh4|parisc(64)?|ppc|sparc")


def _stops_ticks(target: Target) -> Optional[bool]:
    arch = target.machine.arch
    return None if arch is None else not _TICKING.fullmatch(arch)


_STOPS_TICKS = Need(
    _stops_ticks,
    "kernels of this architecture cannot stop the tick",
    "assumed: architecture not known",
    wants="x86-64, 64-bit ARM or another architecture whose kernels can stop the tick",
)


_FLAG = "managed_irq in isolcpus"

#: Never missing: an older kernel, which would ignore the whole parameter, gets the bare list.
_MANAGED_IRQ = Need(
    lambda target: None if target.has(_FLAG) is None else True,
    "not known",
    "assumed: Linux 5.6 or newer, which knows managed_irq",
    wants="Linux 5.6 for managed interrupts",
)


def _is_old(target: Target) -> bool:
    return target.has(_FLAG) is False


def _beside_a_partition(target: Target) -> bool:
    return "cpuset.partition" in target.enabled


def _isolated_already(target: Target) -> Optional[str]:
    if _beside_a_partition(target) and _is_old(target):
        return "cpuset.partition isolates these CPUs, and this kernel does not know managed_irq"
    return None


def _offloaded_already(target: Target) -> Optional[str]:
    built = built_in("RCU_NOCB_CPU_DEFAULT_ALL", "with all CPUs offloaded")
    return None if target.isolated else built(target)


_TAKES_NOSMT = Need(
    lambda target: takes_nosmt(target.machine),
    "kernels of this architecture do not know nosmt",
    wants="x86, s390, or a kernel that shows cpu/smt/control",
)


def _has_no_smt(target: Target) -> Optional[str]:
    no_smt = target.machine.power.smt_control == "notsupported"
    return "no core here has a second thread" if no_smt else None


def _all_is_unread(target: Target, given: Optional[str]) -> Optional[str]:
    every = given == "all" or not target.isolated
    reads = target.has("a bad list of rcu_nocbs= means all") is not False
    return None if reads or not every else "kernels before 5.2 do not read the list 'all'"


ENTRIES = (
    Tunable(
        name="isolcpus",
        silences={
            USER_TASK: f"{_ISOLATION}; kernel/sched/topology.c",
            "irq: * (*hrtimer_wakeup*": "kernel/time/hrtimer.c: the timer of a task slept here",
            "irq: irq * nvme*q[1-9]*": "drivers/nvme/host/pci.c nvme_setup_irqs(): managed",
            "irq: irq * virtio*-req.*": "drivers/block/virtio_blk.c init_vq(): managed",
            "softirq: SCHED": "kernel/sched/fair.c sched_balance_trigger(), on_null_domain()",
            # Both look for CPUs in scheduler domains only.
            "thread: migration/* from sched_exec,*": "kernel/sched/core.c sched_exec()",
            "thread: migration/* from sched_balance_rq,*": "kernel/sched/fair.c sched_balance_rq()",
            "thread: migration/* from load_balance,*": "kernel/sched/fair.c load_balance(), to 6.9",
        },
        why="takes the isolated CPUs out of load balancing and wake-up placement, and keeps "
        "unbound workqueues and, with managed_irq, managed interrupts off them; if "
        "cpuset.partition is set too, isolcpus only covers managed interrupts",
        note="this parameter is not deprecated: kernel documents up to 7.0 say so, those of 7.3 no "
        "longer. No other setting isolates from the first process on, or without a separate "
        "control group",
        source=f"{PARAMETERS} isolcpus; {_ISOLATION}",
        only_boot="keeps managed interrupts off the isolated CPUs",
        # managed_irq alone replaces the default flag, so scheduler domains would stay.
        value="managed_irq,domain,{isolated}",
        reads=ValueFormat.STRIDES,
        instead=(("{isolated}", _is_old), ("managed_irq,{isolated}", _beside_a_partition)),
        needs=(ISOLATION, ISOLATES, _MANAGED_IRQ),
        unneeded=_isolated_already,
        cost="tasks on isolated CPUs are never balanced: threads pinned to the whole set pile up "
        "on one CPU unless each thread is pinned to its own CPU",
        sign=Evidence(
            path="/sys/devices/system/cpu/isolated",
            reads=ValueFormat.LIST,
            cpus=lambda effect: effect.unbalanced,
            shows=EvidenceKind.MANAGED_IRQ,
            contradiction=r"Housekeeping:|isolcpus:",
        ),
    ),
    Tunable(
        name="nohz_full",
        silences={
            "irq: * (*tick_sched_timer*": _TICK,
            "irq: * (*tick_nohz_*handler*": _TICK,
            # Rows of /proc/interrupts have no function: the tick's devices.
            "irq: local_timer": _TICK,
            "irq: hyperv_stimer0": f"{_TICK}; drivers/clocksource/hyperv_timer.c",
            "irq: irq * arch_timer": f"{_TICK}; drivers/clocksource/arm_arch_timer.c",
            # Their masks refuse writes (IRQF_NOBALANCING).
            "irq: irq * timer": f"{_TICK}; arch/x86/kernel/time.c",
            "irq: irq * hpet[0-9]*": f"{_TICK}; arch/x86/kernel/hpet.c",
            "softirq: TIMER": "kernel/time/timer.c run_local_timers(), called by the tick",
        },
        why="stops the scheduler tick while a CPU runs a single task, and moves timers, RCU "
        "callbacks, lockup watchdogs and, from 5.9 to 6.19, kernel threads to the housekeeping "
        "CPUs",
        source=f"timers/no_hz.rst; {_ISOLATION}",
        evidence="/sys/devices/system/cpu/nohz_full is the list; LOC in /proc/interrupts is flat",
        value="{isolated}",
        reads=ValueFormat.STRIDES,
        needs=(ISOLATION, _STOPS_TICKS, config("NO_HZ_FULL")),
        cost="entering and leaving the kernel costs more on these CPUs, and the tick stops and "
        "starts at every sleep: unsuitable for work with many system calls, and for loops that "
        "sleep and wake a thousand times a second",
        implies=("rcu_nocbs", "kthread.affinity", "kernel.watchdog_cpumask"),
        sign=Evidence(
            path="/sys/devices/system/cpu/nohz_full",
            reads=ValueFormat.LIST,
            proof=r"NO_HZ: Full dynticks CPUs: ([\d,-]*)\.",
            contradiction=r"Housekeeping:|NO_HZ: (Clearing|Can't run)",
            cpus=lambda effect: effect.stopped,
        ),
    ),
    Tunable(
        name="rcu_nocbs",
        silences={
            "softirq: RCU": "kernel/rcu/tree_nocb.h rcu_nocb_try_bypass()",
            "thread: rcuc/*": "kernel/rcu/tree.c rcu_cpu_kthread()",
        },
        why="runs RCU callbacks of the listed CPUs in kernel threads instead of in softirqs, which "
        "interrupt the tasks on these CPUs",
        source=f"{PARAMETERS} rcu_nocbs; kernel/rcu/tree_nocb.h",
        evidence="kernel message 'Offload RCU callbacks from CPUs:'; rcuo threads exist",
        value="{isolated_or_all}",
        reads=ValueFormat.STRIDES,
        needs=(config("RCU_NOCB_CPU"),),
        unneeded=_offloaded_already,
        cost="the threads that run the callbacks must be kept off the isolated CPUs: nohz_full and "
        "kthread.affinity do so",
        accepts=r"all",
        refuses=_all_is_unread,
        sign=Evidence(
            shows=EvidenceKind.CALLBACK_THREADS,
            reads=ValueFormat.LIST,
            cpus=lambda effect: effect.offloaded,
            proof=r"rcu:\s+Offload RCU callbacks from CPUs: ([\d,-]*)\.",
            contradiction=r"rcu_nocbs= bad CPU range",
        ),
    ),
    Tunable(
        name="irqaffinity",
        why="places interrupts on the housekeeping CPUs from the start; an interrupt that is moved "
        "later may change CPU only when it next fires",
        source=f"{PARAMETERS} irqaffinity; kernel/irq/irqdesc.c",
        value="{housekeeping}",
        reads=ValueFormat.STRIDES,
        needs=(ISOLATION,),
        implies=("irq.default_smp_affinity",),
        stands_in=("irq.default_smp_affinity",),
        evidence="/proc/irq/default_smp_affinity equals the housekeeping CPUs before anything "
        "writes it, and no device interrupt has reached an isolated CPU since boot",
        sign=Evidence(
            path="/proc/irq/default_smp_affinity",
            reads=ValueFormat.MASK,
            shows=EvidenceKind.DEVICE_IRQS,
            cpus=lambda effect: effect.interrupts,
        ),
    ),
    Tunable(
        name="nosmt",
        why="keeps the second threads of all cores off: an isolated CPU shares its core with none",
        note="lowlat isolates whole cores without it. It is for machines whose second threads are "
        "switched off at run time, and come back with every boot",
        source=f"{PARAMETERS} nosmt; kernel/cpu.c; arch/s390/kernel/smp.c",
        value="",
        needs=(_TAKES_NOSMT,),
        unneeded=_has_no_smt,
        cost="halves the hardware threads of the whole machine",
        risk=Risk.THROUGHPUT,
        sign=Evidence(path="/sys/devices/system/cpu/smt/active", expected=lambda value: "0"),
    ),
)
