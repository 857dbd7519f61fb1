# SPDX-License-Identifier: GPL-2.0-or-later
"""Scheduler, preemption and interrupt threading."""

from __future__ import annotations

from typing import Optional

from lowlat.catalogue.entry import (
    NOT_REALTIME,
    Reads,
    Risk,
    Row,
    Sign,
    Stage,
    Target,
    Tunable,
    config,
    since,
)

_PARAMETERS = "admin-guide/kernel-parameters.txt"


def _full_already(target: Target) -> Optional[str]:
    config = target.kernel.config
    if config is not None and config.options.get("PREEMPT") == "y":
        return "the kernel is built fully preemptible"
    return "PREEMPT_RT kernels are fully preemptible" if target.kernel.realtime else None


def _threaded_already(target: Target) -> Optional[str]:
    return "PREEMPT_RT kernels thread all interrupts" if target.kernel.realtime else None


ENTRIES = (
    Tunable(
        name="preempt",
        stage=Stage.BOOT,
        why="lets the kernel be preempted nearly everywhere, which shortens scheduling delays on "
        "CPUs with several tasks; a lone task on an isolated CPU gains nothing",
        source=f"{_PARAMETERS} preempt=; kernel/sched/core.c",
        evidence="kernel message 'Dynamic Preempt: full'",
        value=lambda target: "full",
        needs=(config("PREEMPT_DYNAMIC"),),
        unneeded=_full_already,
        cost="throughput of kernel-heavy work",
        risk=Risk.THROUGHPUT,
        # none and voluntary are rejected from 7.0 on; lazy exists from 6.13 on.
        accepts=r"full",
        sign=Sign(proof=r"Dynamic Preempt: full", contradiction=r"Dynamic Preempt: unsupported"),
    ),
    Tunable(
        name="threadirqs",
        stage=Stage.BOOT,
        why="runs interrupt handlers as threads, so that their priority can be set",
        source=f"{_PARAMETERS} threadirqs; include/linux/interrupt.h",
        evidence="threads named irq/NN-name exist",
        value=lambda target: "",
        needs=(config("IRQ_FORCED_THREADING"),),
        unneeded=_threaded_already,
        cost="a context switch for each interrupt, and priorities that have to be planned",
        risk=Risk.THROUGHPUT,
    ),
    Tunable(
        name="fair_server",
        stage=Stage.RUNTIME,
        why="switches off the deadline server that guarantees ordinary tasks 50 ms a second on "
        "each CPU: its timer and the tick it restarts interrupt isolated CPUs about 3.5 times a "
        "second",
        source="kernel/sched/debug.c, kernel/sched/deadline.c (6.12 and newer)",
        evidence="/sys/kernel/debug/sched/fair_server/cpuN/runtime is 0",
        rows=lambda target: [
            Row(f"/sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime", "0")
            for cpu in target.isolated
        ],
        needs=(since(6, 12),),
        cost="starvation protection on the isolated CPUs: a real-time task that never sleeps "
        "starves ordinary tasks there, kernel threads included, for good",
        risk=Risk.STARVATION,
    ),
    Tunable(
        name="kernel.timer_migration",
        stage=Stage.RUNTIME,
        why="keeps timers moving to busy housekeeping CPUs; with 0, as some profiles set it, "
        "timers armed on an isolated CPU stay there",
        source="admin-guide/sysctl/kernel.rst; kernel/time/hrtimer.c",
        evidence="sysctl kernel.timer_migration is 1",
        rows=lambda target: [Row("/proc/sys/kernel/timer_migration", "1")],
        tuned="sysctl",
        native="1",
    ),
    Tunable(
        name="kernel.numa_balancing",
        stage=Stage.RUNTIME,
        why="stops the periodic unmapping of task memory and the page faults that follow",
        source="admin-guide/sysctl/kernel.rst numa_balancing",
        evidence="sysctl kernel.numa_balancing is 0",
        rows=lambda target: [Row("/proc/sys/kernel/numa_balancing", "0")],
        needs=(config("NUMA_BALANCING"), NOT_REALTIME),
        unneeded=lambda target: (
            "one NUMA node: the kernel balances nothing" if len(target.machine.nodes) == 1 else None
        ),
        cost="memory of long-running tasks is not moved near their CPUs: pin it",
    ),
    Tunable(
        name="kernel.watchdog_cpumask",
        stage=Stage.RUNTIME,
        why="keeps the lockup watchdog's timer, every four seconds, off the isolated CPUs",
        source="admin-guide/sysctl/kernel.rst watchdog_cpumask; kernel/watchdog.c",
        evidence="sysctl kernel.watchdog_cpumask equals the housekeeping CPUs",
        rows=lambda target: [Row("/proc/sys/kernel/watchdog_cpumask", str(target.housekeeping))],
        reads=Reads.LIST,
        needs=(config("SOFTLOCKUP_DETECTOR", "HARDLOCKUP_DETECTOR"),),
        unneeded=lambda target: (
            "the kernel leaves nohz_full CPUs out by itself"
            if "nohz_full" in target.enabled
            else None
        ),
        cost="lockups on isolated CPUs go unreported",
    ),
    Tunable(
        name="nosoftlockup",
        stage=Stage.BOOT,
        why="switches the soft lockup detector off on every CPU",
        source=f"{_PARAMETERS} nosoftlockup; kernel/watchdog.c",
        evidence="sysctl kernel.soft_watchdog is 0",
        value=lambda target: "",
        needs=(config("SOFTLOCKUP_DETECTOR"),),
        unneeded=lambda target: _watchdog_gone(target),
        cost="soft lockups go unreported on the whole machine",
        risk=Risk.DEBUGGABILITY,
        sign=Sign(path="/proc/sys/kernel/soft_watchdog", expected=lambda value: "0"),
    ),
    Tunable(
        name="nowatchdog",
        stage=Stage.BOOT,
        why="switches both lockup detectors off on every CPU",
        source=f"{_PARAMETERS} nowatchdog; kernel/watchdog.c",
        evidence="sysctl kernel.watchdog is 0",
        value=lambda target: "",
        needs=(config("SOFTLOCKUP_DETECTOR", "HARDLOCKUP_DETECTOR"),),
        unneeded=lambda target: _watchdog_gone(target),
        cost="hangs go unreported on the whole machine",
        risk=Risk.DEBUGGABILITY,
        sign=Sign(path="/proc/sys/kernel/watchdog", expected=lambda value: "0"),
    ),
)


def _watchdog_gone(target: Target) -> Optional[str]:
    if "nohz_full" in target.enabled:
        return "the kernel leaves nohz_full CPUs out of lockup detection by itself"
    if "kernel.watchdog_cpumask" in target.enabled:
        return "kernel.watchdog_cpumask keeps it off the isolated CPUs alone"
    return None
