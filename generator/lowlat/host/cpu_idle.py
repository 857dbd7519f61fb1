# SPDX-License-Identifier: GPL-2.0-or-later
"""How long CPUs were idle, by /proc/stat (proc_stat(5))."""

import re

from lowlat.host.root import Root


def idle_ticks(root: Root) -> dict[int, int]:
    """Ticks spent idle or waiting for a disk, by online CPU."""
    rows = re.findall(r"^cpu(\d+) (.*)", root.read("/proc/stat") or "", re.MULTILINE)
    return {int(cpu): sum(map(int, times.split()[3:5])) for cpu, times in rows}
