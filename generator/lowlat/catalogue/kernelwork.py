# SPDX-License-Identifier: GPL-2.0-or-later
"""Work the kernel does on its own: interrupts, workqueues, memory housekeeping."""

from __future__ import annotations

import re
from typing import Optional

from lowlat.catalogue.entry import (
    NOT_REALTIME,
    Need,
    Reads,
    Risk,
    Row,
    Sign,
    Stage,
    Target,
    Tunable,
    config,
)

_PARAMETERS = "admin-guide/kernel-parameters.txt"


def workqueue_masks_safe(release: str) -> Optional[bool]:
    """Whether writing unbound workqueue masks is safe; None where the release does not tell.

    From 6.9 on a changed mask could stall ordered workqueues for good; fixed by 703ccb63ae9f
    ("workqueue: Fix ordered workqueue plugging"), in 6.12.82, 6.18.23, 6.19.13 and 7.0.
    """
    found = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", release)
    if not found:
        return None
    major, minor, patch = int(found[1]), int(found[2]), int(found[3] or 0)
    fixed = {(6, 12): 82, (6, 18): 23, (6, 19): 13}
    if (major, minor) in fixed:
        return patch >= fixed[major, minor]
    return (major, minor) < (6, 9) or major >= 7


_SAFE_MASKS = Need(
    lambda target: workqueue_masks_safe(target.kernel.release or ""),
    "changing workqueue masks can stall devices for good on this kernel "
    "(ordered workqueues, fixed by 703ccb63ae9f); isolcpus keeps unbound work away without it",
    "assumed: kernel release not known",
)


def _stat_skips(target: Target) -> Optional[str]:
    if target.since(6, 5) and target.enabled & {"isolcpus", "nohz_full"}:
        return "from 6.5 on the kernel leaves isolated CPUs out of this work (mm/vmstat.c)"
    return None


ENTRIES = (
    Tunable(
        name="irq.smp_affinity",
        stage=Stage.RUNTIME,
        why="moves interrupts that are already set up to the housekeeping CPUs",
        source="core-api/irq/irq-affinity.rst; kernel/irq/proc.c",
        evidence="/proc/irq/N/smp_affinity lies within the housekeeping CPUs",
        rows=lambda target: [Row("/proc/irq/[0-9]*/smp_affinity", target.housekeeping.mask())],
        # Where a driver or irqbalance placed it among the housekeeping CPUs, it stays.
        reads=Reads.WITHIN,
        # Managed interrupts answer EIO or EPERM, and per-CPU ones cannot move: no failure.
        tolerant=True,
    ),
    Tunable(
        name="irq.default_smp_affinity",
        stage=Stage.RUNTIME,
        why="gives interrupts that are set up from now on to the housekeeping CPUs",
        source="core-api/irq/irq-affinity.rst; kernel/irq/proc.c",
        evidence="/proc/irq/default_smp_affinity equals the housekeeping CPUs",
        rows=lambda target: [Row("/proc/irq/default_smp_affinity", target.housekeeping.mask())],
        reads=Reads.MASK,
    ),
    Tunable(
        name="workqueue.cpumask",
        stage=Stage.RUNTIME,
        why="keeps unbound kernel work off the isolated CPUs",
        source="core-api/workqueue.rst; kernel/workqueue.c",
        evidence="/sys/devices/virtual/workqueue/cpumask equals the housekeeping CPUs",
        rows=lambda target: [
            Row("/sys/devices/virtual/workqueue/cpumask", target.housekeeping.mask())
        ],
        reads=Reads.MASK,
        needs=(_SAFE_MASKS,),
    ),
    Tunable(
        name="workqueue.writeback.cpumask",
        stage=Stage.RUNTIME,
        why="keeps the writing back of dirty pages off the isolated CPUs",
        source="core-api/workqueue.rst; mm/backing-dev.c",
        evidence="/sys/bus/workqueue/devices/writeback/cpumask equals the housekeeping CPUs",
        rows=lambda target: [
            Row("/sys/bus/workqueue/devices/writeback/cpumask", target.housekeeping.mask())
        ],
        reads=Reads.MASK,
        needs=(_SAFE_MASKS,),
    ),
    Tunable(
        name="vm.stat_interval",
        stage=Stage.RUNTIME,
        why="folds the per-CPU memory statistics every two minutes instead of every second",
        source="admin-guide/sysctl/vm.rst stat_interval; mm/vmstat.c",
        evidence="sysctl vm.stat_interval is 120",
        rows=lambda target: [Row("/proc/sys/vm/stat_interval", "120")],
        unneeded=_stat_skips,
        cost="the counters in /proc/vmstat lag",
        accepts=r"[1-9][0-9]{0,4}",
    ),
    Tunable(
        name="vm.compaction_proactiveness",
        stage=Stage.RUNTIME,
        why="stops compaction in the background, which moves pages and interrupts every CPU that "
        "maps them",
        source="admin-guide/sysctl/vm.rst compaction_proactiveness",
        evidence="sysctl vm.compaction_proactiveness is 0",
        rows=lambda target: [Row("/proc/sys/vm/compaction_proactiveness", "0")],
        needs=(config("COMPACTION"),),
        cost="huge pages are harder to get after a long uptime: reserve them at boot",
        accepts=r"[0-9]{1,2}|100",
    ),
    Tunable(
        name="transparent_hugepage.enabled",
        stage=Stage.RUNTIME,
        why="makes huge pages in memory that asks for them only: khugepaged no longer rearranges "
        "the memory of every task",
        source="admin-guide/mm/transhuge.rst",
        evidence="/sys/kernel/mm/transparent_hugepage/enabled shows [madvise]",
        rows=lambda target: [Row("/sys/kernel/mm/transparent_hugepage/enabled", "madvise")],
        reads=Reads.CHOICE,
        needs=(config("TRANSPARENT_HUGEPAGE"), NOT_REALTIME),
        cost="programs that relied on huge pages without asking have more TLB misses",
        accepts=r"always|madvise|never",
    ),
    Tunable(
        name="transparent_hugepage",
        stage=Stage.BOOT,
        why="the same from the first instruction on",
        source=f"{_PARAMETERS} transparent_hugepage=; admin-guide/mm/transhuge.rst",
        evidence="/sys/kernel/mm/transparent_hugepage/enabled shows the value in brackets",
        value=lambda target: "madvise",
        needs=(config("TRANSPARENT_HUGEPAGE"), NOT_REALTIME),
        unneeded=lambda target: (
            "transparent_hugepage.enabled sets it once the system is up"
            if "transparent_hugepage.enabled" in target.enabled
            else None
        ),
        cost="programs that relied on huge pages without asking have more TLB misses",
        risk=Risk.THROUGHPUT,
        accepts=r"always|madvise|never",
        sign=Sign(path="/sys/kernel/mm/transparent_hugepage/enabled", reads=Reads.CHOICE),
    ),
)
