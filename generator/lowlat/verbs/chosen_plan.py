# SPDX-License-Identifier: GPL-2.0-or-later
"""The one plan that every verb speaks of, in this order: what was asked for on the command line;
the applied plan, as ``status`` shows it; the plan of this boot; the default."""

import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.host.root import CPU, Root
from lowlat.model import cmdline
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Kernel, Machine
from lowlat.model.plan import Plan
from lowlat.plan import current, now, planner, profile, store
from lowlat.plan.boot_machine import boot_machine
from lowlat.plan.cpu_request import merge
from lowlat.plan.kubelet import for_kubelet
from lowlat.plan.now import NowPlan
from lowlat.plan.planner import Options
from lowlat.probe import probe
from lowlat.probe.kernel import read_release
from lowlat.verbs import options
from lowlat.verbs.options import PlanChoice

_ASKED = "a plan made as asked"

#: Where all warnings of a plan stand.
_MORE = "'lowlat-gen plan' shows them"


@dataclass(frozen=True)
class ChosenPlan:
    """The plan that a verb uses, with its machine and kernel. ``other`` says that it is not the
    plan that ``status`` shows; "" if it is, or if none is applied."""

    machine: Machine
    kernel: Kernel
    plan: Plan
    other: str

    @property
    def at_boot(self) -> Machine:
        """The machine in the boot with the plan's line."""
        return at_boot(self.plan, replace(self.machine, kernel=self.kernel))


def at_boot(plan: Plan, machine: Machine) -> Machine:
    """The machine in the boot with the plan's line."""
    try:
        return boot_machine(f"{machine.cmdline or ''} {plan.cmdline.text}", machine)[0]
    except Refused:
        return machine


def make_plan(choice: PlanChoice, root: Root, *, kubelet: bool = False) -> ChosenPlan:
    """The plan that all verbs speak of, for one kernel: what was asked for, else the applied plan,
    else the default. ``kubelet`` adds housekeeping CPUs for one to a new plan."""
    machine = probe(root)
    if machine.container:
        raise planner.in_container(machine.container)
    kernel = read_release(root, choice.kernel, machine.kernel)
    known = None
    with suppress(*[Refused] if choice.asks else []):  # damaged state does not matter then
        known = applied(root, kernel.release)
    if known is not None and not choice.asks:
        return ChosenPlan(machine, kernel, known, "")
    if known is not None and store.is_booted(known, root):
        # What this boot has of the applied plan, another plan need not keep.
        names = [parameter.name for parameter in known.parameters]
        machine = replace(machine, cmdline=cmdline.without(machine.cmdline or "", names))
    named = profile.load(choice.profile or profile.DEFAULT, root)
    wanted = options.consistent(choice.wanted)
    if kubelet and named.isolates:
        booted = planner.at_boot(machine, kernel, named, wanted)
        returning = booted.cpus.online & machine.cpus.offline
        request = for_kubelet(booted, merge(named.request, wanted.request), returning)
        wanted = replace(wanted, request=request)
    plan = planner.make_plan(machine, kernel, named, wanted)
    return ChosenPlan(machine, kernel, plan, _difference(plan, known))


def make_now(choice: PlanChoice, root: Root) -> tuple[Machine, NowPlan]:
    """The plan for the running kernel without a boot: of what was asked for, else of the applied
    decision, else of the default profile. Raises Refused as now.make() does."""
    if choice.kernel is not None:
        why = f"--kernel {choice.kernel}: without a boot only the running kernel can isolate"
        raise Refused(why, hint="leave --kernel or --now out")
    machine, choice = probe(root), repeated(choice, root)
    named = profile.load(choice.profile or profile.DEFAULT, root)
    return machine, now.make(machine, named, options.consistent(choice.wanted))


def applied(root: Root, release: Optional[str] = None) -> Optional[Plan]:
    """The plan of the stored decision for a kernel, the running one for None; without a decision
    the plan of this boot. None if there is neither. Raises Refused if it is damaged."""
    if not root.absent(store.DECISION):
        from lowlat.boot import decision  # most machines that plan have none

        return decision.plan_of(root, release)
    plan = store.applied(root) or store.booted(root)
    return plan if plan and release in (None, plan.kernel) else None


