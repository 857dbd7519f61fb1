# SPDX-License-Identifier: GPL-2.0-or-later
"""Everything a page tells, the finding first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

from lowlat.model.cpuset import CpuSet
from lowlat.report import summary
from lowlat.report.comparison import Comparison
from lowlat.report.tables import Table
from lowlat.report.verdict import DESCRIPTIVE, INCREASED, REDUCED, REFUSED, UNCHANGED
from lowlat.view import method, next_steps, settings
from lowlat.view.arm import (
    Group,
    ViewArm,
    common_cpus,
    drawn,
    emulated,
    legend,
    noisiest,
    quietest,
)
from lowlat.view.method import Method
from lowlat.view.next_steps import NextStep
from lowlat.view.plot import stacked_bars
from lowlat.view.plot.figure import Cell, Data
from lowlat.view.sections import Section, sections
from lowlat.view.settings import Effect, SettingReasons

#: A page carries the figures of so many single CPUs; ``--csv`` writes those of all.
_MOST_CPUS = 64

_VERDICTS = {
    REDUCED: "Less noise",
    INCREASED: "More noise",
    UNCHANGED: "No measurable change",
    DESCRIPTIVE: "Described, not tested",
    REFUSED: "Not comparable",
}


@dataclass(frozen=True)
class PageContents:
    """Everything a page tells of a group. ``prefix`` makes its addresses its own on the page, and
    ``spoken`` its names for those who cannot see where they stand."""

    prefix: str
    spoken: str
    title: str
    arms: Sequence[ViewArm]
    verdict: str
    badge: str
    headline: str
    emulated: bool
    flags: tuple[str, ...]
    sections: tuple[Section, ...]
    #: What the arms look like in the drawings: a kind of the style sheet, and a name.
    legend: tuple[tuple[str, str], ...]
    #: The figures over all CPUs and of the noisiest ones; so many ``others`` have theirs not here.
    endpoints: Data
    others: int
    reasons: SettingReasons
    changes: tuple[Table, ...]
    #: What verify found in each arm, and the arms in which that was not checked.
    effects: tuple[Effect, ...]
    unlooked: tuple[str, ...]
    missing: tuple[str, ...]
    steps: tuple[NextStep, ...]
    method: Method
    facts: Table
    runs: Table


def tell(group: Group, place: int = 0) -> PageContents:
    """The content of a page, or of its part at this place, from 1. Pure: everything was read."""
    found, plan = group.found, group.plan
    arms, best = drawn(found), quietest(found)
    report = found.reports[best]
    reasons = settings.reasons(plan, arms)
    effects = settings.effects(arms)
    return PageContents(
        prefix=f"g{place}-" if place else "",
        spoken=f"{place}. {group.title}: " if place else "",
        title=group.title,
        arms=arms,
        verdict="several" if found.several else report.verdict,
        badge=f"{len(found.reports)} arms" if found.several else _VERDICTS[report.verdict],
        headline=summary.headline(found),
        emulated=emulated(found),
        flags=tuple(summary.notes(found)),
        sections=tuple(sections(found, reasons.names)),
        legend=legend(arms),
        endpoints=endpoint_data(found, noisiest(found, _MOST_CPUS)),
        others=max(len(common_cpus(found)) - _MOST_CPUS, 0),
        reasons=reasons,
        changes=tuple(settings.changes(arms)) if found.several else (),
        effects=effects,
        unlooked=tuple(arm.name for arm in arms[1:] if arm.effect is None),
        missing=tuple(summary.missing(found)),
        steps=next_steps.steps(found, plan, _left(found, arms[best + 1])),
        method=method.of(found),
        facts=method.facts(arms),
        runs=method.runs(arms),
    )


def _left(found: Comparison, arm: ViewArm) -> Optional[str]:
    """What made most of the noise of an arm."""
    cpus = common_cpus(found)
    return stacked_bars.largest(stacked_bars.causes([arm], cpus)) if cpus else None


def endpoint_data(found: Comparison, cpus: Optional[CpuSet] = None) -> Data:
    """The figures of all arms, a row each; of single CPUs those given, or all of them."""
    header = (
        *("arm", "name", "unit", "cpu", "before", "after", "ratio", "ratio_at_least"),
        *("ci95_low", "ci95_high", "p", "primary"),
    )
    rows: list[tuple[Cell, ...]] = []
    for report in found.reports:
        for e in report.endpoints:
            if cpus is not None and e.cpu != "all" and e.cpu not in cpus:
                continue
            low, high = e.ci95 or (None, None)
            known = (e.before, e.after, e.ratio, e.ratio_at_least, low, high, e.p)
            numbers = ("" if value is None else value for value in known)
            rows.append((report.name, e.name, e.unit, str(e.cpu), *numbers, str(e.primary).lower()))
    return Data("figures.csv", header, rows)
