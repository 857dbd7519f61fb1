# SPDX-License-Identifier: GPL-2.0-or-later
"""``fleet``: classes of machines with a plan for each; a campaign over hosts, and one report on
their runs."""

import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from glob import glob
from pathlib import Path
from typing import Callable, Optional

from lowlat.base import reader
from lowlat.base.arguments import flag, option, positional
from lowlat.base.errors import Refused, Unmet
from lowlat.base.files import reporting_errors
from lowlat.base.terminal import bold, columns, cut, filled, section
from lowlat.fleet import node_names
from lowlat.fleet.classes import RUN_TIME, MachineClass, classes
from lowlat.host import archive
from lowlat.host.archive import open_root
from lowlat.model.machine import Machine
from lowlat.model.plan import Plan
from lowlat.render import cpu_forms, files
from lowlat.render.cpu_forms import ChosenCpus
from lowlat.render.hooks import RenderedFile
from lowlat.verbs import chosen_plan, fleet_campaign, fleet_report, options
from lowlat.verbs.options import PlanChoice

SCHEMA = "lowlat.fleet-plan/1"

#: The rounds of a campaign: two more than the least for a claim.
ROUNDS = 8

#: The number of machines named in each class.
_NAMED = 4

_MORE = "--all draws each class, with its line and what sets it apart; --json names every machine."

#: The longest list of isolated CPUs in the line of a class, in characters.
_ISOLATED = 28

#: Longer texts are not shown, only that they differ.
_SHOWN = 40


@dataclass(frozen=True)
class FleetArguments:
    action: str = positional(
        None,
        "group machines with their plans, write a campaign over hosts down, or compare runs",
        choices=("plan", "campaign", "report"),
    )
    given: tuple[str, ...] = positional(
        "CAPTURE|RUN",
        "plan: captured machines (folders, archives, folders of either, or patterns); campaign: a "
        "file of each host, what 'apply --dry-run --json' prints there; report: runs of all hosts "
        "before the change",
        (),
        nargs="+",
        action="store",
    )
    all: bool = flag("plan: draw each class, with its line and what it differs in")
    json: bool = options.as_json()
    form: Optional[str] = option(
        None,
        "plan: print a line for slurm.conf for each class; nodes have their captures' names",
        choices=("slurm",),
        named="--as",
        dest="form",
    )
    out: Optional[str] = option(
        "PATH", "plan: write each class's plan into this folder, as ID.json; campaign: its file"
    )
    rounds: Optional[int] = option(
        "N", f"campaign: rounds, a stock and a tuned boot on every host ({ROUNDS})"
    )
    seed: Optional[int] = option("N", "campaign: what the order is drawn from (by chance)")
    fresh: PlanChoice = PlanChoice()
    against: tuple[Path, ...] = option(
        "AFTER", "report: runs of all hosts after the change", (), nargs="+", action="extend"
    )
    csv: Optional[str] = option("FILE", "report: write a row for each host")
    html: Optional[str] = option("FILE", "report: write a page with drawings, in one file")


def main(args: FleetArguments) -> int:
    if args.action != "campaign" and (args.rounds or args.seed):
        raise Refused(f"fleet {args.action}: --rounds and --seed are for 'fleet campaign'")
    if args.action == "campaign":
        return _campaign(args)
    if args.action == "report":
        options.refuse_plan_options(args.fresh, "fleet report")
        if args.out or args.all or args.form or not args.against:
            raise Refused("fleet report: give --against AFTER, and no --out, --all or --as")
        return fleet_report.main(
            tuple(map(Path, args.given)), args.against, args.json, args.csv, args.html
        )
    if args.against or args.csv or args.html:
        why = "fleet plan: --against, --csv and --html are for runs"
        raise Refused(why, hint="use 'fleet report'")
    if (args.form is not None) + args.json + args.all > 1:
        raise Refused("--all, --as and --json: each is something else", hint="give one of them")
    return _plan(args)


def _campaign(args: FleetArguments) -> int:
    if args.all or args.form or args.against or args.csv or args.html or not args.out:
        raise Refused("fleet campaign: give --out FILE, and no option of plan or report")
    options.refuse_plan_options(replace(args.fresh, profile=None), "fleet campaign")
    paths, seed = tuple(map(Path, args.given)), args.seed or secrets.randbelow(65535) + 1
    return fleet_campaign.main(paths, args.out, args.rounds or ROUNDS, seed, args.fresh, args.json)


