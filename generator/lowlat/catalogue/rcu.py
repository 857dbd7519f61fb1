# SPDX-License-Identifier: GPL-2.0-or-later
"""RCU: grace periods that interrupt, callbacks, and the threads that run callbacks."""

from lowlat.catalogue.entry import PARAMETERS, Evidence, EvidenceKind, Need, Risk, Tunable
from lowlat.catalogue.needs import ISOLATION, REALTIME, built_in, config, done_by_realtime, feature

_FOLDER = "/sys/module/rcutree/parameters"

ENTRIES = (
    Tunable(
        name="rcupdate.rcu_normal_after_boot",
        silences=dict.fromkeys(
            (
                "ipi: * (*rcu_exp_handler*",
                "thread: kworker/* (*wait_rcu_exp_gp*",
                "thread: kworker/* (*sync_rcu_exp*",
            ),
            "kernel/rcu/tree_exp.h synchronize_rcu_expedited()",
        ),
        why="turns expedited RCU grace periods, which interrupt every busy CPU, into normal ones "
        "once the system is up",
        source=f"{PARAMETERS} rcupdate.rcu_normal_after_boot; kernel/rcu/update.c",
        value="1",
        unneeded=done_by_realtime("PREEMPT_RT kernels do this by default (kernel/rcu/update.c)"),
        cost="network namespace, module and cgroup operations take longer",
        risk=Risk.THROUGHPUT,
        sign=Evidence(path="/sys/kernel/rcu_normal"),
    ),
    Tunable(
        name="rcu_nocb_poll",
        why="makes the RCU callback threads poll, so that isolated CPUs need not wake them",
        source=f"{PARAMETERS} rcu_nocb_poll; kernel/rcu/tree_nocb.h",
        value="",
        needs=(config("RCU_NOCB_CPU"),),
        cost="constant wake-ups on the housekeeping CPUs",
        risk=Risk.POWER,
        # Without offloaded CPUs the kernel prints the first message too, but nothing polls.
        sign=Evidence(
            proof=r"Poll for callbacks from no-CBs CPUs",
            contradiction=r"Offload RCU callbacks from CPUs: .none.",
        ),
    ),
    Tunable(
        name="rcutree.enable_rcu_lazy",
        why="stops the batching of RCU callbacks, which delays the freeing of memory by up to ten "
        "seconds",
        source=f"{PARAMETERS} rcutree.enable_rcu_lazy; kernel/rcu/Kconfig RCU_LAZY",
        value="0",
        needs=(
            config("RCU_LAZY"),
            feature(f"{_FOLDER}/enable_rcu_lazy", "rcutree.enable_rcu_lazy"),
        ),
        unneeded=built_in("RCU_LAZY_DEFAULT_OFF", "with lazy RCU callbacks off"),
        cost="more wake-ups of the RCU threads",
        risk=Risk.POWER,
        accepts=r"0|1",
        # call_rcu() reads this variable at each call (kernel/rcu/tree.c).
        sign=Evidence(
            path=f"{_FOLDER}/enable_rcu_lazy", expected=lambda value: "Y" if value == "1" else "N"
        ),
    ),
    Tunable(
        name="rcutree.nohz_full_patience_delay",
        why="makes RCU wait until a grace period is one second old before it asks an isolated CPU "
        "for a quiescent state: by then, that CPU has usually passed through one by itself",
        source=f"{PARAMETERS} rcutree.nohz_full_patience_delay; kernel/rcu/tree.c",
        value="1000",
        needs=(
            ISOLATION,
            config("RCU_NOCB_CPU"),
            feature(f"{_FOLDER}/nohz_full_patience_delay", "rcutree.nohz_full_patience_delay"),
            Need(
                lambda target: "nohz_full" in target.enabled,
                "the kernel applies this delay to nohz_full CPUs only (kernel/rcu/tree.c)",
                wants="nohz_full enabled too",
            ),
        ),
        cost="memory freed through RCU becomes available up to a second later",
        accepts=r"[1-9][0-9]{0,2}|[1-4][0-9]{3}|5000",
        sign=Evidence(
            path=f"{_FOLDER}/nohz_full_patience_delay",
            shows=EvidenceKind.MESSAGE,
            proof=r"RCU NOCB CPU patience set to (\d+) milliseconds",
        ),
    ),
    Tunable(
        name="rcutree.kthread_prio",
        why="gives RCU's threads a real-time priority above work of priority 1 to 3, so that a "
        "busy task on an isolated CPU cannot hold up grace periods for the whole system",
        source=f"{PARAMETERS} rcutree.kthread_prio; TuneD's realtime-virtual-host profile (rcuc 4)",
        evidence="the threads rcuc/N run as SCHED_FIFO of that priority",
        value="4",
        needs=(REALTIME,),
        cost="RCU callbacks run before real-time tasks of lower priority",
        risk=Risk.THROUGHPUT,
        accepts=r"[1-9][0-9]?",
        sign=Evidence(path=f"{_FOLDER}/kthread_prio", shows=EvidenceKind.THREAD_PRIORITY),
    ),
)
