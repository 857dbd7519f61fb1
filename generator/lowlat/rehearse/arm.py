# SPDX-License-Identifier: GPL-2.0-or-later
"""The arms of a rehearsal: kinds of boot that are compared, each planned for one kernel's guest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.model.machine import Machine
from lowlat.model.plan import Plan
from lowlat.plan import profile
from lowlat.plan.cpu_request import CpuRequest
from lowlat.plan.planner import Options, make_plan
from lowlat.rehearse.options import STOCK, RehearseOptions


@dataclass(frozen=True)
class PlannedArm:
    """A kind of boot: its name, the words it adds to the command line, and what it is compared
    with (another arm's name; stock's is its own).

    ``plan`` is lowlat's own; ``tuned`` names a profile of TuneD's own instead. Stock has neither.
    """

    name: str
    line: str = ""
    base: str = STOCK
    plan: Optional[Plan] = None
    tuned: str = ""

    @property
    def changes(self) -> bool:
        """Whether anything is set in its boots."""
        return self.plan is not None or bool(self.tuned)


def dividing(arms: Iterable[PlannedArm]) -> Plan:
    """The first profile's plan, which divides the CPUs for all."""
    return next(arm.plan for arm in arms if arm.plan)


def planned(machine: Machine, options: RehearseOptions) -> Iterator[PlannedArm]:
    """An arm for each profile, and with ``ablate`` one for each setting of it that is left out.

    The first profile divides the CPUs; the others get the same, so that all arms measure the same
    ones. Raises Refused where something cannot be planned on this machine.
    """
    wanted = options.plan
    for name in options.profiles:
        whole = _plan(machine, name, wanted)
        if not whole.isolated and wanted is options.plan:
            raise Refused(
                f"profile {name} isolates no CPU: there is nothing to compare",
                hint="name one that does first",
            )
        yield PlannedArm(name, whole.boot_line, plan=whole)
        if options.ablate:
            yield from _ablated(machine, name, wanted, whole)
        if wanted is options.plan:
            wanted = replace(wanted, request=CpuRequest(isolate=whole.isolated))


def _plan(machine: Machine, name: str, wanted: Options) -> Plan:
    loaded = profile.load(name)
    if not loaded.isolates:
        wanted = replace(wanted, request=CpuRequest())
    return make_plan(machine, machine.kernel, loaded, wanted)


def _ablated(machine: Machine, name: str, wanted: Options, whole: Plan) -> Iterator[PlannedArm]:
    """The planner is asked anew without the setting: what it would then do instead is part of what
    the setting is worth."""
    for item in settings(whole):
        less = replace(wanted, disable=(*wanted.disable, item), enable=_without(wanted, item))
        plan = _plan(machine, name, less)
        yield PlannedArm(f"{name}-without-{item}", plan.boot_line, name, plan)


def settings(plan: Plan) -> tuple[str, ...]:
    """The names of all that a plan sets, each once."""
    names = [item.name for item in plan.parameters] + [item.name for item in plan.runtime]
    return tuple(dict.fromkeys(names))


def _without(wanted: Options, item: str) -> tuple[str, ...]:
    return tuple(word for word in wanted.enable if word.partition("=")[0] != item)