def _plan(args: FleetArguments) -> int:
    # Refuse contradictory options once, not for each machine.
    options.consistent(args.fresh.wanted)
    bad: list[tuple[str, str]] = []
    captures, others = _captures(args.given)
    groups = classes(_planned(captures, args.fresh, bad))
    if args.out and groups:
        plans = {one.plan.id: one.plan.text() for one in groups}
        rendered = (RenderedFile(f"/{name}.json", 0o644, text) for name, text in plans.items())
        files.write(rendered, args.out)
    if args.form:
        told = _for_slurm(groups, bad)
    else:
        told = describe(groups, bad, others, _drawn if args.all else _listed)
    options.show(args.json, lambda: _document(groups, bad, others), told)
    return 1 if bad else 0


#: A captured machine's path, and the folder that was given if it lies in one.
_Capture = tuple[str, Optional[Path]]


def _captures(given: Sequence[str]) -> tuple[list[_Capture], list[str]]:
    """Each capture once, in order, and what else lies in the folders. Raises Refused if a pattern
    matches nothing."""
    by_place: dict[str, _Capture] = {}
    others: list[str] = []
    for text in given:
        fitting = [text] if Path(text).exists() else sorted(glob(text))  # noqa: PTH207  # Path.glob takes no absolute pattern
        captures = [capture for path in fitting for capture in _within(Path(path), others)]
        if not captures:
            raise Refused(f"{text}: no such capture", hint="give folders, archives or patterns")
        for capture in captures:
            by_place.setdefault(os.path.realpath(capture[0]), capture)
    return list(by_place.values()), others


def _within(path: Path, others: list[str]) -> list[_Capture]:
    """The captured machine at a path, or all those in a folder; ``others`` collects the rest."""
    if not path.is_dir() or archive.is_capture(path):
        return [(str(path), None)]
    with reporting_errors(str(path)):
        found = [path / name for name in reader.list_folder(path)]
    captures = [each for each in found if _may_be_capture(each, path)]
    others += (str(each) for each in found if each not in captures)
    return [(str(each), path) for each in captures]


def _may_be_capture(path: Path, folder: Path) -> bool:
    """Whether it is one, or cannot be read: then its plan is refused, with the reason."""
    try:
        return archive.is_capture(path, inside=folder)
    except Refused:
        return True


def _planned(
    captures: Iterable[_Capture], choice: PlanChoice, bad: list[tuple[str, str]]
) -> Iterator[tuple[str, Machine, Plan]]:
    """The machines that can be planned, one at a time; ``bad`` collects the others' errors."""
    for capture, folder in captures:
        try:
            chosen = chosen_plan.make_plan(choice, open_root(capture, inside=folder))
            chosen_plan.note(chosen.other and f"{capture}: {chosen.other}")
            yield capture, chosen.machine, chosen.plan
        except Refused as error:
            bad.append((capture, error.message.removeprefix(f"--root {capture}: ")))


def _document(
    groups: Sequence[MachineClass], bad: Sequence[tuple[str, str]], others: Sequence[str]
) -> dict[str, object]:
    listed = [
        {
            "class": number,
            "machines": one.members,
            "plan": one.plan.id,
            "cmdline": one.plan.cmdline.text,
            "isolated": str(one.plan.isolated),
            "housekeeping": str(one.plan.housekeeping),
            "warnings": list(one.plan.warnings),
            "nearest": one.nearest + 1 if one.differs else None,
            "differs": [dict(zip(("name", "here", "there"), item)) for item in one.differs],
        }
        for number, one in enumerate(groups, 1)
    ]
    refused = [{"capture": name, "why": why} for name, why in bad]
    return {"schema": SCHEMA, "classes": listed, "refused": refused, "others": list(others)}


