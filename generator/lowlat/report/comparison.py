# SPDX-License-Identifier: GPL-2.0-or-later
"""Several arms against the first: set-ups, profiles, or one parameter left out at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Optional

from lowlat.model.run import Run
from lowlat.report import verdict
from lowlat.report.build import Report, build
from lowlat.report.in_effect import VerifiedSetting
from lowlat.report.stats import permutation
from lowlat.report.stats.permutation import ALPHA, ENOUGH_BOOTS

SCHEMA = "lowlat.comparison/1"

#: What an arm may be called, as a regular expression.
NAME = r"[A-Za-z0-9._+-]{1,64}"

#: More boots an arm do not make the smallest p smaller: relabellings are drawn then.
_MOST = 20


@dataclass(frozen=True)
class ArmRuns:
    """The runs of one arm, its name, and what verify found in its boots (None: not checked)."""

    name: str
    runs: tuple[Run, ...]
    effect: Optional[Sequence[VerifiedSetting]] = None


@dataclass(frozen=True)
class ArmReport:
    """One arm's report: the first arm before, this one after."""

    name: str
    report: Report


@dataclass(frozen=True)
class Comparison:
    """Every arm against ``first``. With several, the p of each primary endpoint is adjusted for
    their number, and the verdicts follow it; everything else is each report's own."""

    first: str
    arms: tuple[ArmReport, ...]


def compare(first: ArmRuns, others: Sequence[ArmRuns]) -> Comparison:
    """Build a report for each arm."""
    found = [ArmReport(arm.name, build(first.runs, arm.runs, arm.effect)) for arm in others]
    return Comparison(first.name, tuple(_adjusted(found)))


def holm(values: Sequence[float]) -> list[float]:
    """Holm's adjustment: the chance that any of these is a false finding stays below p."""
    order = sorted(range(len(values)), key=values.__getitem__)
    result = [1.0] * len(values)
    least = 0.0
    for rank, index in enumerate(order):
        least = max(least, min(1.0, (len(values) - rank) * values[index]))
        result[index] = least
    return result


def _adjusted(arms: Sequence[ArmReport]) -> list[ArmReport]:
    tested = [arm for arm in arms if arm.report.verdict in verdict.TESTED]
    if len(tested) < 2:
        return list(arms)
    given = [arm.report.primary for arm in tested]
    p = holm([primary.p for primary in given if primary is not None and primary.p is not None])
    if min(permutation.smallest_p(arm.report.boots) for arm in tested) * len(tested) > ALPHA:
        found = [_untested(arm.report, len(tested)) for arm in tested]
    else:
        found = [_with(arm.report, one, len(tested)) for arm, one in zip(tested, p)]
    after = dict(zip((arm.name for arm in tested), found))
    return [replace(arm, report=after.get(arm.name, arm.report)) for arm in arms]


def boots_needed(arms: int) -> Optional[int]:
    """How many boots an arm a test of so many arms needs; None where no number is enough."""
    tried = range(ENOUGH_BOOTS, _MOST)
    return next((n for n in tried if arms * permutation.smallest_p((n, n)) <= ALPHA), None)


def _untested(report: Report, arms: int) -> Report:
    """Where not even the clearest change of one arm would be a finding among so many."""
    boots = boots_needed(arms)
    needs = f"needs {boots} boots an arm" if boots else "cannot be made"
    why = f"{verdict.boot_words(report.boots)}; a test of {arms} arms {needs}"
    endpoints = tuple(replace(endpoint, p=None) for endpoint in report.endpoints)
    return replace(report, verdict=verdict.DESCRIPTIVE, why=why, endpoints=endpoints)


def _with(report: Report, p: float, arms: int) -> Report:
    endpoints = tuple(replace(e, p=p) if e.primary else e for e in report.endpoints)
    (primary,) = (endpoint for endpoint in endpoints if endpoint.primary)
    found = verdict.of(primary, report.boots)
    why = f"{found.why}; p is adjusted for {arms} arms"
    if found.word != report.verdict:
        why = f"{why}: alone this would be a change, among so many it is none"
    return replace(report, verdict=found.word, why=why, endpoints=endpoints)
