# SPDX-License-Identifier: GPL-2.0-or-later
"""Make a Plan: a pure function of machine, kernel, profile and the user's options."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Optional

from lowlat.base.arguments import flag, option
from lowlat.base.errors import Refused
from lowlat.catalogue import CATALOGUE, lookup
from lowlat.catalogue.entry import Target, Tunable
from lowlat.catalogue.needs import ISOLATES, PHYSICAL
from lowlat.host import noise
from lowlat.kernel.cpus import cpus_after
from lowlat.model import cmdline
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import LOWLATENCY_KERNEL, Kernel, Machine
from lowlat.model.plan import Offer, Plan, PlannedLine, PlannedParameter, PlannedSetting, Skipped
from lowlat.plan import line_fit, read_back, realtime
from lowlat.plan.boot_machine import boot_machine
from lowlat.plan.cpu_request import NONE, CpuRequest, merge
from lowlat.plan.interrupt_movers import InterruptMovers
from lowlat.plan.locality import find_device
from lowlat.plan.memory import remote_memory
from lowlat.plan.profile import Profile
from lowlat.plan.split import split
from lowlat.probe import container

#: The entries that keep tasks away.
_ISOLATING = frozenset({"isolcpus", "cpuset.partition"})

#: The beginning of a warning of a parameter on the running line that the plan sets too.
ALREADY = "the running command line already has"


@dataclass(frozen=True)
class Options:
    """The user's options for a plan besides the profile, the same for every verb that makes one.

    ``as_booted`` plans run-time settings for the running boot, of CPUs that are online now: a boot
    parameter replaces a run-time setting only if the running command line has it. It chooses no
    CPUs: the caller names those of the boot or of its plan, except in a container.
    """

    request: CpuRequest = CpuRequest()
    enable: tuple[str, ...] = option("NAME[=VALUE]", "also set this tunable, at your own risk", ())
    disable: tuple[str, ...] = option("NAME", "leave this tunable out", ())
    as_host: bool = flag("plan as for physical hardware, even in a virtual machine")
    as_booted: bool = False


def make_plan(
    machine: Machine,
    kernel: Kernel,
    profile: Profile,
    options: Options,
    isolated: Optional[CpuSet] = None,
) -> Plan:
    """Decide everything for one machine, kernel and profile, and for the CPUs that the boot with
    the planned line brings online; ``isolated`` replaces the split, but no device that the options
    name. Raises Refused if this is a container, if these CPUs are not known or cannot be split as
    asked, if a setting enabled by name is impossible here, or if the line is too long."""
    if machine.container and not options.as_booted:
        raise in_container(machine.container)
    if not profile.isolates and options.request != CpuRequest():
        why = f"profile {profile.name} isolates no CPU: there is none to choose"
        raise Refused(why, hint="leave the options out, or choose another --profile")
    request, wanted = merge(profile.request, options.request), _Requested(profile, options)
    named = request.for_device
    if isolated is not None:
        request = CpuRequest(isolate=str(isolated) or NONE)
    offline = machine.cpus.offline
    if options.as_booted:
        relied = tuple(_offline(machine))
    else:
        machine, relied = _at_boot(replace(machine, kernel=kernel), wanted, request)
    cpus, warnings = split(machine, request, machine.cpus.online & offline)
    device = find_device(machine, named) if named else None
    target = Target(
        machine=machine,
        kernel=kernel,
        isolated=cpus.isolated,
        housekeeping=cpus.housekeeping,
        guest=machine.hypervisor is not None and not options.as_host,
        interrupts=device.interrupts if device else (),
        as_booted=options.as_booted,
        sets=cpus.sets or {},
    )
    made = _PlanMaker(target, wanted)
    line = cmdline.join(parameter.word for parameter in made.parameters)
    effect = read_back.read_planned(machine, kernel, made.parameters)
    result = Plan(
        profile=profile.name,
        kernel=kernel.release,
        cpus=cpus,
        cmdline=PlannedLine(line, tuple(made.parameters)),
        runtime=tuple(made.runtime),
        optional=tuple(made.optional),
        skipped=tuple(made.skipped),
        warnings=(
            *relied,
            *(realtime.warning(kernel, profile.name) if profile.realtime else ()),
            *warnings,
            *remote_memory(machine, cpus.isolated, device),
            *_warnings(machine, made.parameters, made.target),
            *_movers(effect.isolated, made.target).warnings(),
            *([f"left to you: {profile.needs}"] if profile.needs else ()),
        ),
    )
    line_fit.check(machine, kernel, result)
    if not options.as_booted and machine.cmdline is not None:
        read_back.check(effect, result)
    return result


def at_boot(machine: Machine, kernel: Kernel, profile: Profile, options: Options) -> Machine:
    """The machine that make_plan() plans for. Raises Refused as it does."""
    request = merge(profile.request, options.request)
    return _at_boot(replace(machine, kernel=kernel), _Requested(profile, options), request)[0]


def _at_boot(
    machine: Machine, wanted: "_Requested", request: CpuRequest
) -> tuple[Machine, tuple[str, ...]]:
    """The machine in the boot with the planned line. Siblings do not matter to a plan that isolates
    nothing; without a stock line nothing is known of that boot."""
    if machine.cmdline is None:
        return machine, tuple(_offline(machine))
    try:
        return boot_machine(wanted.line(machine), machine)
    except Refused:
        if request.isolate != NONE:
            raise
        return machine, ()


def _offline(machine: Machine) -> Iterable[str]:
    """A warning of CPUs that are offline now and not by the line."""
    coming = cpus_after(machine.cmdline or "", machine) & machine.cpus.offline
    if coming and not machine.container:
        yield (
            f"CPU {coming} is offline and may be a sibling of an isolated one: once online it "
            "takes tasks of the system, so plan again when you bring it online"
        )


def in_container(name: str) -> Refused:
    """The error of a verb that plans for a host or changes it."""
    what, instead = container.told(name)
    return Refused(f"{what}: the boot line and the kernel's settings are its host's", hint=instead)


class _Requested:
    """The value of each entry that the profile or the user names: "on", "off" or a text."""

    def __init__(self, profile: Profile, options: Options) -> None:
        self.values = dict(profile.settings)
        self.by_user: set[str] = set()
        self.disabled: set[str] = set()
        for item in options.enable:
            entry = lookup(item)
            name, sign, value = item.partition("=")
            if sign and value in ("", "on", "off"):
                raise Refused(f"--enable {item[:60]}: not a value", hint=f"--enable {name}")
            self.values[entry.name] = value or "on"
            self.by_user.add(entry.name)
        for item in options.disable:
            name = lookup(item).name
            if name in self.by_user:
                raise Refused(f"'{name}' is both enabled and disabled")
            self.values[name] = "off"
            self.disabled.add(name)

    def line(self, machine: Machine) -> str:
        """The stock line with the words of the plan that keep CPUs off."""
        words = ["nosmt"] if self.values.get("nosmt", "off") != "off" else []
        return " ".join([*cmdline.parse(machine.cmdline or ""), *words])


class _PlanMaker:
    """Walks the catalogue once and sorts every entry into set, optional or skipped."""

    def __init__(self, target: Target, wanted: _Requested) -> None:
        self.target = target
        self._wanted = wanted
        #: Parameters of this plan that the running command line lacks.
        self._not_booted: frozenset[str] = frozenset()
        self.parameters: list[PlannedParameter] = []
        self.runtime: list[PlannedSetting] = []
        self.optional: list[Offer] = []
        self.skipped: list[Skipped] = []
        for entry in CATALOGUE:
            self._decide(entry)

    def _decide(self, entry: Tunable) -> None:
        target = self.target
        if not entry.at_boot:
            target = replace(target, enabled=target.enabled - self._not_booted)
        needs = [(need, need.test(target)) for need in entry.needs]
        missing = next((need.missing for need, met in needs if met is False), None)
        obstacle = missing or self._obstacle(entry, target)
        value = self._wanted.values.get(entry.name, "off")
        if obstacle:
            self._leave_out(entry, obstacle)
        elif value != "off":
            notes = dict.fromkeys(need.assumed for need, met in needs if met is None)
            self._set(entry, "; ".join([entry.why, *notes]), None if value == "on" else value)
        elif entry.name in self._wanted.disabled:
            self._leave_out(entry, "switched off by --disable")
        else:
            self.optional.append(Offer(entry.name, entry.cost, f"--enable {entry.usage}"))

    def _obstacle(self, entry: Tunable, target: Target) -> Optional[str]:
        for name in entry.conflicts:
            if name in target.enabled:
                return f"{name} is set, which includes it"
        # The user may enable by name even a setting that has no effect here.
        return None if entry.name in self._wanted.by_user else entry.unneeded(target)

    def _leave_out(self, entry: Tunable, why: str) -> None:
        if entry.name in self._wanted.by_user:
            hint = "--as-host plans as for hardware" if why == PHYSICAL.missing else None
            raise Refused(f"--enable {entry.name}: {why}", hint=hint)
        self.skipped.append(Skipped(entry.name, why))

    def _set(self, entry: Tunable, why: str, given: Optional[str]) -> None:
        if given is not None:
            _check_value(entry, given)
        refused = entry.refuses(self.target, given)
        if refused:
            self._leave_out(entry, refused)
            return
        remark = entry.remark(self.target, given) if given else ""
        fixed = (f"{why}; {remark}" if remark else why, entry.source, entry.risk.value)
        if entry.value is not None:
            value = entry.own_value(self.target) if given is None else given
            self.parameters.append(PlannedParameter(entry.name, value, *fixed))
            booted = self.target.machine.cmdline or ""
            if self.target.as_booted and cmdline.values(booted, entry.name)[-1:] != [value]:
                self._not_booted |= {entry.name}
        for row in entry.settings(self.target, given):
            self.runtime.append(PlannedSetting(entry.name, row.path, row.value, *fixed))
        self.target = replace(self.target, enabled=self.target.enabled | {entry.name})


def _check_value(entry: Tunable, value: str) -> None:
    if entry.accepts is None:
        raise Refused(f"'{entry.name}' takes no value of your own", hint="its value is computed")
    if not re.fullmatch(entry.accepts, value):
        why = f"'{entry.name}={value[:40]}' is not possible"
        raise Refused(why, hint=f"it accepts {entry.accepts}")


def _movers(shown: CpuSet, target: Target) -> InterruptMovers:
    """What could move interrupts in a boot that shows these CPUs as isolated."""
    machine = target.machine
    return InterruptMovers(
        target.isolated,
        target.housekeeping,
        shown,
        "irqbalance" in machine.managers,
        machine.services.ban_list,
        machine.services.link_files,
        frozenset(one.driver or "" for one in machine.devices if one.kind == "network") or None,
        told="irqbalance.banned_cpus" in target.enabled,
    )


def _warnings(
    machine: Machine, parameters: Iterable[PlannedParameter], target: Target
) -> Iterable[str]:
    values = {parameter.name: parameter.value for parameter in parameters}
    names = set(values)
    line = machine.cmdline or ""
    for name in sorted(names):
        given = cmdline.values(line, name)
        if given and not cmdline.values(line, cmdline.MARKER) and given[-1] != values[name]:
            shown = f"{name}={given[-1]}" if given[-1] else name
            yield f"{ALREADY} {shown}: remove it, or the two conflict"
    added = machine.services.lowlatency_kernel or ""
    doubled = [item for item in cmdline.parse(added) if item.partition("=")[0] in names]
    if doubled:
        yield (
            f"{LOWLATENCY_KERNEL} (package lowlatency-kernel) adds {' '.join(doubled)} to every "
            "boot: remove the package, or it and this plan conflict"
        )
    config = target.kernel.config
    if target.isolated and not _ISOLATING & target.enabled and ISOLATES.test(target) is False:
        yield f"{ISOLATES.missing}: nothing keeps tasks off the isolated CPUs but their own pinning"
    if target.isolated and config and not config.enabled("NO_HZ_FULL"):
        yield (
            f"the kernel is built without CONFIG_NO_HZ_FULL: its tick interrupts the isolated CPUs "
            f"{target.kernel.hz or '100 to 1000'} times a second"
        )
    elif target.isolated and "nohz_full" not in names and target.has("busy CPUs pull timers"):
        yield (
            "without nohz_full an isolated CPU that is busy runs the timers of idle CPUs on this "
            "kernel (6.9 to 6.18): for work that spins '--enable nohz_full' keeps them away; work "
            "that sleeps between its cycles, such as a control loop, is better without nohz_full"
        )
    if target.isolated and machine.is_x86 and machine.clock.current in ("hpet", "acpi_pm"):
        tick = (
            "; if the TSC became unstable after the kernel's start, which verify tells, the tick "
            "never stops"
        )
        slow = f"the clock source is {machine.clock.current}, which is slow to read"
        yield slow + (tick if "nohz_full" in names else "")
    for manager in noise.INTERFERING:
        if manager in machine.managers:
            yield f"{manager} is running and changes settings of its own: it may interfere"
    if "slurmd" in machine.managers and "cpuset.partition" in target.enabled:
        yield (
            "slurmd runs here: its jobs are not in lowlat.slice, whose partition takes the "
            "isolated CPUs from them; add '--disable cpuset.partition' ('lowlat-gen explain slurm')"
        )
    if config is None:
        release = target.kernel.release or "the kernel"
        yield f"no configuration of {release} was found: what it is built with is assumed"
