# SPDX-License-Identifier: GPL-2.0-or-later
"""The verb ``report``."""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from lowlat.audit import audit_text, result
from lowlat.base.errors import Refused
from lowlat.base.terminal import say
from lowlat.claim import limits, requirement
from lowlat.claim.campaign_check import compare_registered
from lowlat.claim.pairs_by_name import paired
from lowlat.claim.verdict import REFUSED
from lowlat.figures import in_effect, levels
from lowlat.figures.measured_arm import NAME, Arm, named
from lowlat.measure.run_file import read_runs
from lowlat.model.run import Run
from lowlat.present import limit_words, screen
from lowlat.verbs import refusals, report_output
from lowlat.verbs.report_output import FORMS, ReportArguments

#: The first two arms; further arms have the user's names.
_BEFORE = "before"
_AFTER = "after"


def main(args: ReportArguments) -> int:
    """Compare the runs, or describe those of one arm, and print the result: 0 done, 1 not
    comparable. Raises Refused on bad input, before any output, and Unmet if a gate was missed."""
    gates = [requirement.parse(words) for words in args.require]
    report_output.check(args)
    if not args.before:
        hint = "name those to describe, or those before the change"
        raise Refused("report: the runs are missing", hint=hint)
    _check_compared(args)
    if args.article:
        sys.stdout.write(report_output.write_article(args, _arms(args)))
        return 0
    if args.before[1:] == () and result.is_audit(args.before[0]):
        for line in audit_text.lines(*result.read(args.before[0])):
            say(line)
        return 0
    limited = [limits.parse(text) for text in args.limit]
    comparison = compare_registered(*_arms(args), named=args.campaign)
    requirement.check_names(gates, comparison.reports)
    comparison = replace(
        comparison,
        limits=limits.observed(limited, comparison.arms),
        gates=requirement.asked(gates, comparison.reports),
    )
    written = report_output.write(args, comparison)
    forms = [form for name, form in FORMS.items() if getattr(args, name)]
    if forms:
        sys.stdout.write(forms[0](comparison))
    else:
        sys.stdout.write(screen.render(comparison, refusals.offered_here))
        for line in written:
            say(line)
    limit_words.check(comparison.limits)
    requirement.check(comparison.gates, several=comparison.several)
    return 1 if any(report.verdict == REFUSED for report in comparison.reports) else 0


def _check_compared(args: ReportArguments) -> None:
    """Raises Refused if an option needs a comparison and there is none."""
    given = {
        "--require": args.require,
        "--verify": args.verify,
        "--campaign": args.campaign,
        "--pairs-by-name": args.pairs_by_name,
    }
    only = [name for name, value in given.items() if value]
    if only and not (args.against or args.arm):
        hint = "add those after the change: --against AFTER"
        raise Refused(f"report: {only[0]}: two sets of runs are needed", hint=hint)


def _arms(args: ReportArguments) -> list[Arm]:
    arms = [(_BEFORE, args.before)]
    arms += [(_AFTER, args.against)] if args.against else []
    arms += list(_further(args.arm))
    read = [Arm(name, _runs(paths)) for name, paths in arms]
    _check_apart(read)
    read = paired(read) if args.pairs_by_name else read
    asked = levels.asked(args.level, (run for arm in read for run in arm.runs))
    labelled = _labelled([replace(arm, asked=asked) for arm in read])
    if args.verify:
        labelled[1] = replace(labelled[1], effect=in_effect.read_verify(args.verify))
    return labelled


def _runs(paths: Sequence[Path]) -> tuple[Run, ...]:
    return tuple(run for path in paths for run in read_runs(path))


def _labelled(arms: list[Arm]) -> list[Arm]:
    """The first two arms renamed after their runs' labels, if these distinguish all arms; an arm by
    itself is else named after its files."""
    first = _BEFORE if len(arms) > 1 else _files(arms[0].runs)
    roles = {_BEFORE: first, _AFTER: _AFTER}
    names = [named(roles[arm.name], arm.runs) if arm.name in roles else arm.name for arm in arms]
    if len(set(names)) < len(names):
        return arms
    return [replace(arm, name=name) for arm, name in zip(arms, names)]


def _files(runs: Sequence[Run]) -> str:
    more = f" and {len(runs) - 1} more" if runs[1:] else ""
    return f"{runs[0].path.name}{more}"


def _check_apart(arms: Sequence[Arm]) -> None:
    seen: dict[str, str] = {}
    for arm in arms:
        for run in arm.runs:
            real = os.path.realpath(run.path)
            if real in seen:
                why = f"is among the runs '{seen[real]}' already"
                raise Refused(f"{run.path}: {why}", hint="name each run once")
            seen[real] = arm.name


def _further(given: Sequence[Sequence[str]]) -> Iterator[tuple[str, tuple[Path, ...]]]:
    seen = {_BEFORE, _AFTER}
    for name, *files in given:
        if not re.fullmatch(NAME, name, re.ASCII) or name in seen or not files:
            why = f"--arm {name!r}: not a name of its own followed by files"
            raise Refused(why, hint="such as --arm lowlat-poll runs/poll-*.json")
        seen.add(name)
        yield name, tuple(map(Path, files))
