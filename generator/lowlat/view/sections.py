# SPDX-License-Identifier: GPL-2.0-or-later
"""The sections of a page with figures: tables and drawings. Empty sections are left out."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import fmean, median
from typing import Callable

from lowlat.model.cpuset import CpuSet
from lowlat.model.run import Comb
from lowlat.report import arm_tables, summary, tables
from lowlat.report.comparison import Comparison
from lowlat.report.endpoint import DRAWN, INTERRUPTS
from lowlat.report.figures import CAUSES
from lowlat.report.tables import Table, with_rows
from lowlat.report.wording import number
from lowlat.view import costs
from lowlat.view.arm import ViewArm, common_cpus, drawn, emulated, noisiest
from lowlat.view.plot import histogram, machine, parts, run_series, time_series
from lowlat.view.plot.axis import short
from lowlat.view.plot.figure import Figure

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


def of_comparison(found: Comparison, names: Iterable[str]) -> Iterator[Section]:
    """The sections in reading order; ``names`` are the settings made."""
    arms, timed = drawn(found), not emulated(found)
    worst, rows = noisiest(found, _MOST_CPUS), partial(summary.parts, found)
    measured = RunsShown(arms, common_cpus(found), worst, rows, timed)
    stated = with_rows([costs.stated(names)])
    lost = [tables.throughput(found.reports)] if found.reports else []
    done = (*lost, costs.power(arms)) if timed else ()
    spent = Section("costs", tables=with_rows(done), words=stated)
    every = (_figures(found), *_of_runs(measured), spent)
    return (section for section in every if not section.empty)


def _figures(found: Comparison) -> Section:
    # Without the parts of the noise, which a drawing shows.
    if found.described:
        return Section("figures", tables=arm_tables.tables(found.described, parts=False))
    if not found.several:
        return Section("figures", tables=tables.figures(found.reports[0], parts=False))
    folds = (
        Fold(f"{found.first} and {report.name}", shown)
        for report in found.reports
        if (shown := tables.figures(report, parts=False))
    )
    return Section("figures", tables=summary.shown(found), folds=tuple(folds))


def _of_runs(found: RunsShown) -> Iterator[Section]:
    """The sections on the runs of one or more arms; some may be empty."""
    arms, cpus = found.arms, found.cpus
    if cpus:
        yield _sources(found)
        if found.timed:
            about = {"shown": len(found.shown), "of": len(cpus)}
            yield Section("histograms", histogram.figures(arms, found.shown), about=about)
        yield _over_time(found)
        yield Section("periods", words=with_rows([_periods(arms, cpus)]) if found.timed else ())
    last = arms[min(1, len(arms) - 1)]
    named = last.name if len(arms) > 2 else ""
    yield Section("machine", machine.figure(last.runs[-1]), about={"arm": named})


def _over_time(found: RunsShown) -> Section:
    inside = [time_series.NOISE, time_series.INTERRUPTS][0 if found.timed else 1 :]
    figures = [f for one in inside for f in time_series.figures(found.arms, found.cpus, one)]
    by_run = [one for one in DRAWN if one.durations is found.timed]
    figures += [f for one in by_run for f in run_series.figure(found.arms, found.cpus, one)]
    for cpu in found.shown if found.timed else ():
        figures += time_series.figures(found.arms, CpuSet.of([cpu]), time_series.pace_of(cpu))
    return Section("time", tuple(figures), about={"timed": found.timed})


def _sources(found: RunsShown) -> Section:
    causes, interrupts = (
        parts.whole(kind, {arm.name: found.parts(arm.name, kind) for arm in found.arms})
        for kind in (CAUSES, INTERRUPTS)
    )
    about = {
        "timed": found.timed,
        "named": bool(causes.parts),
        "unknown": [arm.name for arm in found.arms if arm.name not in causes.arms],
        "traced": {run.attribution.observer for arm in found.arms for run in arm.runs}
        <= {"trace", ""},
    }
    drawings = (*parts.figures(causes), *parts.figures(interrupts))
    return Section("causes", drawings, about=about)


#: The most periods on a page; the runs have all.
_MOST_PERIODS = 12


def _periods(arms: Sequence[ViewArm], cpus: CpuSet) -> Table:
    """The periodic gaps and their causes: a row each, the strongest first; no rows if none was
    found."""
    found = {arm.name: _combs(arm, cpus) for arm in arms}
    alike: dict[str, list[Comb]] = {}
    for comb in (comb for combs in found.values() for comb in combs):
        alike.setdefault(comb.name, []).append(comb)
    names = sorted(alike, key=lambda name: max(c.power for c in alike[name]), reverse=True)
    rows = (
        (
            f"{short(round(median(comb.frequency_hz for comb in alike[name]), 3))} Hz",
            *(name, _cause(alike[name])),
            *(_told([comb for comb in found[arm.name] if comb.name == name]) for arm in arms),
        )
        for name in names[:_MOST_PERIODS]
    )
    left = f"and {len(names) - _MOST_PERIODS} weaker ones" if len(names) > _MOST_PERIODS else ""
    header = ("frequency", "what comes at it", "mostly", *(arm.name for arm in arms))
    return Table(header, tuple(rows), left)


def _combs(arm: ViewArm, cpus: CpuSet) -> list[Comb]:
    known = (run.cpu(place).combs or () for run in arm.runs for place in cpus)
    return [comb for combs in known for comb in combs if comb.frequency_hz > 0]


def _cause(combs: Sequence[Comb]) -> str:
    causes = [comb.cause for comb in combs if comb.cause]
    return max(causes, key=causes.count) if causes else ""


def _told(combs: Sequence[Comb]) -> str:
    """The mean rate over the CPUs with this period."""
    return f"{number(fmean(comb.rate_per_s for comb in combs))}/s" if combs else "-"
