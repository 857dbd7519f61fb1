# SPDX-License-Identifier: GPL-2.0-or-later
"""What the running kernel can be given of a profile without a boot, and what only a boot gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.base.typed_json import decode_fields, encode
from lowlat.catalogue import lookup
from lowlat.model import cmdline
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Machine
from lowlat.model.plan import Plan, PlannedLine
from lowlat.plan import planner
from lowlat.plan.planner import Options
from lowlat.plan.profile import Profile

SCHEMA = "lowlat.now/1"

#: Set in the running kernel whatever the profile has for a boot.
_ADDED = ("cpuset.cpus", "cpuset.partition", "cpuset.sets", "irqbalance.banned_cpus")

_BOOT = "'lowlat-gen plan' shows what a boot would isolate"


@dataclass(frozen=True)
class OnlyBoot:
    """A boot parameter whose effect no run-time setting has. ``interrupts_per_s`` are those that it
    would take from each busy isolated CPU; None if that is not known."""

    name: str
    value: str
    why: str
    interrupts_per_s: Optional[int]

    @property
    def told(self) -> str:
        """What the system has not without it, in words."""
        rate = self.interrupts_per_s
        return (
            f"{self.why}: {rate} interrupts a second on each busy isolated CPU"
            if rate
            else self.why
        )


@dataclass(frozen=True)
class NowPlan:
    """The JSON form is the contract lowlat.now/1. ``plan`` has no boot parameters."""

    plan: Plan
    only_boot: tuple[OnlyBoot, ...]

    def to_json(self) -> dict[str, object]:
        only = encode(self.only_boot)
        return {"schema": SCHEMA, "plan": self.plan.to_json(), "only_boot": only}

    @classmethod
    def from_json(cls, document: Mapping[str, object]) -> NowPlan:
        """Read the JSON form. Raises Refused if it is none."""
        return decode_fields(cls, document)


def make(machine: Machine, wanted: Profile, options: Options) -> NowPlan:
    """Plan for the running kernel and the CPUs that are online now. Raises Refused as make_plan()
    does, and if this boot cannot isolate, or isolates CPUs already."""
    if machine.container:
        raise planner.in_container(machine.container)
    _check(machine, wanted)
    plan = planner.make_plan(
        machine, machine.kernel, _with_added(wanted), replace(options, as_booted=True)
    )
    for name in ("cpuset.cpus", "cpuset.partition"):
        if why := plan.why_skipped(name):
            raise Refused(f"nothing can be isolated without a boot: {why}", hint=_BOOT)
    return NowPlan(replace(plan, cmdline=PlannedLine("", ())), tuple(_only_boot(plan, machine)))


def _check(machine: Machine, wanted: Profile) -> None:
    if not wanted.isolates:
        why = f"profile {wanted.name} isolates no CPU"
        raise Refused(why, hint="choose another --profile")
    if machine.services.cgroup in ("v1", "hybrid"):
        raise Refused(
            f"nothing can be isolated without a boot: control groups are {machine.services.cgroup} "
            "here, and partitions need v2",
            hint=_BOOT,
        )
    shown = (machine.cpus.isolated or CpuSet()) & machine.cpus.online
    if shown:
        why = f"CPU {shown}: isolated by this boot's line already"
        raise Refused(why, hint="'lowlat-gen run' starts a program there")


def _with_added(wanted: Profile) -> Profile:
    added = {name: wanted.settings.get(name, "off") for name in _ADDED}
    on = {name: "on" if value == "off" else value for name, value in added.items()}
    return replace(wanted, settings={**wanted.settings, **on})


def _only_boot(plan: Plan, machine: Machine) -> Iterator[OnlyBoot]:
    line, set_now = machine.cmdline or "", {setting.name for setting in plan.runtime}
    for item in plan.parameters:
        entry = lookup(item.name)
        booted = cmdline.values(line, item.name)[-1:] == [item.value]
        if not booted and not set_now.intersection(entry.stands_in):
            # A busy CPU takes every tick.
            rate = machine.kernel.hz if item.name == "nohz_full" else None
            yield OnlyBoot(item.name, item.value, entry.only_boot or item.why, rate)
