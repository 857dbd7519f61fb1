# SPDX-License-Identifier: GPL-2.0-or-later
"""Next steps with their commands, the most urgent first."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Optional

from lowlat.base.terminal import plain
from lowlat.claim.build import Report
from lowlat.claim.comparison import Comparison, pairs_needed
from lowlat.claim.stats import flips
from lowlat.claim.verdict import DESCRIPTIVE, INCREASED, REDUCED, REFUSED, UNCHANGED
from lowlat.figures.endpoint import INTERRUPTS
from lowlat.model.plan import Plan
from lowlat.present.drawn_arm import quietest
from lowlat.present.offer import Offered, on_any_machine
from lowlat.present.plot.parts import Part
from lowlat.present.tables import parts_of
from lowlat.present.wording import number, source

_MOST = 3

_LACKING = "Something is missing here for that:"

_TUNE = "sudo lowlat-gen tune --boots {} --reboot"


@dataclass(frozen=True)
class NextStep:
    """The reason in one sentence, and the command to type."""

    why: str
    command: str


def steps(
    comparison: Comparison,
    plan: Optional[Plan] = None,
    cause: Optional[Part] = None,
    offered: Offered = on_any_machine,
) -> tuple[NextStep, ...]:
    """The next steps after the report of the quietest arm, as far as they are ``offered``;
    ``cause`` is the largest remaining cause of noise, None if unknown."""
    found: dict[str, NextStep] = {}
    for step in _steps(comparison, plan, cause):
        if command := offered(step.command):
            why = step.why if command == step.command else f"{step.why} {_LACKING}"
            found.setdefault(command, NextStep(why, command))
    return tuple(found.values())


def _steps(
    comparison: Comparison, plan: Optional[Plan], cause: Optional[Part]
) -> tuple[NextStep, ...]:
    if comparison.described and comparison.described.tool:
        why = "Files of the same tool after a change show what it changed."
        return (NextStep(why, "lowlat-gen report before/ --against after/"),)
    if not comparison.reports:
        return _for_single_arm(cause)
    if comparison.reports[0].tool:
        return (*_comparable(comparison.reports[0]), *_of_files(comparison))
    report = comparison.reports[quietest(comparison)]
    where = f" in {report.name}" if comparison.several else ""
    return (
        *_comparable(report),
        *_effective(comparison),
        *_boots(comparison, report),
        *_verdict(report, several=comparison.several),
        *(_remedy(cause, where) if cause else _left(report, where)),
        *_offers(plan),
    )


def _for_single_arm(cause: Optional[Part]) -> tuple[NextStep, ...]:
    why = "Only runs with a setting and runs without it, in turn, show what it changes."
    return (*(_remedy(cause, "") if cause else ()), NextStep(why, "sudo lowlat-gen tune --dry-run"))


def _of_files(comparison: Comparison) -> Iterator[NextStep]:
    """The next steps after files of another tool, of which nobody else knows the boots."""
    if any(report.verdict == DESCRIPTIVE and not report.pairs for report in comparison.reports):
        pairs = pairs_needed(len(comparison.reports), drawn=False)
        yield NextStep(
            f"Files of {pairs} boots of each kind allow a test, if equal names are boots in turn.",
            "lowlat-gen report before/ --against after/ --pairs-by-name",
        )
    yield NextStep(
        "What took the time: measure with causes, as root, on the same CPUs.",
        "sudo lowlat-gen measure --label NAME --causes",
    )


def _comparable(report: Report) -> Iterator[NextStep]:
    if report.verdict == REFUSED:
        yield NextStep("Measure both sides alike.", "lowlat-gen measure --label NAME")


def _effective(comparison: Comparison) -> Iterator[NextStep]:
    lost = (missing for report in comparison.reports for missing in report.not_in_effect)
    names = dict.fromkeys(missing.name for missing in lost)
    if names:
        yield NextStep(
            "Not everything planned was in effect: see the evidence.", "sudo lowlat-gen verify"
        )
    for name in [name for name in names if name != "isolcpus"][:_MOST]:
        yield NextStep(
            f"What {name} needs before it takes effect:",
            f"lowlat-gen explain {plain(name).partition(' ')[0]}",
        )
    if all(arm.effect is None for arm in comparison.arms):
        why = "Settings were not verified; pass --verify FILE."
        yield NextStep(why, "sudo lowlat-gen verify --json > verify.json")


def _boots(comparison: Comparison, report: Report) -> Iterator[NextStep]:
    if _within(report):
        if report.verdict == DESCRIPTIVE and report.pairs < flips.ENOUGH_PAIRS:
            why = f"Too few pairs to tell a change from chance: {flips.ENOUGH_PAIRS} allow a test."
            yield NextStep(why, "sudo lowlat-gen tune --within")
        return
    command = "lowlat-gen rehearse --boots {}" if report.emulated else _TUNE
    arms = sum(report.verdict != REFUSED for report in comparison.reports)
    needed = pairs_needed(arms)
    untested = (report for report in comparison.reports if report.verdict == DESCRIPTIVE)
    if report.e_value is not None:
        return  # the campaign's own rule says when it ends
    if needed is not None and any(one.pairs < needed for one in untested):
        test = f"a test of {arms} arms" if arms > 1 else "a test"
        why = f"Too few pairs of boots to tell a change from chance: {needed} allow {test}."
        yield NextStep(why, command.format(needed))
    elif report.verdict == UNCHANGED:
        why = "No change stands out from chance: more pairs of boots find smaller changes."
        more = report.more_pairs[1] if report.more_pairs else report.pairs
        yield NextStep(why, command.format(report.pairs + more))


def _within(report: Report) -> bool:
    """Whether its runs were made within boots."""
    return report.campaign is not None and bool(report.campaign.claim)


def _verdict(report: Report, *, several: bool) -> Iterator[NextStep]:
    if report.verdict == INCREASED and (several or _within(report)):
        # The first arm may be tuned, and the others lack a part of its settings; within a boot the
        # settings are taken back already.
        return
    if report.verdict == INCREASED:
        yield NextStep("The settings made it worse: undo them.", "sudo lowlat-gen rollback")
    elif report.emulated and report.verdict in (REDUCED, DESCRIPTIVE):
        why = (
            "Counts of interrupts carry over from emulation, durations do not: measure the "
            "machine itself."
        )
        yield NextStep(why, "sudo lowlat-gen tune --dry-run")
    elif report.verdict == REDUCED and _within(report):
        why = "A boot isolates more than 'apply --now' does: compare pairs of boots."
        yield NextStep(why, _TUNE.format(8))
    elif report.verdict == REDUCED:
        yield NextStep("Make the tried entry the default.", "sudo lowlat-gen promote")


def _remedy(cause: Part, where: str) -> Iterator[NextStep]:
    name = cause.remedy
    then = f"see what {name} does about it."
    if not name:
        then = "no setting removes it there. See when it occurs."
    why = f"Most of the noise{where} comes from {cause.name}: {then}"
    yield NextStep(why, f"lowlat-gen explain {name}" if name else "lowlat-gen top")


def _left(report: Report, where: str) -> Iterator[NextStep]:
    """The largest remaining source, and how to learn more about it."""
    if not report.emulated and report.verdict != REFUSED:
        why = "The runs name no causes of single gaps: as root, the kernel's trace shows them."
        yield NextStep(why, "sudo lowlat-gen measure --label NAME --causes")
    rows = parts_of(report, INTERRUPTS)
    largest = max(rows, key=lambda row: row.after, default=None)
    if largest is not None and largest.after:
        name = source(largest.row)
        why = f"Most of what is left{where} comes from {name}, {number(largest.after)} a second:"
        yield NextStep(f"{why} see who interrupts which CPU.", "lowlat-gen top")


def _offers(plan: Optional[Plan]) -> Iterator[NextStep]:
    if plan is None:
        return
    command = f"lowlat-gen plan --profile {plain(plan.profile)}"
    for offer in plan.optional[:_MOST]:
        why = f"Possible here and off by default. It costs: {offer.cost}."
        yield NextStep(why, f"{command} {plain(offer.enable)} --diff")