def in_force(path: Optional[str], root: Root) -> Plan:
    """The named plan, else that of ``apply --now``, else the applied one, else the one that the
    run-time settings were started with. Raises Refused if there is none, or if it is another
    machine's."""
    known = None
    if path is None:
        isolated = store.now(root)
        stored = isolated and isolated.plan
        stored = stored or applied(root) or store.read_kept(store.PLAN, root)
        known = stored or store.in_use(root)
    plan = known or store.read(path, root)
    store.check_here(plan, path or store.PLAN, root)
    return plan


def repeated(choice: PlanChoice, root: Root) -> PlanChoice:
    """The choice; if it asks for nothing, what was asked for when the applied plan was made."""
    if choice.asks or root.absent(store.DECISION):
        return choice
    from lowlat.boot import decision

    made = decision.read(root)
    return replace(choice, profile=made.profile, wanted=made.options) if made else choice


def here(root: Root, choice: PlanChoice) -> tuple[Plan, str]:
    """The plan of a verb that names CPUs, and which plan that is in words: for a profile alone as
    current.plan() makes it, for other options as make_plan() does; else that of ``apply --now``,
    else the applied one, else the default profile's. Raises Refused as these do."""
    if choice.wanted != Options() or choice.kernel is not None:
        return make_plan(choice, root).plan, _ASKED
    if choice.profile is not None:
        return current.plan(choice.profile, root), _ASKED
    if isolated := store.now(root):
        return isolated.plan, "the plan of 'apply --now'"
    if known := applied(root):
        return known, "the applied plan"
    return current.plan(profile.DEFAULT, root), "the default plan, as none is applied"


def auto_cpus(root: Root, planned: Optional[CpuSet] = None) -> CpuSet:
    """The CPUs on which ``run`` starts a program: those of a set, by default the isolated ones of
    here(), that are online. Raises Refused if there are none."""
    planned = here(root, PlanChoice())[0].isolated if planned is None else planned
    # CPUs of the plan that are offline now come back with its boot.
    cpus = planned & (root.read_cpus(f"{CPU}/online") or planned)
    if not cpus:
        raise Refused("--cpus auto: no CPU is isolated", hint="name some with --cpus LIST")
    return cpus


def _difference(plan: Plan, known: Optional[Plan]) -> str:
    def shown(one: Plan) -> tuple[object, ...]:
        return one.profile, replace(one.cpus, reasons=()), one.cmdline.text

    if known is None or shown(plan) == shown(known):
        return ""
    if (plan.profile, plan.isolated) == (known.profile, known.isolated):
        return "this is not the applied plan, which has other settings"
    return f"this is not the applied plan, which has {summary(known.profile, known.isolated)}"


def summary(name: str, isolated: CpuSet) -> str:
    """A profile and its CPUs in the words of ``status``."""
    return f"profile {name}, isolated CPUs {isolated or 'none'}"


def remark(plan: Plan, root: Root, which: str = "", more: str = _MORE) -> None:
    """Say on stderr what a list of CPUs cannot tell: ``which`` plan it is of, that this is not the
    applied one, and the plan's warnings. A boot with that plan, or ``apply --now``, has shown what
    they warn of. ``more`` tells where all warnings stand."""
    isolated = store.now(root)
    if store.is_booted(plan, root) or (isolated and isolated.plan == plan):
        return
    note(which and f"CPUs of {which}: {summary(plan.profile, plan.isolated)}")
    with suppress(Refused):
        note(_difference(plan, applied(root)))
    for warning in plan.warnings[:1]:
        note(f"warning: {warning}")
    if plan.warnings[1:]:
        note(f"{len(plan.warnings) - 1} more warnings: {more}")


def note(text: str) -> None:
    """Print a sentence to stderr, where the output is for programs; nothing for ""."""
    if text:
        print(f"lowlat-gen: {text}", file=sys.stderr)
