# SPDX-License-Identifier: GPL-2.0-or-later
"""Idle time of CPUs, from /proc/stat (proc_stat(5))."""

import re

from lowlat.host.root import Root


def idle_ticks(root: Root) -> dict[int, int]:
    """Ticks spent idle or waiting for a disk, by online CPU."""
    rows = re.findall(r"^cpu(\d+) (.*)", root.read("/proc/stat") or "", re.MULTILINE)
    return {int(cpu): sum(map(int, times.split()[3:5])) for cpu, times in rows}


def busy_shares(before: dict[int, int], after: dict[int, int], ticks: float) -> dict[int, float]:
    """The share of ``ticks`` in which each CPU was busy, 0 to 1. Clamped, for the counters hold
    whole ticks and may go backwards (get_cpu_iowait_time_us)."""
    idle = {cpu: (end - before[cpu]) / ticks for cpu, end in after.items() if cpu in before}
    return {cpu: round(1 - min(max(share, 0.0), 1.0), 3) for cpu, share in idle.items()}
