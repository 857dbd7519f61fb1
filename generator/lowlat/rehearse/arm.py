# SPDX-License-Identifier: GPL-2.0-or-later
"""The arms of a rehearsal: kinds of boot to compare, each planned for one kernel's guest."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Optional

from lowlat.base import bounds
from lowlat.base.errors import Refused
from lowlat.base.typed_json import read_value
from lowlat.model import cmdline
from lowlat.model.machine import Machine
from lowlat.model.plan import Plan
from lowlat.plan import profile, store
from lowlat.plan.cpu_request import CpuRequest
from lowlat.plan.planner import Options, make_plan
from lowlat.rehearse.options import STOCK, RehearseOptions

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,199}", re.ASCII)

#: The most arms: more could be neither planned nor booted in a day.
_MOST = 1000


@dataclass(frozen=True)
class PlannedArm:
    """A kind of boot: its name, the words that it adds to the command line, and the arm that it is
    compared with, by name (stock's is its own).

    ``plan`` is lowlat's plan, ``tuned`` the name of a TuneD profile, ``now`` that of the profile
    that isolates the running guest; stock has none of them.
    """

    name: str
    line: str = ""
    base: str = STOCK
    plan: Optional[Plan] = None
    tuned: str = ""
    now: str = ""

    def __post_init__(self) -> None:
        # The name becomes a folder's name and may come from a guest.
        if not _NAME.fullmatch(self.name):
            raise Refused(f"unknown kind of boot: {self.name[:60]!r}")

    @property
    def changes(self) -> bool:
        """Whether its boots have any setting."""
        return self.verified or bool(self.tuned)

    @property
    def verified(self) -> bool:
        """Whether its boots have a plan to verify."""
        return self.plan is not None or bool(self.now)


def read(path: Path) -> tuple[PlannedArm, ...]:
    """The arms that a guest planned, checked like lowlat's own. Raises OSError, ValueError or
    TypeError if they cannot be read, Refused if they exceed a limit."""
    arms: tuple[PlannedArm, ...] = read_value(path, tuple[PlannedArm, ...])
    names = [arm.name for arm in arms]
    if names[:1] != [STOCK] or len(set(names)) != len(names) or len(names) > _MOST:
        raise ValueError("not one arm of each name, the first one stock")
    if not any(arm.plan for arm in arms) or not {arm.base for arm in arms} <= set(names):
        raise ValueError("an arm that is not there")
    for arm in arms:
        if arm.plan:
            store.check(arm.plan)
        if arm.line != (arm.plan.boot_line if arm.plan else cmdline.join(arm.line.split())):
            raise ValueError("a line that is not of its plan")
        cmdline.check_length(arm.line, arm.name, bounds.BOOT_LINE)
    return arms


def splitting_plan(arms: Iterable[PlannedArm]) -> Plan:
    """The first profile's plan; its CPU split applies to all arms."""
    return next(arm.plan for arm in arms if arm.plan)


def planned(machine: Machine, options: RehearseOptions) -> Iterator[PlannedArm]:
    """An arm for each profile; with ``ablate`` also one for each of its settings, left out. The
    split of the first profile applies to all others, so that all arms measure the same CPUs. Raises
    Refused if an arm cannot be planned on this machine."""
    wanted = options.plan
    for name in options.profiles:
        whole = _plan(machine, name, wanted)
        yield PlannedArm(name, whole.boot_line, plan=whole)
        if options.ablate:
            yield from _ablated(machine, name, wanted, whole)
        if wanted is options.plan:
            wanted = replace(wanted, request=CpuRequest(isolate=str(whole.isolated)))


def _plan(machine: Machine, name: str, wanted: Options) -> Plan:
    loaded = profile.load(name)
    if not loaded.isolates:
        wanted = replace(wanted, request=CpuRequest())
    return make_plan(machine, machine.kernel, loaded, wanted)


def _ablated(machine: Machine, name: str, wanted: Options, whole: Plan) -> Iterator[PlannedArm]:
    """Plan again without each setting: what the planner sets in its place counts towards the
    setting's effect."""
    for item in settings(whole):
        enable = tuple(word for word in wanted.enable if word.partition("=")[0] != item)
        less = replace(wanted, disable=(*wanted.disable, item), enable=enable)
        plan = _plan(machine, name, less)
        yield PlannedArm(f"{name}-without-{item}", plan.boot_line, name, plan)


def settings(plan: Plan) -> tuple[str, ...]:
    """The names of a plan's settings, each once."""
    names = [item.name for item in plan.parameters] + [item.name for item in plan.runtime]
    return tuple(dict.fromkeys(names))
