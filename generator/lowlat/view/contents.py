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
from lowlat.view.arm import Group, ViewArm, legend
from lowlat.view.next_steps import NextStep
from lowlat.view.plot import stacked_bars
from lowlat.view.plot.figure import Cell, Data
from lowlat.view.sections import COUNTED, Section, sections
from lowlat.view.selection import common_cpus, emulated, noisiest, quietest
from lowlat.view.settings import Effect, SettingReasons

#: A page carries the figures of so many single CPUs; ``--csv`` writes those of all.
_MOST_CPUS = 64

_EMULATED = "The runs were made under emulation: time there is the host's, and no duration is told."

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
    sides: Sequence[ViewArm]
    verdict: str
    badge: str
    headline: str
    #: What to know before anything else, "" where there is nothing.
    remark: str
    flags: tuple[str, ...]
    sections: tuple[Section, ...]
    #: What the sides look like in the drawings: a kind of the style sheet, and a name.
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
    sentences: tuple[str, ...]
    facts: Table
    runs: Table


def tell(group: Group, place: int = 0) -> PageContents:
    """The content of a page, or of its part at this place, from 1. Pure: everything was read."""
    found, sides, plan = group.found, group.sides, group.plan
    best = quietest(found)
    report = found.arms[best].report
    reasons = settings.reasons(plan, sides)
    effects = settings.effects(sides)
    left = _left(found, sides[best + 1])
    several = len(found.arms) > 1
    return PageContents(
        prefix=f"g{place}-" if place else "",
        spoken=f"{place}. {group.title}: " if place else "",
        title=group.title,
        sides=sides,
        verdict=report.verdict if not several else "several",
        badge=f"{len(found.arms)} arms" if several else _VERDICTS[report.verdict],
        headline=summary.headline(found),
        remark=f"{_EMULATED} {COUNTED}" if emulated(found) else "",
        flags=tuple(summary.notes(found)),
        sections=tuple(sections(found, sides, reasons.names)),
        legend=legend(sides),
        endpoints=endpoint_data(found, noisiest(found, _MOST_CPUS)),
        others=max(len(common_cpus(found)) - _MOST_CPUS, 0),
        reasons=reasons,
        changes=tuple(settings.changes(sides)) if several else (),
        effects=effects,
        unlooked=tuple(side.name for side in sides[1:] if side.effect is None),
        missing=tuple(summary.missing(found)),
        steps=next_steps.steps(found, looked=bool(effects), plan=plan, cause=left),
        sentences=tuple(method.sentences(found)),
        facts=method.facts(sides),
        runs=method.runs(sides),
    )


def _left(found: Comparison, side: ViewArm) -> Optional[str]:
    """What made most of the noise on a side."""
    cpus = common_cpus(found)
    return stacked_bars.largest(stacked_bars.causes([side], cpus), 0) if cpus else None


def endpoint_data(found: Comparison, cpus: Optional[CpuSet] = None) -> Data:
    """The figures of all arms, a row each; of single CPUs those given, or all of them."""
    header = (
        *("arm", "name", "unit", "cpu", "before", "after", "ratio", "ratio_at_least"),
        *("ci95_low", "ci95_high", "p", "primary"),
    )
    rows: list[tuple[Cell, ...]] = []
    for arm in found.arms:
        for e in arm.report.endpoints:
            if cpus is not None and e.cpu != "all" and e.cpu not in cpus:
                continue
            low, high = e.ci95 or (None, None)
            known = (e.before, e.after, e.ratio, e.ratio_at_least, low, high, e.p)
            numbers = ("" if value is None else value for value in known)
            rows.append((arm.name, e.name, e.unit, str(e.cpu), *numbers, str(e.primary).lower()))
    return Data("figures.csv", header, rows)
