# SPDX-License-Identifier: GPL-2.0-or-later
"""The content of a page, the finding first."""

from typing import Optional

from lowlat.claim.comparison import Comparison
from lowlat.claim.description import Description
from lowlat.figures.figures import CAUSES
from lowlat.model.cpuset import CpuSet
from lowlat.present import method, next_steps, settings_table, summary
from lowlat.present.drawn_arm import (
    Group,
    common_cpus,
    drawn,
    emulated,
    noisiest,
    quietest,
    remedies,
)
from lowlat.present.opening import opening
from lowlat.present.plot import parts
from lowlat.present.plot.figure import Cell, Data
from lowlat.present.sections import of_comparison

#: A page has the figures of at most this many single CPUs; ``--csv`` writes those of all.
_MOST_CPUS = 64


def page_context(group: Group, place: int = 0) -> dict[str, object]:
    """The content of a page, or of part ``place`` of it (from 1), by its templates' names; pure.

    ``prefix`` makes the part's anchors unique on the page, ``spoken`` its labels for screen
    readers. ``arms`` are the drawn ones. ``endpoints`` are the figures over all CPUs and of the
    noisiest; ``others`` counts the CPUs left out. verify did not check boots of ``unlooked`` arms.
    """
    comparison, plan = group.comparison, group.plan
    reasons = settings_table.reasons(plan, comparison.arms)
    return {
        "prefix": f"g{place}-" if place else "",
        "spoken": f"{place}. {group.title}: " if place else "",
        "title": group.title,
        "names": [arm.name for arm in comparison.arms],
        "arms": drawn(comparison),
        "opening": opening(comparison),
        "emulated": emulated(comparison),
        "flags": list(summary.notes(comparison)),
        "sections": list(of_comparison(comparison, reasons.names)),
        # An arm by itself has no interval and no p.
        "endpoints": endpoint_data(comparison, noisiest(comparison, _MOST_CPUS))
        if comparison.reports
        else Data("", (), ()),
        "others": max(len(common_cpus(comparison)) - _MOST_CPUS, 0),
        "reasons": reasons,
        "changes": list(settings_table.changes(comparison.arms)) if comparison.several else (),
        "effects": settings_table.effects(comparison.arms),
        "unlooked": [arm.name for arm in comparison.arms[1:] if arm.effect is None],
        "missing": list(summary.missing(comparison)),
        "steps": next_steps.steps(comparison, plan, _left(comparison), group.offered),
        "method": method.about(comparison),
        "facts": method.facts(comparison.arms),
        "runs": method.runs(comparison.arms),
    }


def _left(comparison: Comparison) -> Optional[parts.Part]:
    """The largest cause of noise in the quietest arm, if its runs were traced."""
    if not common_cpus(comparison):
        return None
    arm = (comparison.arms[1:] or comparison.arms)[quietest(comparison)]
    return parts.largest(summary.parts(comparison, arm.name, CAUSES), remedies(arm.runs))


def endpoint_data(comparison: Comparison, cpus: Optional[CpuSet] = None) -> Data:
    """The figures of all arms, one per row; for single CPUs only those in ``cpus``, or all."""
    if comparison.described:
        return _described_data(comparison.described)
    header = (
        *("arm", "name", "unit", "cpu", "before", "after", "ratio", "ratio_at_least"),
        *("ci95_low", "ci95_high", "p", "primary"),
    )
    rows: list[tuple[Cell, ...]] = []
    for report in comparison.reports:
        for e in report.endpoints:
            if cpus is not None and e.cpu != "all" and e.cpu not in cpus:
                continue
            low, high = e.ci95 or (None, None)
            known = (e.before, e.after, e.ratio, e.ratio_at_least, low, high, e.p)
            numbers = ("" if value is None else value for value in known)
            rows.append(
                (report.name, e.key.text, e.unit, str(e.cpu), *numbers, str(e.primary).lower())
            )
    return Data("figures.csv", header, rows)


def _described_data(description: Description) -> Data:
    rows = [
        (description.label, one.key.text, one.unit, str(one.key.cpu), one.value)
        for one in description.figures
    ]
    return Data("figures.csv", ("arm", "name", "unit", "cpu", "value"), rows)
