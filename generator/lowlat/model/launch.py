# SPDX-License-Identifier: GPL-2.0-or-later
"""How a user's program is started on chosen CPUs."""

from dataclasses import dataclass
from typing import Optional

from lowlat.model.cpuset import CpuSet

#: What threads meet on CPUs that are out of load balancing.
UNBALANCED = (
    "nothing is balanced among isolated CPUs: threads pile up on the one where they are started"
)


@dataclass(frozen=True)
class Launch:
    """How to run a program: its CPUs, its policy ("other", "fifo:N", "rr:N"), whether each
    thread gets a CPU to itself and in which order, the control group to join if one owns these
    CPUs, and whether to tell the kernel of task isolation."""

    cpus: CpuSet
    policy: str = "other"
    one_per_thread: bool = False
    group: Optional[str] = None
    order: tuple[int, ...] = ()
    task_isolation: bool = False

    @property
    def priority(self) -> int:
        """The real-time priority; 0 for an ordinary task."""
        return int(self.policy.partition(":")[2] or 0)
