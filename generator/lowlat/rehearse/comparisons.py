# SPDX-License-Identifier: GPL-2.0-or-later
"""The reports over a whole rehearsal: on each kernel the arms against stock, and each profile
without one setting against the whole profile."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path

from lowlat.base import files
from lowlat.claim.build import Report
from lowlat.claim.campaign_check import set_ups_registered
from lowlat.claim.comparison import set_ups
from lowlat.figures import in_effect
from lowlat.figures.measured_arm import Arm
from lowlat.model.finding import Finding, Standing
from lowlat.present.drawn_arm import Group
from lowlat.present.settings_table import OWN
from lowlat.rehearse.arm import PlannedArm, settings
from lowlat.rehearse.boots import clock_words
from lowlat.rehearse.options import STOCK
from lowlat.rehearse.rehearsal import KernelOutcome, Rehearsal


def compared(rehearsal: Rehearsal) -> Iterator[Group]:
    """Every comparison with boots in both arms."""
    for outcome in rehearsal.outcomes:
        bases = dict.fromkeys(arm.base for arm in outcome.arms)
        for base in bases:
            yield from _against(base, outcome)
    yield from _on_each_kernel([one for one in rehearsal.outcomes if one.of(one.arms[0])])


def _on_each_kernel(outcomes: Sequence[KernelOutcome]) -> Iterator[Group]:
    """Stock on each kernel against stock on the first: the effect of a kernel, or of its HZ."""
    if len(outcomes) > 1 and len({one.stage.kvm for one in outcomes}) == 1:
        stock = [
            replace(_runs(one.arms[0], one), name=one.stage.kernel.release) for one in outcomes
        ]
        for policy, comparison in set_ups(*stock):
            yield Group(", ".join(filter(None, ("stock on each kernel", policy))), comparison)


def _against(base: str, outcome: KernelOutcome) -> Iterator[Group]:
    first = next(arm for arm in outcome.arms if arm.name == base)
    others = [arm for arm in outcome.arms if arm.base == base and arm is not first]
    known = [arm for arm in others if outcome.of(arm)]
    if not known or not outcome.of(first):
        return
    release = outcome.stage.kernel.release
    title = release if base == STOCK else f"{release}: {base} with one setting left out"
    runs = [_runs(arm, outcome) for arm in (first, *known)]
    plan = first.plan or next((arm.plan for arm in known if arm.plan), None)
    for policy, comparison in set_ups_registered(*runs):
        # With several set-ups, the arms repeat under each policy.
        arms = islice(cycle((first, *known)), 1, None)
        reports = tuple(_planned(arm, one) for arm, one in zip(arms, comparison.reports))
        name = ", ".join(filter(None, (title, policy)))
        yield Group(name, replace(comparison, reports=reports), plan)


def _runs(arm: PlannedArm, outcome: KernelOutcome) -> Arm:
    boots = outcome.of(arm)
    stage = outcome.stage
    own = () if stage.kvm else tuple(clock_words(stage.machine))
    verified = [marked(booted.verified, own) for booted in boots if booted.verify]
    effect = in_effect.of_boots(verified) if verified else None
    return Arm(arm.name, tuple(run for booted in boots for run in booted.measured), effect)


def marked(rows: Sequence[Finding], own: Sequence[str]) -> Sequence[Finding]:
    """The rows; settings that the rehearsal adds to every boot are marked as its own."""
    given = {(Standing.NOT_PLANNED, word) for word in own}
    return [
        replace(row, by=OWN) if (row.state, f"{row.name}={row.effective}") in given else row
        for row in rows
    ]


def _planned(arm: PlannedArm, report: Report) -> Report:
    """The arm's report: a setting counts as missing only if the arm's plan has it."""
    names = settings(arm.plan) if arm.plan else ()
    missing = tuple(one for one in report.not_in_effect if one.name in names)
    return replace(report, not_in_effect=missing)


def write_page(groups: Sequence[Group], folder: Path) -> Path:
    """One page of all comparisons; returns its path."""
    # Imported late: only the end needs templates and drawings.
    from lowlat.present.html import render_groups

    path = folder / "report.html"
    files.write("report", str(path), render_groups("Rehearsal", groups).encode())
    return path
