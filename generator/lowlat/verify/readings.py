# SPDX-License-Identifier: GPL-2.0-or-later
"""The line that booted and the planned one, each as the running kernel reads it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Callable, Optional

from lowlat.host.root import CPU, Root
from lowlat.kernel.booting import End, Fate
from lowlat.kernel.effect import Effect, read
from lowlat.kernel.line import Word
from lowlat.model import cmdline
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Core, Cpus, Machine
from lowlat.model.plan import Plan, PlannedParameter
from lowlat.plan.online_cpus import read_online
from lowlat.probe.kernel import read_running
from lowlat.probe.platform import read_arch

POSSIBLE = f"{CPU}/possible"
_PRESENT = f"{CPU}/present"

#: All files read here, beside those of the kernel's release and options.
FILES = (POSSIBLE, _PRESENT, "/proc/sys/kernel/arch")


@dataclass(frozen=True)
class Readings:
    """The effects of both lines on one machine."""

    planned: Effect
    booted: Effect

    @classmethod
    def of(cls, plan: Plan, root: Root, line: str) -> Readings:
        """Raises Refused if the line is longer than any that boots."""
        machine = _machine(plan, root, line)
        planned = " ".join(parameter.word for parameter in plan.parameters)
        return cls(*(read(text, machine.kernel, machine) for text in (planned, line)))

    def word(self, parameter: PlannedParameter) -> Optional[tuple[Word, Fate]]:
        """The word of the line that is the planned one, and its fate; the one that counts of
        several."""
        same = [item for item in self._named(parameter.name) if item[0].value == parameter.value]
        counts = (item for item in same if item[1].end is End.TAKEN)
        return next(counts, same[-1] if same else None)

    def dropped(self, name: str) -> Iterator[tuple[Word, Fate]]:
        """The words with this name that the kernel drops."""
        return (item for item in self._named(name) if item[1].end is End.DROPPED)

    def lost(self, of: Callable[[Effect], CpuSet]) -> CpuSet:
        """The online CPUs of a planned set that the line that booted leaves out."""
        return (of(self.planned) & self.booted.online) - of(self.booted)

    def _named(self, name: str) -> Iterator[tuple[Word, Fate]]:
        wanted = cmdline.name_of(name)
        pairs = zip(self.booted.words, self.booted.fates)
        return (item for item in pairs if item[0].name == wanted)


def _machine(plan: Plan, root: Root, line: str) -> Machine:
    """The machine as far as the lists of a line depend on it. Nothing is read that would ask an
    isolated CPU (/proc/cpuinfo), and of an offline CPU it is not known whose sibling it is."""
    planned = plan.cpus.online | plan.cpus.offline
    online = read_online(root) or plan.cpus.online
    present = root.read_cpus(_PRESENT) or planned | online
    possible = root.read_cpus(POSSIBLE) or present
    cpus = Cpus(online, present - online, possible, boot=0 if 0 in online else online.first)
    cores = tuple(Core(CpuSet.of([cpu])) for cpu in online)
    return Machine(read_arch(root, ""), cpus, cores, kernel=read_running(root), cmdline=line)
