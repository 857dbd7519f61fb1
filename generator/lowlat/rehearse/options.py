# SPDX-License-Identifier: GPL-2.0-or-later
"""The user's request for a rehearsal, and its checks before any boot."""

import re
from dataclasses import dataclass, field, replace
from typing import Optional

from lowlat.base.arguments import flag, option, seconds
from lowlat.base.errors import Refused
from lowlat.base.typed_json import FLAT
from lowlat.catalogue import lookup
from lowlat.figures.measured_arm import NAME
from lowlat.host.root import Root
from lowlat.host.tuned import chain
from lowlat.measure import runner
from lowlat.measure.options import TIMES, MeasureChoice, MeasureOptions
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Core, Cpus, Machine
from lowlat.plan import profile
from lowlat.plan.cpu_request import NONE, merge
from lowlat.plan.planner import Options
from lowlat.plan.split import split

STOCK = "stock"

#: An arm booted exactly like stock: it shows what the report claims if nothing changed.
CONTROL = "control"

#: An arm booted exactly like stock and then isolated by ``apply --now``.
NOW = "now"


@dataclass(frozen=True)
class GuestPlanOptions(Options):
    """The options of the guest's plan. CPU lists name its CPUs, with ``as_host`` this machine's."""

    as_host: bool = flag("boot the guest with this machine's own command line")


@dataclass(frozen=True)
class RehearseOptions:
    """The options of a rehearsal; ``kernels`` times ``profiles`` are planned."""

    measure: MeasureChoice = field(default=MeasureChoice(), metadata=FLAT)
    profiles: tuple[str, ...] = option(
        "P", "profile to rehearse; default: lowlat; may be repeated", ("lowlat",), named="--profile"
    )
    plan: GuestPlanOptions = GuestPlanOptions()
    tuned: tuple[str, ...] = option(
        "T",
        "also boot a profile that TuneD ships, for the same CPUs; may be repeated",
        (),
        named="--tuned-profile",
    )
    ablate: bool = flag(
        "also boot each profile with one setting left out at a time, to show what each setting buys"
    )
    control: bool = flag("also boot stock as a further arm, in which nothing has changed")
    now: bool = flag("also boot stock and isolate the running guest, as 'apply --now' does")
    kernels: tuple[str, ...] = option(
        "RELEASE|PATH",
        "kernel to boot: an image, a release or the beginning of one, such as 6.12 or 6.1-rt; may "
        "be repeated",
        ("",),
        named="--kernel",
    )
    fetch: bool = flag(
        "download the kernel from the distribution if it is neither in /boot nor cached",
        named="--fetch-kernel",
    )
    cpus: Optional[int] = option(
        "N", "CPUs of the guest (default: 4 under emulation; with KVM as many as here, at least 4)"
    )
    memory: str = option("SIZE", "memory of the guest (%(default)s)", "2G")
    duration: str = option("TIME", "length of a run (%(default)s)", "30s")
    warmup: str = option("TIME", "wait before a run (%(default)s)", "10s")
    boots: int = option(
        "N", "boots of each arm on each kernel, in rounds of random order (%(default)s)", 1
    )

    def __post_init__(self) -> None:
        if min(len(self.kernels), len(self.profiles), self.boots) < 1:
            raise ValueError("nothing to boot")

    def measured(self) -> MeasureOptions:
        """The options of measure, the same in every boot."""
        return MeasureOptions(
            label=STOCK, duration=self.duration, warmup=self.warmup, **vars(self.measure)
        )

    def check(self, cpus: int) -> None:
        """Refuse, before any boot, options that must fail in a guest with this number of CPUs. The
        guest's planner checks the rest."""
        wanted = [profile.load(name) for name in self.profiles]
        for name, text in (("--duration", self.duration), ("--warmup", self.warmup)):
            seconds(name, text, TIMES[name])
        runner.check(self.measured(), here=False)
        if self.plan.request.for_device and not self.plan.as_host:
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
        request = merge(wanted[0].request, self.plan.request)
        if NONE in (wanted[0].request.isolate, request.isolate):
            why = f"profile {wanted[0].name} would isolate no CPU: there is nothing to compare"
            raise Refused(why, hint="name first a profile that isolates, without --isolate none")
        if not self.plan.as_host:
            split(_guest(cpus), request)

    def host(self) -> GuestPlanOptions:
        """The options of a plan for this machine itself."""
        if self.plan.as_host:
            # A rehearsal's --as-host boots this machine's plan; here it must not make the planner
            # take a virtual machine for hardware.
            return replace(self.plan, as_host=False)
        # The lists named CPUs of the guest.
        return replace(
            self.plan, request=replace(self.plan.request, isolate=None, housekeeping=None)
        )


def _check_once(option: str, names: tuple[str, ...]) -> None:
    for name in names:
        if name in (STOCK, CONTROL, NOW):
            raise Refused(f"{option} {name}: an arm is called so already")
        if names.count(name) > 1:
            raise Refused(f"{option} {name[:60]}: there is one of that name", hint="name each once")


def _check_tuned(name: str) -> None:
    if not re.fullmatch(NAME, name, re.ASCII):
        raise Refused(f"--tuned-profile {name[:60]!r}: not a name of a profile")
    if not chain(Root(), name):
        # The guest sees this machine's files.
        raise Refused(f"--tuned-profile {name}: TuneD has no such profile here")


def _guest(cpus: int) -> Machine:
    """What is known of the guest before it runs: its CPUs, each taken as a core."""
    online = CpuSet.of(range(cpus))
    cores = tuple(Core(CpuSet.of([cpu])) for cpu in online)
    return Machine(None, Cpus(online=online, offline=CpuSet(), possible=online, boot=0), cores)
