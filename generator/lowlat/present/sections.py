# SPDX-License-Identifier: GPL-2.0-or-later
"""The sections of a page with figures: tables and drawings. Empty sections are left out."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Callable

from lowlat.claim.comparison import Comparison
from lowlat.figures.beside import PERIODS
from lowlat.figures.endpoint import DRAWN, INTERRUPTS
from lowlat.figures.figures import CAUSES
from lowlat.model.cpuset import CpuSet
from lowlat.present import arm_tables, costs, summary, tables
from lowlat.present.drawn_arm import ViewArm, common_cpus, drawn, emulated, noisiest, remedies
from lowlat.present.plot import cpu_roles, gap_histogram, parts, run_series, time_series
from lowlat.present.plot.figure import Figure
from lowlat.present.tables import Table, with_rows
from lowlat.present.wording import number

#: A page shows the histograms of this many CPUs, the worst after.
_MOST_CPUS = 12


@dataclass(frozen=True)
class Fold:
    """Tables folded away below a title."""

    title: str
    tables: tuple[Table, ...]


@dataclass(frozen=True)
class Section:
    """A part of the page. The template has its title and text (sections.html.j2), which depend on
    ``about``; ``words`` are tables of words rather than numbers."""

    id: str
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    words: tuple[Table, ...] = ()
    folds: tuple[Fold, ...] = ()
    about: Mapping[str, object] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        return not (self.figures or self.tables or self.words or self.folds)


@dataclass(frozen=True)
class RunsShown:
    """The runs to draw: arms, the CPUs measured in all of them, the CPUs that are drawn, and
    the figures of a kind by row for an arm's name and the kind. Durations are drawn only if
    ``timed``."""

    arms: Sequence[ViewArm]
    cpus: CpuSet
    shown: CpuSet
    parts: Callable[[str, str], Mapping[str, float]]
    timed: bool


def of_comparison(comparison: Comparison, names: Iterable[str]) -> Iterator[Section]:
    """The sections in reading order; ``names`` are the settings made."""
    arms, timed = drawn(comparison), not emulated(comparison)
    worst, rows = noisiest(comparison, _MOST_CPUS), partial(summary.parts, comparison)
    measured = RunsShown(arms, common_cpus(comparison), worst, rows, timed)
    stated = with_rows([costs.stated(names)])
    lost = [tables.throughput(comparison.reports)] if comparison.reports else []
    done = (*lost, costs.power(arms, rows)) if timed else ()
    spent = Section("costs", tables=with_rows(done), words=stated)
    every = (_figures(comparison), *_of_runs(measured), spent)
    return (section for section in every if not section.empty)


def _figures(comparison: Comparison) -> Section:
    # Without the parts of the noise, which a drawing shows.
    asked = summary.asked(comparison)
    if comparison.described:
        own = arm_tables.tables(comparison.described, parts=False)
        return Section("figures", tables=(*asked, *own))
    if not comparison.several:
        own = tables.figures(comparison.reports[0], parts=False)
        return Section("figures", tables=(*asked, *own))
    folds = (
        Fold(f"{comparison.first} and {report.name}", shown)
        for report in comparison.reports
        if (shown := tables.figures(report, parts=False))
    )
    return Section("figures", tables=summary.shown(comparison), folds=tuple(folds))


def _of_runs(runs: RunsShown) -> Iterator[Section]:
    """The sections on the runs of one or more arms; some may be empty."""
    arms, cpus = runs.arms, runs.cpus
    if cpus:
        yield _sources(runs)
        if runs.timed:
            about = {"shown": len(runs.shown), "of": len(cpus)}
            yield Section("histograms", gap_histogram.figures(arms, runs.shown), about=about)
        yield _over_time(runs)
        yield Section("periods", words=with_rows([_periods(runs)]) if runs.timed else ())
    last = arms[min(1, len(arms) - 1)]
    named = last.name if len(arms) > 2 else ""
    yield Section("machine", cpu_roles.figure(last.runs[-1]), about={"arm": named})


def _over_time(runs: RunsShown) -> Section:
    inside = [time_series.NOISE, time_series.INTERRUPTS][0 if runs.timed else 1 :]
    figures = [f for one in inside for f in time_series.figures(runs.arms, runs.cpus, one)]
    by_run = [one for one in DRAWN if one.durations is runs.timed]
    figures += [f for one in by_run for f in run_series.figure(runs.arms, runs.cpus, one)]
    for cpu in runs.shown if runs.timed else ():
        for drawn_of in (time_series.pace_of, time_series.frequency_of):
            figures += time_series.figures(runs.arms, CpuSet.of([cpu]), drawn_of(cpu))
    return Section("time", tuple(figures), about={"timed": runs.timed})


def _sources(runs: RunsShown) -> Section:
    removes = remedies(run for arm in runs.arms for run in arm.runs)
    causes, interrupts = (
        parts.whole(kind, {arm.name: runs.parts(arm.name, kind) for arm in runs.arms}, removes)
        for kind in (CAUSES, INTERRUPTS)
    )
    about = {
        "timed": runs.timed,
        "named": bool(causes.parts),
        "unknown": [arm.name for arm in runs.arms if arm.name not in causes.arms],
        "traced": {run.attribution.observer for arm in runs.arms for run in arm.runs}
        <= {"trace", ""},
    }
    drawings = (*parts.figures(causes), *parts.figures(interrupts))
    return Section("causes", drawings, about=about)


def _periods(runs: RunsShown) -> Table:
    """The periodic gaps by cause, the most frequent first; no rows if none was found."""
    by_arm = {arm.name: runs.parts(arm.name, PERIODS) for arm in runs.arms}
    each = by_arm.values()
    found = {name for own in each for name in own}
    names = sorted(found, key=lambda name: (-sum(own.get(name, 0.0) for own in each), name))
    rows = tuple(
        (name, *(number(own[name]) if name in own else "-" for own in each)) for name in names
    )
    return Table(("gaps that recur, /s", *by_arm), rows)
