# SPDX-License-Identifier: GPL-2.0-or-later
"""``plan``: the CPU split and the settings, each with its reason."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Optional

from lowlat.base.arguments import flag
from lowlat.base.errors import Refused
from lowlat.base.terminal import bold, filled, item, section
from lowlat.catalogue import lookup
from lowlat.draw.text import WIDE, shorten
from lowlat.host.archive import open_root
from lowlat.host.kernel_threads import display_name
from lowlat.host.root import Root
from lowlat.model.cpuset import CpuSet, CpuSetError
from lowlat.model.machine import Machine
from lowlat.model.plan import Plan, PlannedSetting, RoleReason
from lowlat.plan import store, worth
from lowlat.plan.cpu_request import CpuRequest
from lowlat.plan.now import NowPlan
from lowlat.verbs import chosen_plan, options, plan_next
from lowlat.verbs.chosen_plan import ChosenPlan
from lowlat.verbs.options import PlanChoice
from lowlat.verify.diff import CMDLINE, Change, Diff, diff

#: The longest list of CPUs in a brief plan, in characters.
_SHORT = 40

#: The number of warnings there.
_MOST_WARNINGS = 3


@dataclass(frozen=True)
class PlanArguments:
    root: str = options.root()
    json: bool = options.as_json()
    plan: PlanChoice = PlanChoice()
    all: bool = flag("also the reason for each setting, what is left out, and what you can enable")
    brief: bool = flag("print only the line, the CPUs and the next step")
    diff: bool = flag("print only what would change on the running system")
    now: bool = flag("plan for the running kernel, without a boot, and tell what only a boot gives")
    svg: Optional[str] = options.svg_option()


def main(args: PlanArguments) -> int:
    if args.all + args.brief + args.diff > 1:
        raise Refused("--all, --brief and --diff: each is something else", hint="give one of them")
    root = open_root(args.root)
    if args.now:
        return _now(args, root)
    chosen = chosen_plan.make_plan(args.plan, root)
    machine, plan = chosen.at_boot, chosen.plan
    options.write_svg(args.svg, machine, plan.isolated)
    if args.json:
        chosen_plan.note(chosen.other)
    title = f"profile {plan.profile}, kernel {chosen.kernel.words}"
    if args.diff:
        found = diff(plan, root)
        title = f"profile {plan.profile}, compared with the running system"
        changes = chain(_opening(title, chosen), _warnings(plan), describe_diff(found))
        options.show(args.json, found.to_json, changes)
        return 0
    if args.brief:
        lines = describe_briefly(plan)
    else:
        drawing = options.drawing(machine, plan.isolated, "  ")
        lines = describe(plan, drawing, _left(args, machine, plan), reasons=args.all)
    told = chain(_opening(title, chosen), lines, _next(args.plan, root, plan))
    options.show(args.json, plan.to_json, told)
    return 0


def _now(args: PlanArguments, root: Root) -> int:
    machine, found = chosen_plan.make_now(args.plan, root)
    plan = found.plan
    options.write_svg(args.svg, machine, plan.isolated)
    title = f"profile {plan.profile}, kernel {machine.kernel.words}, without a boot"
    if args.diff:
        changes = diff(plan, root)
        told = chain(_warnings(plan), describe_diff(changes))
        options.show(args.json, changes.to_json, chain([bold(f"Plan {plan.id}: {title}")], told))
        return 0
    drawing = [] if args.brief else options.drawing(machine, plan.isolated, "  ")
    lines = describe_now(found, drawing, _left(args, machine, plan), reasons=args.all)
    end = plan_next.now_step(args.plan, root)
    options.show(args.json, found.to_json, chain([bold(f"Plan {plan.id}: {title}")], lines, end))
    return 0


def _left(args: PlanArguments, machine: Machine, plan: Plan) -> str:
    """What is left to others, unless the user chose the CPUs."""
    chosen = args.plan.wanted.request != CpuRequest()
    return "" if chosen else worth.left_to_others(machine, plan.isolated)


def describe_now(
    found: NowPlan, drawing: Iterable[str] = (), left: str = "", *, reasons: bool = False
) -> Iterator[str]:
    """The plan in words: warnings, CPUs, what is ``left`` to others, the settings, and what only a
    boot gives; with ``reasons`` those of each setting."""
    plan = found.plan
    yield from _warnings(plan)
    yield ""
    yield from drawing
    for reason in plan.cpus.reasons:
        yield from item(_cpus(reason), f"{reason.role}: {reason.why}")
    yield from filled(left, "  ")
    shown = _run_time(plan.runtime)
    rows = _items(shown) if reasons else (f"  {label}" for label, _ in shown)
    yield from section("Set in the running kernel", rows)
    only = ((f"{one.name}={one.value}".rstrip("="), one.told) for one in found.only_boot)
    yield from section("Only a boot gives", _items(only))
    yield ""


def _opening(title: str, chosen: ChosenPlan) -> Iterator[str]:
    yield bold(f"Plan {chosen.plan.id}: {title}")
    yield from filled(chosen.other)


def _next(choice: PlanChoice, root: Root, plan: Plan) -> Iterator[str]:
    if _is_applied(plan, root):
        yield "This plan is applied: 'lowlat-gen status' tells the next step."
        return
    yield from plan_next.boot_step(choice, root)


def _is_applied(plan: Plan, root: Root) -> bool:
    with suppress(Refused):  # of a damaged file, which status tells
        kept = store.read_kept(store.plan_path(plan.kernel or ""), root)
        return kept is not None and kept.id == plan.id
    return False


def _warnings(plan: Plan) -> Iterator[str]:
    return _items(("Warning", warning) for warning in plan.warnings)


def describe_briefly(plan: Plan) -> Iterator[str]:
    """The plan in a few lines: its first warnings, the CPUs and the line."""
    yield from _items(("Warning", warning) for warning in plan.warnings[:_MOST_WARNINGS])
    yield _line(plan)
    # The line has the whole lists.
    isolated, kept = (shorten(cpus, _SHORT) for cpus in (plan.isolated, plan.housekeeping))
    yield f"  isolated CPU {isolated or '(none)'}, housekeeping CPU {kept}"
    yield from _more(plan, len(plan.warnings) - _MOST_WARNINGS)


def describe(
    plan: Plan, drawing: Iterable[str] = (), left: str = "", *, reasons: bool
) -> Iterator[str]:
    """The plan in words: warnings, CPUs, what is ``left`` to others, and the line; with ``reasons``
    those of each setting, what is left out, and what can be enabled."""
    yield from _warnings(plan)
    yield ""
    yield from drawing
    yield ""
    for reason in plan.cpus.reasons:
        yield from item(_cpus(reason), f"{reason.role}: {reason.why}")
    yield from filled(left, "  ")
    if reasons:
        yield from _with_reasons(plan)
    else:
        yield from section("Kernel command line", [_line(plan)])
        yield ""
        yield from _more(plan)
    yield ""


def _with_reasons(plan: Plan) -> Iterator[str]:
    parameters = _items((parameter.name, parameter.why) for parameter in plan.parameters)
    yield from section("Kernel command line", (_line(plan), *parameters))
    shown = list(_items(_run_time(plan.runtime)))
    yield from section("Run-time settings", shown or ["  (nothing to set)"])
    skipped = ((skipped.name, skipped.why) for skipped in plan.skipped)
    yield from section("Left out", _by_reason(skipped))
    offers = ((offer.enable, f"{_sets(offer.name)}costs: {offer.cost}") for offer in plan.optional)
    yield from section("Optional, at your own risk", _by_reason(offers))


def _line(plan: Plan) -> str:
    return f"  {plan.cmdline.text or '(nothing to add)'}"


def _more(plan: Plan, warnings: int = 0) -> Iterator[str]:
    """What --all shows besides."""
    told = f"{warnings} more warnings, " if warnings > 0 else ""
    told += f"{len({one.name for one in plan.runtime})} run-time settings, "
    told += f"{len(plan.skipped)} left out, {len(plan.optional)} at your own risk"
    yield from filled(f"{told}: --all shows them, with a reason for each.")


def _run_time(settings: Iterable[PlannedSetting]) -> Iterator[tuple[str, str]]:
    """Each setting with the value of its first file; files of other names have another meaning."""
    named: dict[str, dict[str, PlannedSetting]] = {}
    for one in settings:
        named.setdefault(one.name, {}).setdefault(one.target.rpartition("/")[2], one)
    for name, files in named.items():
        rows = [*files.values()]
        values = {_listed(name, one.value) for one in rows}
        several = ", ".join(f"{file} {one.value}" for file, one in files.items())
        yield f"{name} = {values.pop() if len(values) == 1 else several}", rows[0].why


def _sets(name: str) -> str:
    """What an entry sets, where its name does not tell; "" where that depends on the machine."""
    entry = lookup(name)
    values = {row.value for row in entry.rows} if entry.value is None else {entry.value}
    value = values.pop()
    if values or not value or "{" in value:
        return ""
    return f"sets {entry.parameter(value) if entry.at_boot else value}; "


def _cpus(reason: RoleReason) -> str:
    return f"CPU {shorten(reason.cpus)}"


def describe_diff(found: Diff) -> Iterator[str]:
    """The changes in words: boot parameters, then run-time values by setting."""
    boot = (change for change in found.changes if change.where == CMDLINE)
    lines = _items((change.name, _becomes(change)) for change in boot)
    yield from section("Kernel command line", lines)
    others: dict[str, list[Change]] = {}
    for change in found.changes:
        if change.where != CMDLINE:
            others.setdefault(change.name, []).append(change)
    yield from section(
        "Run-time settings", _items((name, _first(them)) for name, them in others.items())
    )
    yield ""
    yield f"{len(found.changes)} values would change, {found.unchanged} are already as planned."


def _first(changes: Sequence[Change]) -> str:
    more = f" (and {len(changes) - 1} more)" if len(changes) > 1 else ""
    return f"{display_name(changes[0].where)}: {_becomes(changes[0])}{more}"


def _becomes(change: Change) -> str:
    def shown(value: Optional[str]) -> str:
        return "nothing" if value is None else _listed(change.name, value) or "set"

    if change.now is None:
        missing = "is not set" if change.where == CMDLINE else "is not there"
        return f"{missing}, planned {shown(change.planned)}"
    return f"{shown(change.now)} would become {shown(change.planned)}"


def _listed(name: str, value: str) -> str:
    """The value of a setting; CPUs are always shown as a list, a long one in part."""
    text = lookup(name).reads.listed(value)
    with suppress(CpuSetError):
        return shorten(CpuSet.parse_list(text)) if len(text) > WIDE else text
    return text


def _by_reason(items: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Each reason once, with all names that it applies to."""
    names: dict[str, list[str]] = {}
    for name, why in items:
        names.setdefault(why, []).append(name)
    return _items((", ".join(found), why) for why, found in names.items())


def _items(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    for label, text in pairs:
        yield from item(label, text)