def _for_slurm(groups: Sequence[MachineClass], bad: list[tuple[str, str]]) -> Iterator[str]:
    """A row of slurm.conf for each class; what has none is a comment, and added to ``bad``."""
    rows = []
    for one in groups:
        named = {path: node_names.of_capture(path) for path in one.members}
        nodes = node_names.hostlist(filter(None, named.values()))
        bad += [(path, "not the name of a node") for path, name in named.items() if not name]
        booted = chosen_plan.at_boot(one.plan, one.machine)
        chosen = ChosenCpus(one.plan.housekeeping, one.plan, booted, one.machine.cpus.offline)
        try:
            rows += [f"NodeName={nodes} {row}" for row in cpu_forms.rows("slurm", chosen) if nodes]
        except Unmet as error:
            bad.append((nodes, error.message))
    yield from (*rows, *(f"# {name}: {why}" for name, why in bad))


def describe(
    groups: Sequence[MachineClass],
    bad: Sequence[tuple[str, str]],
    others: Sequence[str],
    told: Callable[[Sequence[MachineClass]], Iterator[str]],
) -> Iterator[str]:
    """The number of classes, the classes as ``told``, the captures without a plan, and the number
    of ``others`` that are no captures."""
    count = sum(len(one.members) for one in groups)
    classes = "1 class" if len(groups) == 1 else f"{len(groups)} classes"
    yield bold(f"machines: {count}, in {classes}; captures without a plan: {len(bad)}")
    yield from told(groups)
    yield from section("Without a plan", options.bullets(f"{name}: {why}" for name, why in bad))
    if others:
        yield from ("", *filled(f"Left out, as they are no captures: {_few(others)}"))


def _few(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _listed(groups: Sequence[MachineClass]) -> Iterator[str]:
    """A line for each class: its isolated CPUs, how many the system keeps, and its machines; below
    them each warning once."""
    cpus = [cut(str(one.plan.isolated) or "none", _ISOLATED) for one in groups]
    kept = [f"{len(one.plan.housekeeping)} of {len(one.plan.cpus.online)}" for one in groups]
    widths = [max(map(len, column), default=0) for column in (cpus, kept)]
    warned: dict[str, list[str]] = {}
    for number, (one, *shown) in enumerate(zip(groups, cpus, kept), 1):
        more = f" and {len(one.members) - 1} more" if len(one.members) > 1 else ""
        isolated, system = (text.ljust(width) for text, width in zip(shown, widths))
        head = f"{number:4}  isolates {isolated}  system {system}  "
        yield f"{head}{cut(one.members[0], max(columns() - len(head) - len(more), 8))}{more}"
        for warning in one.plan.warnings:
            warned.setdefault(warning, []).append(str(number))
    told = (f"class {', '.join(numbers)}: {warning}" for warning, numbers in warned.items())
    yield from section("Warnings", options.bullets(told))
    if groups:
        yield ""
        yield from filled(_MORE)


def _drawn(groups: Sequence[MachineClass]) -> Iterator[str]:
    """A drawing of each class, and of an odd machine the differences; it is drawn too if another
    class is compared with it."""
    shown = {one.nearest for one in groups}
    for number, one in enumerate(groups, 1):
        named = ", ".join(one.members[:_NAMED])
        if not one.odd:
            named = f"{len(one.members)} machines: {named}"
        if len(one.members) > _NAMED:
            named = f"{named} and {len(one.members) - _NAMED} more"
        warnings = (f"warning: {warning}" for warning in one.plan.warnings)
        lines = list(options.bullets((*warnings, *_told(one))))
        if number - 1 in shown or not (one.odd and one.differs):
            drawn = options.drawing(one.machine, one.plan.isolated, "  ")
            lines = [*drawn, f"  {one.plan.cmdline.text}", *lines]
        yield from section(f"Class {number}, plan {one.plan.id}: {named}", lines)


def _told(one: MachineClass) -> Iterator[str]:
    """The differences in words; of run-time settings, which follow from the CPUs, only names."""
    later = [name[len(RUN_TIME) :] for name, _, _ in one.differs if name.startswith(RUN_TIME)]
    words = [_words(*item) for item in one.differs if not item[0].startswith(RUN_TIME)]
    if words:
        yield f"like class {one.nearest + 1}, except: {'; '.join(words)}"
    if later:
        yield f"run-time settings that differ from class {one.nearest + 1}: {', '.join(later)}"


def _words(name: str, here: str, there: str) -> str:
    if max(len(here), len(there)) > _SHOWN:
        return name
    return f"{name} {here or 'none'}, not {there or 'none'}"
