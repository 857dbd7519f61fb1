# SPDX-License-Identifier: GPL-2.0-or-later
"""``apply --now``: isolate the running system until the next boot, without a boot entry."""

from collections.abc import Iterator, Sequence

from lowlat.host.root import CPU, Root
from lowlat.model.cpuset import CpuSet
from lowlat.plan.now import NowPlan
from lowlat.runtime import cgroup, now, settings
from lowlat.runtime.settings import Inspected
from lowlat.verbs import chosen_plan, options
from lowlat.verbs.options import ChangeArguments, PlanChoice
from lowlat.verify import tasks
from lowlat.verify.tasks import TaskSeen

#: The limit of notes about tasks; further ones are counted.
_MOST = 12


def isolate(choice: PlanChoice, how: ChangeArguments, root: Root) -> int:
    """Set the plan, or print what would be written; returns the exit status. Raises Refused if this
    boot cannot be isolated."""
    _, found = chosen_plan.make_now(choice, root)
    plan = found.plan
    now.check(found, root)
    before = settings.inspect(plan.runtime, root)
    changed = bool(settings.pending(before))
    if how.dry_run:
        options.show_change(how.json, changed, settings.commands(plan, root))
        return 0
    seen = tasks.read(root, plan.isolated)
    outcomes = now.start(found, root)
    failed = [one for one in outcomes if one.failed]
    said = _describe(choice, found, outcomes, seen, root)
    rows = (settings.values(before), settings.values(outcomes))
    options.show_change(how.json, changed, said, *rows)
    return 1 if failed else 0


def _describe(
    choice: PlanChoice,
    found: NowPlan,
    outcomes: Sequence[Inspected],
    before: Sequence[TaskSeen],
    root: Root,
) -> Iterator[str]:
    plan = found.plan
    yield from (one.failure for one in outcomes if one.failed)
    yield from (f"note: {warning}" for warning in plan.warnings)
    told = [*dict.fromkeys(_tasks(before, tasks.read(root, plan.isolated), plan.isolated, root))]
    yield from told[:_MOST]
    yield from ([f"note: and {len(told) - _MOST} more tasks"] if told[_MOST:] else [])
    for group, cpus in cgroup.sharing(root, plan.isolated):
        yield f"note: {group} has CPU {cpus}: {_narrowed(group, plan.housekeeping)}"
    if found.only_boot:
        again = options.command("plan --now", choice)
        names = ", ".join(one.name for one in found.only_boot)
        yield f"only a boot gives {names}: '{again}' tells what each is"
    done, fixed = sum(one.effective for one in outcomes), sum(one.fixed for one in outcomes)
    kept = f"; the kernel keeps {fixed} interrupts and threads where they are" if fixed else ""
    yield f"{done} of {len(outcomes)} run-time values are as planned{kept}"
    if any(one.failed and one.entry.name.startswith("cpuset.") for one in outcomes):
        yield "not isolated: without its partition the system shares these CPUs"
        yield "'lowlat-gen rollback' takes back what was set"
        return
    yield f"isolated now, until the next boot: {chosen_plan.summary(plan.profile, plan.isolated)}"
    yield "'lowlat-gen rollback' takes it back; 'lowlat-gen run -- CMD' starts a program there"


def _tasks(
    before: Sequence[TaskSeen], after: Sequence[TaskSeen], isolated: CpuSet, root: Root
) -> Iterator[str]:
    """Users' tasks that may still run there, and those that had asked for these CPUs."""
    online = root.read_cpus(f"{CPU}/online") or CpuSet()
    still = {task.tid: task for task in after}
    for task in before:
        if task.kernel or task.group.startswith("lowlat"):
            continue
        if task.tid in still:
            cpus = still[task.tid].allowed & isolated
            group = task.group or "unknown"
            yield f"note: {task.name} may still run on CPU {cpus}, control group {group}"
        elif task.allowed != online:
            yield f"note: {task.name} had asked for CPU {task.allowed}, and runs elsewhere now"


def _narrowed(group: str, kept: CpuSet) -> str:
    """What takes the isolated CPUs from a group."""
    unit = group.rpartition("/")[2]
    if unit.endswith((".slice", ".service", ".scope")):
        return f"'systemctl set-property --runtime {unit} AllowedCPUs={kept}' takes them from it"
    return "what made it has to take them from it"
