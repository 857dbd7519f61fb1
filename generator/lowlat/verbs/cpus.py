# SPDX-License-Identifier: GPL-2.0-or-later
"""``cpus``: the plain list of isolated or housekeeping CPUs, or of a named set, for scripts and
TuneD."""

from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Optional

from lowlat.base.arguments import flag, option, positional
from lowlat.base.errors import Unmet
from lowlat.base.terminal import say
from lowlat.host.archive import open_root
from lowlat.host.root import CPU, Root
from lowlat.model.cpuset import CpuSet
from lowlat.model.plan import ROLES, Plan
from lowlat.plan import profile, store
from lowlat.probe import probe
from lowlat.render import cpu_forms
from lowlat.render.cpu_forms import ChosenCpus
from lowlat.runtime import launch
from lowlat.verbs import chosen_plan, options

#: Files that list the CPUs isolated in this boot: by isolcpus=, by a cpuset partition.
_ISOLATED = (f"{CPU}/isolated", "/sys/fs/cgroup/cpuset.cpus.isolated")


@dataclass(frozen=True)
class CpusArguments:
    which: str = positional("|".join((*ROLES, "SET")), "the CPUs; SET was named with --isolate")
    profile: Optional[str] = option(
        "P", "plan with this profile; default: the applied plan, else " + profile.DEFAULT
    )
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
    plan = chosen_plan.here(root, args.profile)
    cpus = plan.cpus_of(args.which)
    # No program can start on a captured machine, so its planned list does no harm.
    will_do = args.planned or args.profile is not None or not root.live
    if not will_do:
        _check_in_effect(plan, root)
    if args.form != "list" and not cpus:
        raise Unmet(f"no CPU is {args.which}", hint="choose another profile")
    if args.form == "list":
        say(str(cpus))
    else:
        machine = probe(root)
        chosen = ChosenCpus(
            cpus,
            plan,
            machine=chosen_plan.at_boot(plan, machine),
            offline=machine.cpus.offline,
            group=launch.group_of(cpus, root),
        )
        for row in cpu_forms.rows(args.form, chosen):
            say(row)
        for note in cpu_forms.notes(args.form, chosen):
            chosen_plan.note(note)
    chosen_plan.remark(plan, root)
    return 0


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
