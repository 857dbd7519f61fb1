# SPDX-License-Identifier: GPL-2.0-or-later
"""The size of the virtual machine: like this machine, within the host's resources."""

import os
import re
from dataclasses import dataclass
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Core, Machine

#: The fewest CPUs for a meaningful split into housekeeping and isolated ones.
LEAST_CPUS = 4

#: All CPUs of an emulated guest share one host CPU: with more, it would not boot in time.
_MOST_EMULATED = 8

_MEMORY = re.compile(r"(\d{1,6})([MG])", re.ASCII)
_LEAST_MB = 512


@dataclass(frozen=True)
class VmSize:
    """The guest's CPUs, the threads of each core, and its memory ("2G")."""

    cpus: int
    threads: int = 1
    memory: str = "2G"

    @property
    def cores(self) -> tuple[Core, ...]:
        """QEMU numbers the threads of a core in a row."""
        threads = 1 if self.cpus % self.threads else self.threads
        starts = range(0, self.cpus, threads)
        return tuple(Core(CpuSet.of(range(start, start + threads))) for start in starts)

    @property
    def smp(self) -> str:
        """QEMU's -smp value."""
        if self.threads == 1 or self.cpus % self.threads:
            return str(self.cpus)
        return f"{self.cpus},sockets=1,cores={self.cpus // self.threads},threads={self.threads}"


def shape(
    machine: Machine, cpus: Optional[int], memory: str, *, emulated: Optional[bool]
) -> VmSize:
    """The guest's size on this host; ``cpus`` is the user's request or None. If it is not known yet
    whether the guest is emulated (None), either way's maximum is allowed. Raises Refused if
    ``cpus`` is too small or too large for the host, or ``memory`` is no size."""
    host = os.cpu_count() or 1
    with_kvm = max(LEAST_CPUS, host)
    most = {True: _MOST_EMULATED, False: with_kvm, None: max(_MOST_EMULATED, with_kvm)}[emulated]
    if cpus is None:
        cpus = LEAST_CPUS if emulated else min(max(LEAST_CPUS, len(machine.cpus.online)), most)
    elif not LEAST_CPUS <= cpus <= most:
        how = "KVM on" if emulated is False else "emulation on"
        why = f"--cpus {cpus}: a rehearsal takes {LEAST_CPUS} to {most} CPUs"
        raise Refused(why, hint=f"{how} {host} host CPUs carries no more")
    return VmSize(cpus, _threads(machine, cpus), _checked(memory))


def side_by_side(guest: VmSize) -> int:
    """How many guests can run at once without disturbing each other: each has a host CPU, and all
    together half of the host's memory."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
    return max(1, min(os.cpu_count() or 1, memory // 2 // _megabytes(guest.memory)))


def _threads(machine: Machine, cpus: int) -> int:
    threads = max((len(core.cpus) for core in machine.cores), default=1)
    # At least two cores, for one must stay with the system.
    return threads if cpus % threads == 0 and cpus // threads >= 2 else 1


def _checked(memory: str) -> str:
    if _MEMORY.fullmatch(memory) and _megabytes(memory) >= _LEAST_MB:
        return memory
    why = f"--memory {memory[:20]!r}: not a size"
    raise Refused(why, hint=f"such as 2G, at least {_LEAST_MB}M")


def _megabytes(memory: str) -> int:
    return int(memory[:-1]) * (1024 if memory[-1] == "G" else 1)
