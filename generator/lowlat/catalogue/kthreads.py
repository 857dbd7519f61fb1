# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel threads: where they run, and with which priority."""

from typing import Optional

from lowlat.catalogue.entry import UNBOUND_THREAD, Risk, Target, Tunable, Value, ValueFormat
from lowlat.catalogue.needs import ISOLATION, REALTIME
from lowlat.kernel import facts

#: Per-CPU threads, with the priority that TuneD's realtime-virtual-host profile gives them.
_PRIORITIES = (
    Value("kthread:ksoftirqd/{cpu}:policy", "fifo:2"),
    Value("kthread:ktimers/{cpu}:policy", "fifo:2"),
)


_AVOID = "kernel threads avoid isolated CPUs"


def _kept_away(target: Target) -> Optional[str]:
    # HK_TYPE_KTHREAD: set by nohz_full; from 7.0 on the same as HK_TYPE_DOMAIN. Whether a partition
    # that is made in a running kernel moved its threads, their masks tell.
    if target.as_booted and "cpuset.partition" in target.enabled:
        return None
    if target.has(_AVOID):
        if target.sure_of("isolcpus") or target.sure_of("cpuset.partition"):
            first = facts.bound(_AVOID)
            return (
                f"from Linux {first} on, kernel threads stay off isolated CPUs (kernel/kthread.c)"
            )
    elif target.sure_of("nohz_full"):
        return "nohz_full keeps kernel threads on the housekeeping CPUs"
    return None


ENTRIES = (
    Tunable(
        name="kthread.affinity",
        silences={
            UNBOUND_THREAD: "kernel/sched/core.c sched_setaffinity()",
            "thread: rcu_preempt": "kernel/rcu/tree.c rcu_spawn_gp_kthread()",
            "thread: rcu_sched": "kernel/rcu/tree.c rcu_spawn_gp_kthread()",
            "thread: rcu_tasks_*kthread": "kernel/rcu/tasks.h rcu_spawn_tasks_kthread_generic()",
            "thread: rcuo[gps]/*": "kernel/rcu/tree_nocb.h rcu_spawn_cpu_nocb_kthread()",
            "thread: kauditd": "kernel/audit.c audit_init()",
            "thread: kswapd[0-9]*": "mm/vmscan.c kswapd_run()",
        },
        why="moves unbound kernel threads to the housekeeping CPUs",
        source="admin-guide/kernel-per-CPU-kthreads.rst; kernel/kthread.c",
        evidence="Cpus_allowed in /proc/PID/status lies within the housekeeping CPUs",
        rows=(Value("kthread:*:affinity", "{housekeeping}"),),
        reads=ValueFormat.WITHIN,
        needs=(ISOLATION,),
        unneeded=_kept_away,
        # Per-CPU threads answer EINVAL, which is no failure.
        tolerant=True,
    ),
    Tunable(
        name="kthread.priority",
        why="runs softirqs and timers of the isolated CPUs before real-time work of priority 1, "
        "which would otherwise block them forever",
        source="TuneD's realtime-virtual-host profile; kernel/softirq.c (PREEMPT_RT)",
        evidence="the threads ksoftirqd/N and ktimers/N run as SCHED_FIFO of priority 2",
        rows=_PRIORITIES,
        needs=(ISOLATION, REALTIME),
        cost="softirqs and timers run before ordinary tasks on the isolated CPUs",
        risk=Risk.THROUGHPUT,
        # Before 6.17, only kernels with the real-time patches have ktimers.
        tolerant=True,
    ),
)
