# SPDX-License-Identifier: GPL-2.0-or-later
"""``cpus``: the plain list of isolated or housekeeping CPUs, or of a named set, for scripts and
TuneD."""

from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Optional

from lowlat.base.arguments import flag, option, positional
from lowlat.base.errors import Refused, Unmet
from lowlat.base.terminal import say
from lowlat.host.archive import open_root
from lowlat.host.root import CPU, Root
from lowlat.model.cpuset import CpuSet
from lowlat.model.plan import ROLES, Plan
from lowlat.plan import store
from lowlat.probe import probe
from lowlat.render import cpu_forms
from lowlat.render.cpu_forms import ChosenCpus
from lowlat.runtime import partition
from lowlat.verbs import chosen_plan, options
from lowlat.verbs.options import PlanChoice

#: Files that list the CPUs isolated in this boot: by isolcpus=, by a cpuset partition.
_ISOLATED = (f"{CPU}/isolated", "/sys/fs/cgroup/cpuset.cpus.isolated")


@dataclass(frozen=True)
class CpusArguments:
    which: str = positional("|".join((*ROLES, "SET")), "the CPUs; SET was named with --isolate")
    plan: Optional[str] = option("FILE", "the CPUs of this plan, in its JSON form")
    fresh: PlanChoice = PlanChoice()
    planned: bool = flag(
        "print the plan's CPUs even if this boot does not isolate them (always in a capture)"
    )
    form: str = option(
        None, "in this program's form", "list", choices=cpu_forms.FORMS, named="--as", dest="form"
    )
    root: str = options.root()


def main(args: CpusArguments) -> int:
    """Raises Unmet if nothing is isolated, unless a planned list was requested."""
    root = open_root(args.root)
    plan, which = _chosen(args, root)
    cpus = plan.cpus_of(args.which)
    # No program can start on a captured machine, so its planned list does no harm.
    if not (args.planned or _asked(args) or not root.live):
        _check_in_effect(plan, root)
    if args.form != "list" and not cpus:
        raise Unmet(f"no CPU is {args.which}", hint="choose another profile")
    if args.form == "list":
        say(str(cpus))
        if not cpus:
            chosen_plan.note(
                f"profile {plan.profile} isolates no CPU, so the list is empty: without --cpus "
                "'measure' takes all CPUs but the lowest"
            )
    else:
        chosen = _placed(cpus, plan, root)
        for row in cpu_forms.rows(args.form, chosen):
            say(row)
        for note in cpu_forms.notes(args.form, chosen):
            chosen_plan.note(note)
    again = f"'{options.command('plan', args.fresh)}' shows them"
    chosen_plan.remark(plan, root, which, f"{args.plan} has them" if args.plan else again)
    return 0


def _asked(args: CpusArguments) -> bool:
    return args.plan is not None or args.fresh != PlanChoice()


def _chosen(args: CpusArguments, root: Root) -> tuple[Plan, str]:
    """The plan, and which one it is in words."""
    if args.plan is None:
        return chosen_plan.here(root, args.fresh)
    options.refuse_plan_options(args.fresh, f"--plan {args.plan}")
    plan, machine = store.read_here(args.plan, root), probe(root)
    if plan.cpus.online != chosen_plan.at_boot(plan, machine).cpus.online:
        why = f"{args.plan}: of another machine, which has CPU {plan.cpus.online}"
        raise Refused(why, hint="give a capture of that machine with --root")
    return plan, f"the plan in {args.plan}"


def _placed(cpus: CpuSet, plan: Plan, root: Root) -> ChosenCpus:
    machine, group = probe(root), partition.owner(cpus, root)
    return ChosenCpus(cpus, plan, chosen_plan.at_boot(plan, machine), machine.cpus.offline, group)


def _check_in_effect(plan: Plan, root: Root) -> None:
    """Raises Unmet if this boot does not isolate the plan's CPUs, by lowlat or by other means."""
    found = (root.read_cpus(path) for path in _ISOLATED)
    isolated = reduce(or_, filter(None, found), CpuSet())
    if plan.isolated and (store.is_booted(plan, root) or plan.isolated <= isolated):
        return
    why = "no CPU is isolated in this boot"
    if isolated:
        why = f"this boot isolates CPU {isolated}, and the plan CPU {plan.isolated or '(none)'}"
    raise Unmet(why, hint="--planned prints what a plan would isolate")
