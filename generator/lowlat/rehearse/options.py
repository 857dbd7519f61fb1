# SPDX-License-Identifier: GPL-2.0-or-later
"""What to rehearse, as the user asked for it, and what of that can be refused before any boot."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Optional

from lowlat.base.duration import seconds
from lowlat.base.errors import Refused
from lowlat.catalogue import lookup
from lowlat.host.root import Root
from lowlat.host.tuned import chain
from lowlat.measure.options import TIMES
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Core, Cpus, Machine
from lowlat.plan import profile
from lowlat.plan.cpu_request import merge
from lowlat.plan.planner import Options
from lowlat.plan.split import split
from lowlat.report import comparison

STOCK = "stock"

#: Booted exactly as stock: what the report says of it is what it says where nothing changed.
CONTROL = "control"


@dataclass(frozen=True)
class RehearseOptions:
    """What to rehearse. CPU lists name the guest's CPUs, with ``as_host`` this machine's.

    ``kernels`` and ``profiles`` span the matrix; ``tuned`` are profiles of TuneD's own, further
    arms. ``boots`` are those of each arm on each kernel.
    """

    kernels: tuple[str, ...] = ("",)
    fetch: bool = False
    profiles: tuple[str, ...] = ("lowlat",)
    tuned: tuple[str, ...] = ()
    ablate: bool = False
    control: bool = False
    plan: Options = field(default_factory=Options)
    as_host: bool = False
    cpus: Optional[int] = None
    memory: str = "2G"
    duration: str = "30s"
    warmup: str = "10s"
    boots: int = 1

    def __post_init__(self) -> None:
        if min(len(self.kernels), len(self.profiles), self.boots) < 1:
            raise ValueError("nothing to boot")

    def seconds(self) -> float:
        """Of one run with its warm-up; raises Refused where that is no time for the harness."""
        times = (("--duration", self.duration), ("--warmup", self.warmup))
        return sum(seconds(option, text, TIMES[option]) for option, text in times)

    def check(self, cpus: int) -> None:
        """Refuse what cannot be right in a guest of so many CPUs, before a minute goes by booting.

        The rest is for the planner in the guest to refuse.
        """
        wanted = [profile.load(name) for name in self.profiles]
        self.seconds()
        if self.plan.request.for_device and not self.as_host:
            raise Refused(
                f"--for-device {self.plan.request.for_device[:60]}: the guest has other devices",
                hint="leave it out, or rehearse this machine's own plan with --as-host",
            )
        for name in (*self.plan.enable, *self.plan.disable):
            lookup(name)
        _check_once("--kernel", self.kernels)
        _check_once("--profile", self.profiles)
        _check_once("--tuned-profile", (*self.tuned, *self.profiles))
        for name in self.tuned:
            _check_tuned(name)
        if not self.as_host:
            split(_guest(cpus), merge(wanted[0].request, self.plan.request))

    def host(self) -> Options:
        """What this machine itself is planned with."""
        if self.as_host:
            # Here --as-host says whose plan to boot, not to plan a virtual machine as if it were
            # none.
            return replace(self.plan, as_host=False)
        # The lists named the guest's CPUs.
        return replace(
            self.plan, request=replace(self.plan.request, isolate=None, housekeeping=None)
        )


def _check_once(option: str, names: tuple[str, ...]) -> None:
    for name in names:
        if name in (STOCK, CONTROL):
            raise Refused(f"{option} {name}: an arm without any profile is called so")
        if names.count(name) > 1:
            raise Refused(f"{option} {name[:60]}: there is one of that name", hint="name each once")


def _check_tuned(name: str) -> None:
    if not re.fullmatch(comparison.NAME, name, re.ASCII):
        raise Refused(f"--tuned-profile {name[:60]!r}: not a name of a profile")
    if not chain(Root(), name):
        # The guest's files are this machine's.
        raise Refused(f"--tuned-profile {name}: TuneD has no such profile here")


def _guest(cpus: int) -> Machine:
    """As much of the guest as is known before it runs: its CPUs, each taken for a core."""
    online = CpuSet.of(range(cpus))
    cores = tuple(Core(CpuSet.of([cpu])) for cpu in online)
    return Machine(None, Cpus(online=online, offline=CpuSet(), possible=online, boot=0), cores)
