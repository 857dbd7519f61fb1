# SPDX-License-Identifier: GPL-2.0-or-later
"""What the virtual machine looks like: this machine's shape, cut to what the host can carry."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Optional

from lowlat.errors import Refused
from lowlat.machine import Machine

#: A split into housekeeping and isolated CPUs that says something needs as many.
LEAST_CPUS = 4

#: Each emulated CPU wants a host CPU's time: with more of them the guest no longer boots in time.
_EMULATED_PER_HOST_CPU = 2

_MEMORY = re.compile(r"(\d{1,6})([MG])", re.ASCII)
_LEAST_MB = 512


@dataclass(frozen=True)
class Shape:
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


def shape(machine: Machine, cpus: Optional[int], memory: str, *, emulated: bool) -> Shape:
    """The guest for this host; ``cpus`` is what the user wants, None the default.

    Raises Refused where that is too few, more than the host carries, or no size of memory.
    """
    host = os.cpu_count() or 1
    most = max(LEAST_CPUS, host * _EMULATED_PER_HOST_CPU if emulated else host)
    if cpus is None:
        cpus = min(max(LEAST_CPUS, len(machine.cpus.online)), most)
    elif not LEAST_CPUS <= cpus <= most:
        how = "emulation on" if emulated else "KVM on"
        raise Refused(
            f"--cpus {cpus}: a rehearsal takes {LEAST_CPUS} to {most} CPUs",
            hint=f"{how} {host} host CPUs carries no more",
        )
    return Shape(cpus, _threads(machine, cpus), _checked(memory))


def _threads(machine: Machine, cpus: int) -> int:
    threads = max((len(core.cpus) for core in machine.cores), default=1)
    # Two cores at least: one has to stay with the system.
    return threads if cpus % threads == 0 and cpus // threads >= 2 else 1


def _checked(memory: str) -> str:
    found = _MEMORY.fullmatch(memory)
    if found and int(found[1]) * (1024 if found[2] == "G" else 1) >= _LEAST_MB:
        return memory
    raise Refused(
        f"--memory {memory[:20]!r}: not a size", hint=f"such as 2G, at least {_LEAST_MB}M"
    )
