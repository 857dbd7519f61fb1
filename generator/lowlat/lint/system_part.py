# SPDX-License-Identifier: GPL-2.0-or-later
"""What the planner leaves to the system of a machine, by which a line's own part is judged."""

from dataclasses import dataclass
from functools import cached_property
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Machine
from lowlat.plan.cpu_request import CpuRequest
from lowlat.plan.split import split
from lowlat.plan.system_cores import core_shortage, cores_of, cores_that_stay, least_cores


@dataclass(frozen=True)
class SystemPart:
    """Of the machine in a boot, in which the CPUs ``returning`` come back."""

    machine: Machine
    returning: CpuSet = CpuSet()

    @cached_property
    def planned(self) -> Optional[CpuSet]:
        """The CPUs that a plan isolates if nobody asks for others; None if none can be made."""
        try:
            return split(self.machine, CpuRequest(), self.returning)[0].isolated
        except Refused:
            return None

    @cached_property
    def kept(self) -> int:
        """The number of cores that this plan keeps; 0 without one."""
        online = self.machine.cpus.online
        return cores_of(self.machine, online - self.planned) if self.planned else 0

    @cached_property
    def _least(self) -> int:
        return least_cores(self.machine)

    def too_few(self, system: CpuSet) -> str:
        """Why these CPUs are too few for the system; "" if they are enough."""
        why = core_shortage(self.machine, system, self._least)
        return f"{why}; a plan keeps {self.kept}" if why and self.kept else why

    def note(self, system: CpuSet) -> str:
        """A message if they are enough, and fewer than a plan keeps."""
        if self.too_few(system) or cores_of(self.machine, system) >= self.kept:
            return ""
        return f"{cores_that_stay(self.machine, system)} for the system, a plan keeps {self.kept}"

    def whole_cores(self, cpus: CpuSet) -> CpuSet:
        """The CPUs extended to whole cores, without the boot CPU's core. Where the system would
        keep less than a plan leaves it, only the cores whose first threads are listed, or those
        that are listed whole; where these are still too many, those of them that a plan isolates.
        """
        machine, ours = self.machine, self.planned
        cores = [core.cpus for core in machine.cores if machine.cpus.boot not in core.cpus]
        touched = [core for core in cores if core & cpus]
        begun = [core for core in touched if core.first in cpus]
        whole = [core for core in touched if core <= cpus]
        least = 0 if ours is None else len(machine.cpus.online - ours)
        for chosen in (touched, begun, whole):
            wide = CpuSet.of(cpu for core in chosen for cpu in core)
            if wide and len(machine.cpus.online - wide) >= least:
                return wide
        wide = CpuSet.of(cpu for core in whole or touched for cpu in core)
        return (wide & ours if ours else wide) or wide
