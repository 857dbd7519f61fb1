# SPDX-License-Identifier: GPL-2.0-or-later
"""The shape of the virtual machine: this machine's, cut to the resources of the host."""

import os
import re
from dataclasses import dataclass
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.model.machine import Machine

#: A split into housekeeping and isolated CPUs that says something needs as many.
LEAST_CPUS = 4

#: The CPUs of an emulated guest share one of the host's: more of them no longer boot in time.
_MOST_EMULATED = 8

_MEMORY = re.compile(r"(\d{1,6})([MG])", re.ASCII)
_LEAST_MB = 512


@dataclass(frozen=True)
class VmSize:
    """CPUs of the guest, how many of them share a core, and its memory ("2G")."""

    cpus: int
    threads: int = 1
    memory: str = "2G"

    @property
    def smp(self) -> str:
        """QEMU's -smp value."""
        if self.threads == 1 or self.cpus % self.threads:
            return str(self.cpus)
        return f"{self.cpus},sockets=1,cores={self.cpus // self.threads},threads={self.threads}"


def shape(
    machine: Machine, cpus: Optional[int], memory: str, *, emulated: Optional[bool]
) -> VmSize:
    """The guest for this host; ``cpus`` is what the user wants, None the default. Where it is not
    known yet whether it will be emulated (None) it has as many CPUs as either way allows. Raises
    Refused where that is too few, more than the host carries, or no size of memory."""
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
    """How many guests run at once where they do not disturb each other: while each has a CPU of the
    host, and all of them half of its memory."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
    return max(1, min(os.cpu_count() or 1, memory // 2 // _megabytes(guest.memory)))


def _threads(machine: Machine, cpus: int) -> int:
    threads = max((len(core.cpus) for core in machine.cores), default=1)
    # Two cores at least: one has to stay with the system.
    return threads if cpus % threads == 0 and cpus // threads >= 2 else 1


def _checked(memory: str) -> str:
    if _MEMORY.fullmatch(memory) and _megabytes(memory) >= _LEAST_MB:
        return memory
    why = f"--memory {memory[:20]!r}: not a size"
    raise Refused(why, hint=f"such as 2G, at least {_LEAST_MB}M")


def _megabytes(memory: str) -> int:
    return int(memory[:-1]) * (1024 if memory[-1] == "G" else 1)
