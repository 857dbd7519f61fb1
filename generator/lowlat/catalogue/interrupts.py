# SPDX-License-Identifier: GPL-2.0-or-later
"""Where interrupts go, at run time."""

from __future__ import annotations

from lowlat.catalogue.entry import Reads, Sign, Tunable, Value
from lowlat.catalogue.needs import ISOLATION

ENTRIES = (
    Tunable(
        name="irq.smp_affinity",
        silences=(
            "irq: irq *",
            "thread: irq/*",
            "softirq: NET_*",
            "softirq: BLOCK*",
            "softirq: TASKLET*",
            "softirq: HI",
            "softirq: tasklet*",
        ),
        why="moves interrupts that are already set up to the housekeeping CPUs",
        source="core-api/irq/irq-affinity.rst; kernel/irq/proc.c",
        rows=(Value("/proc/irq/[0-9]*/smp_affinity", "{housekeeping}"),),
        # Where a driver or irqbalance placed it among the housekeeping CPUs, it stays.
        reads=Reads.WITHIN,
        evidence="effective_affinity of each in /proc/irq lies within the housekeeping CPUs",
        sign=Sign(path="effective_affinity", reads=Reads.WITHIN),
        needs=(ISOLATION,),
        # Managed interrupts answer EIO or EPERM, and per-CPU ones cannot move: no failure.
        tolerant=True,
    ),
    Tunable(
        name="irq.default_smp_affinity",
        why="gives interrupts that are set up from now on to the housekeeping CPUs",
        source="core-api/irq/irq-affinity.rst; kernel/irq/proc.c",
        rows=(Value("/proc/irq/default_smp_affinity", "{housekeeping}"),),
        reads=Reads.MASK,
        needs=(ISOLATION,),
    ),
)
