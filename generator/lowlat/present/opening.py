# SPDX-License-Identifier: GPL-2.0-or-later
"""The first screen of a page: the finding with its numbers, and where and when it was measured."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lowlat.claim.comparison import Comparison
from lowlat.claim.description import Description
from lowlat.claim.verdict import DESCRIPTIVE, INCREASED, REDUCED, REFUSED, UNCHANGED
from lowlat.figures.endpoint import DRAWN, INTERRUPTS, SUBJECTS, pooled
from lowlat.figures.measure import size
from lowlat.model.run import Run
from lowlat.present import arm_tables, summary, wording
from lowlat.present.drawn_arm import noisiest, quietest
from lowlat.present.plot import forest_plot
from lowlat.present.plot.figure import Figure
from lowlat.present.wording import in_counts, lasted, number, per, values

#: A page draws this many single CPUs of one arm, the noisiest.
_MOST_CPUS = 12

VERDICTS = {
    REDUCED: "Reduced",
    INCREASED: "Increased",
    UNCHANGED: "No measurable change",
    DESCRIPTIVE: "Described, not tested",
    REFUSED: "Not comparable",
}


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


def opening(comparison: Comparison) -> Opening:
    if comparison.described:
        return _of_arm(comparison, comparison.described)
    report = comparison.reports[quietest(comparison)]
    headline, basis = summary.headline(comparison), ""
    if not comparison.several:
        # The finding's basis is too long for the large font.
        headline, basis = wording.finding(report)
    return Opening(
        verdict="several" if comparison.several else report.verdict,
        badge=f"{len(comparison.arms)} arms" if comparison.several else VERDICTS[report.verdict],
        headline=headline,
        basis=basis,
        numbers=tuple(numbers(comparison)),
        figures=forest_plot.figure(comparison),
        facts=_facts(comparison),
    )


def _of_arm(comparison: Comparison, one: Description) -> Opening:
    headline, basis = arm_tables.finding(one)
    drawn = {cpu: one.get(one.primary, cpu) or 0.0 for cpu in noisiest(comparison, _MOST_CPUS)}
    return Opening(
        verdict="several" if one.complete and one.valid else "refused",
        badge=f"{one.runs} {'file' if one.tool else 'run'}{'s' if one.runs > 1 else ''}",
        headline=f"{headline}.",
        basis=basis,
        numbers=tuple(_numbers_of_arm(one)),
        figures=forest_plot.of_cpus(drawn, SUBJECTS[one.judged]) if drawn else (),
        facts=_facts(comparison),
    )


def _numbers_of_arm(description: Description) -> Iterator[Number]:
    for one in DRAWN:
        if (value := description.by_key.get(pooled(one).key())) is not None:
            of, shown = one.subject, number(value / size(one.unit))
            yield Number(of.name.lower(), "after", shown, of.each)


def _facts(comparison: Comparison) -> tuple[str, ...]:
    return tuple(filter(None, facts([run for arm in comparison.arms for run in arm.runs])))


def numbers(comparison: Comparison) -> Iterator[Number]:
    """The verdict's figure, for the first arm and for the quietest other arm."""
    best = comparison.reports[quietest(comparison)]
    end = best.primary
    if end:
        each = SUBJECTS[end.name].each
        unit = f"interrupts {each}" if end.name == INTERRUPTS else each
        if in_counts(end, best):
            unit = f"interrupts on each CPU {per(end, best)}"
        one, other = values(end, best)
        yield Number(comparison.first, "before", one, unit)
        yield Number(best.name, "after", other, unit)


def facts(runs: Sequence[Run]) -> Iterator[str]:
    """Where and when the runs were made, "" if unknown; if runs differ, all values are listed."""
    yield _listed(run.host.name for run in runs)
    yield _listed(run.host.processor or run.host.arch for run in runs)
    yield _listed(run.kernel_words for run in runs)
    days = sorted({run.started[:10] for run in runs} - {""})
    seconds = _listed(lasted(run.duration_s) for run in runs if run.duration_s)
    count = f"{len(runs)} run{'s' if len(runs) > 1 else ''}{' of ' if seconds else ''}{seconds}"
    yield ", ".join(filter(None, (count, " to ".join(dict.fromkeys((*days[:1], *days[-1:]))))))


def _listed(values: Iterable[str]) -> str:
    return " | ".join(filter(None, dict.fromkeys(values)))
