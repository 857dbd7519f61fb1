# SPDX-License-Identifier: GPL-2.0-or-later
"""Interrupt affinity, at run time."""

from lowlat.catalogue.entry import Evidence, Need, Risk, Tunable, Value, ValueFormat
from lowlat.catalogue.needs import ISOLATION

_PRIORITY = r"fifo:[1-9][0-9]?"


_THREADED = Need(
    lambda target: True if "threadirqs" in target.enabled else target.kernel.realtime,
    "interrupts have threads only with threadirqs or on a PREEMPT_RT kernel",
    "assumed: not known whether the kernel is PREEMPT_RT",
    wants="threadirqs enabled too, or a PREEMPT_RT kernel",
)

ENTRIES = (
    # Before irq.smp_affinity: irqbalance would move the interrupts back.
    Tunable(
        name="irqbalance.banned_cpus",
        why="tells irqbalance to leave the isolated CPUs alone beside those that it leaves alone "
        "already, now and if it starts again in this boot",
        note="without a ban list irqbalance leaves alone what isolcpus=domain and nohz_full name, "
        "but no partition",
        source="github.com/Irqbalance/irqbalance, 1.7 to 1.9.5: irqbalance.c sock_handle(), "
        "cputree.c setup_banned_cpus()",
        rows=(Value("irqbalance:now", "{isolated}"), Value("irqbalance:restarted", "{isolated}")),
        reads=ValueFormat.COVERS,
        evidence="irqbalance-ui shows the isolated CPUs as banned",
        needs=(
            ISOLATION,
            Need(
                lambda target: "irqbalance" in target.machine.managers,
                "irqbalance does not run here",
                wants="irqbalance, running",
            ),
        ),
    ),
    Tunable(
        name="irq.smp_affinity",
        silences={
            "irq: irq [0-9]*": "kernel/irq/proc.c write_irq_affinity()",
            "thread: irq/[0-9]*": "kernel/irq/manage.c irq_thread_check_affinity()",
            "softirq: NET_RX": "net/core/dev.c __napi_schedule(): where the interrupt came",
            "softirq: BLOCK": "block/blk-mq.c blk_mq_complete_request_remote()",
        },
        why="moves existing interrupts to the housekeeping CPUs",
        source="core-api/irq/irq-affinity.rst; kernel/irq/proc.c",
        rows=(Value("/proc/irq/[0-9]*/smp_affinity", "{housekeeping}"),),
        # An interrupt that a driver or irqbalance placed on housekeeping CPUs stays there.
        reads=ValueFormat.WITHIN,
        evidence="each effective_affinity below /proc/irq lies within the housekeeping CPUs",
        sign=Evidence(path="effective_affinity", reads=ValueFormat.WITHIN),
        needs=(ISOLATION,),
        # Managed interrupts answer EIO or EPERM, per-CPU ones cannot move: neither is a failure.
        tolerant=True,
    ),
    Tunable(
        name="irq.default_smp_affinity",
        why="makes the housekeeping CPUs the default affinity of new interrupts",
        source="core-api/irq/irq-affinity.rst; kernel/irq/proc.c",
        rows=(Value("/proc/irq/default_smp_affinity", "{housekeeping}"),),
        reads=ValueFormat.MASK,
        needs=(ISOLATION,),
    ),
    Tunable(
        name="irq.thread_priority",
        why="runs the interrupt threads of the chosen device before those of all other devices, "
        "which have priority 50",
        source="kernel/irq/manage.c setup_irq_thread(); chrt(1)",
        evidence="the threads irq/N-… of the device run as SCHED_FIFO of priority 60",
        rows=(Value("kthread:irq/{interrupt}-*:policy", "fifo:60"),),
        needs=(
            _THREADED,
            Need(
                lambda target: bool(target.interrupts),
                "no device with interrupts is chosen",
                wants="--for-device with a device that has interrupts",
            ),
        ),
        cost="real-time work of priority 60 or lower waits for the device",
        risk=Risk.THROUGHPUT,
        accepts=_PRIORITY,
    ),
    Tunable(
        name="irq.sound_priority",
        why="serves the interrupts of sound cards, and of the USB and FireWire ports they use, "
        "before all other interrupts and before the programs that play and record",
        source="kernel/irq/manage.c setup_irq_thread(); the script rtirq",
        evidence="the threads irq/N-snd… and irq/N-xhci… run as SCHED_FIFO of priority 90",
        rows=tuple(
            Value(f"kthread:irq/*-{name}*:policy", "fifo:90") for name in ("snd", "?hci", "firewi")
        ),
        needs=(_THREADED,),
        cost="a keyboard, mouse or disk on the same USB port also interrupts real-time programs",
        risk=Risk.THROUGHPUT,
        accepts=_PRIORITY,
    ),
)
