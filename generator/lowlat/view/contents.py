# SPDX-License-Identifier: GPL-2.0-or-later
"""The content of a page, the finding first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Optional

from lowlat.model.cpuset import CpuSet
from lowlat.model.run import Run
from lowlat.report import summary, wording
from lowlat.report.comparison import Comparison
from lowlat.report.endpoint import SUBJECTS
from lowlat.report.figures import CAUSES
from lowlat.report.verdict import DESCRIPTIVE, INCREASED, REDUCED, REFUSED, UNCHANGED
from lowlat.report.wording import in_counts, per, values
from lowlat.view import method, next_steps, settings
from lowlat.view.arm import Group, common_cpus, drawn, emulated, noisiest, quietest
from lowlat.view.plot import forest_plot, parts
from lowlat.view.plot.figure import Cell, Data, Figure
from lowlat.view.sections import of_comparison

#: A page has the figures of at most this many single CPUs; ``--csv`` writes those of all.
_MOST_CPUS = 64

VERDICTS = {
    REDUCED: "Reduced",
    INCREASED: "Increased",
    UNCHANGED: "No measurable change",
    DESCRIPTIVE: "Described, not tested",
    REFUSED: "Not comparable",
}


def tell(group: Group, place: int = 0) -> dict[str, object]:
    """The content of a page, or of part ``place`` of it (from 1), by its templates' names; pure.

    ``prefix`` makes the part's anchors unique on the page, ``spoken`` its labels for screen
    readers. ``arms`` are the drawn ones. ``endpoints`` are the figures over all CPUs and of the
    noisiest; ``others`` counts the CPUs left out. verify did not check boots of ``unlooked`` arms.
    """
    found, plan = group.found, group.plan
    reasons = settings.reasons(plan, found.arms)
    return {
        "prefix": f"g{place}-" if place else "",
        "spoken": f"{place}. {group.title}: " if place else "",
        "title": group.title,
        "names": [arm.name for arm in found.arms],
        "arms": drawn(found),
        "opening": _opening(found),
        "emulated": emulated(found),
        "flags": list(summary.notes(found)),
        "sections": list(of_comparison(found, reasons.names)),
        "endpoints": endpoint_data(found, noisiest(found, _MOST_CPUS)),
        "others": max(len(common_cpus(found)) - _MOST_CPUS, 0),
        "reasons": reasons,
        "changes": list(settings.changes(found.arms)) if found.several else (),
        "effects": settings.effects(found.arms),
        "unlooked": [arm.name for arm in found.arms[1:] if arm.effect is None],
        "missing": list(summary.missing(found)),
        "steps": next_steps.steps(found, plan, _left(found)),
        "method": method.about(found),
        "facts": method.facts(found.arms),
        "runs": method.runs(found.arms),
    }


def _opening(found: Comparison) -> Opening:
    report = found.reports[quietest(found)]
    headline, basis = summary.headline(found), ""
    if not found.several:
        # The finding's basis is too long for the large font.
        headline, basis = wording.finding(report)
    return Opening(
        verdict="several" if found.several else report.verdict,
        badge=f"{len(found.arms)} arms" if found.several else VERDICTS[report.verdict],
        headline=headline,
        basis=basis,
        numbers=tuple(numbers(found)),
        figures=forest_plot.figure(found),
        facts=tuple(filter(None, facts([run for arm in found.arms for run in arm.runs]))),
    )


def _left(found: Comparison) -> Optional[str]:
    """The largest cause of noise in the quietest arm, if its runs were traced."""
    cpus, arm = common_cpus(found), found.arms[quietest(found) + 1]
    return parts.largest(summary.parts(found, arm.name, CAUSES)) if cpus else None


def endpoint_data(found: Comparison, cpus: Optional[CpuSet] = None) -> Data:
    """The figures of all arms, one per row; for single CPUs only those in ``cpus``, or all."""
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
            rows.append(
                (report.name, e.key.text, e.unit, str(e.cpu), *numbers, str(e.primary).lower())
            )
    return Data("figures.csv", header, rows)


@dataclass(frozen=True)
class Number:
    """A figure in large print: its arm, and the class that sets its colour."""

    name: str
    kind: str
    value: str
    unit: str


@dataclass(frozen=True)
class Opening:
    """``badge`` is the verdict in two words, ``verdict`` its class in the style sheet; ``basis`` is
    the headline's basis; ``facts`` are the host, the processor, the kernel and the dates."""

    verdict: str
    badge: str
    headline: str
    basis: str
    numbers: tuple[Number, ...]
    figures: tuple[Figure, ...]
    facts: tuple[str, ...]


def numbers(found: Comparison) -> Iterator[Number]:
    """The verdict's figure, for the first arm and for the quietest other arm."""
    best = found.reports[quietest(found)]
    end = best.primary
    if end:
        counts = f"interrupts on each CPU {per(end, best)}"
        each = SUBJECTS[end.name].each
        each = f"interrupts {each}" if end.unit == "1/s" else each
        unit = counts if in_counts(end, best) else each
        one, other = values(end, best)
        yield Number(found.first, "before", one, unit)
        yield Number(best.name, "after", other, unit)


def facts(runs: Sequence[Run]) -> Iterator[str]:
    """Where and when the runs were made, "" if unknown; if runs differ, all values are listed."""
    yield _listed(run.host.name for run in runs)
    yield _listed(run.host.processor or run.host.arch for run in runs)
    yield _listed(run.kernel_words for run in runs)
    days = sorted({run.started[:10] for run in runs})
    seconds = _listed(f"{run.duration_s:g} s" for run in runs)
    count = f"{len(runs)} run{'s' if len(runs) > 1 else ''} of {seconds}"
    yield f"{count}, {' to '.join(dict.fromkeys((days[0], days[-1])))}"


def _listed(values: Iterable[str]) -> str:
    return " | ".join(dict.fromkeys(values))
