# SPDX-License-Identifier: GPL-2.0-or-later
"""The sections of a page that show figures: their tables and drawings, and what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lowlat.model.cpuset import CpuSet
from lowlat.report import summary, tables
from lowlat.report.build import Report
from lowlat.report.comparison import Comparison
from lowlat.report.figures import ENDPOINTS, OBSERVATIONS
from lowlat.report.tables import Table
from lowlat.view import costs
from lowlat.view.arm import ViewArm, common_cpus, comparing, emulated, many, noisiest
from lowlat.view.plot import (
    forest_plot,
    histogram,
    machine,
    periods,
    run_series,
    stacked_bars,
    time_series,
)
from lowlat.view.plot.figure import Figure

#: A page shows the histograms of so many CPUs, the worst after.
_MOST_CPUS = 12

_MEASURES = {measure.name: measure for measure in (*ENDPOINTS, *OBSERVATIONS)}


@dataclass(frozen=True)
class Fold:
    """Tables and drawings that are folded away below their title."""

    title: str
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()


@dataclass(frozen=True)
class Section:
    """A part of the page. Its title and its words are the template's (sections.html.j2), and
    ``about`` is what they depend on; ``words`` are tables of words rather than numbers."""

    id: str
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    words: tuple[Table, ...] = ()
    folds: tuple[Fold, ...] = ()
    about: Mapping[str, object] = field(default_factory=dict)


def sections(found: Comparison, names: Iterable[str]) -> Iterator[Section]:
    """The sections in the order in which they are read; ``names`` are the settings made."""
    if found.several:
        yield Section("overview", forest_plot.figure(found), (summary.table(found),))
    found, arms = comparing(found)
    cpus, timed = common_cpus(found), not emulated(found)
    if cpus:
        yield _figures(found)
        shown = noisiest(found, _MOST_CPUS)
        drawn = histogram.figures(arms, shown) if timed else ()
        about = {"timed": timed, "many": many(arms), "shown": len(shown), "of": len(cpus)}
        yield Section("histograms", drawn, about=about)
        yield _over_time(found.reports[0], arms, cpus, timed=timed)
        yield _sources(found, arms, cpus, timed=timed)
        looked = any(cpu.combs for arm in arms for run in arm.runs for cpu in run.cpus)
        drawn = periods.figure(arms, cpus) if timed else ()
        yield Section("periods", drawn, about={"timed": timed, "looked": looked})
    last = {"arm": arms[1].name if found.several else ""}
    yield Section("machine", machine.figure(arms[1].runs[-1]), about=last)
    done, power = tables.throughput(found.reports), costs.power(arms)
    yield Section(
        "costs",
        tables=tuple(table for table in (done, power) if table.rows),
        words=tuple(costs.stated(names)),
        about={"done": bool(done.rows), "power": bool(power.rows)},
    )


def _figures(found: Comparison) -> Section:
    if not found.several:
        return Section("figures", tables=tables.figures(found.reports[0]))
    folds = (
        Fold(f"{found.first} and {report.name}", shown)
        for report in found.reports
        if (shown := tables.figures(report))
    )
    return Section("figures", folds=tuple(folds))


def _over_time(first: Report, arms: Sequence[ViewArm], cpus: CpuSet, *, timed: bool) -> Section:
    by_run = [figure for one in _shown(first) for figure in run_series.figure(arms, cpus, one)]
    shown = [time_series.NOISE, time_series.INTERRUPTS] if timed else [time_series.INTERRUPTS]
    within = [time_series.figures(arms, cpus, one) for one in shown[: 1 if many(arms) else None]]
    inside = tuple(figure for figures in within for figure in figures)
    about = {"timed": timed, "inside": bool(inside)}
    if many(arms):
        folds = (Fold("Within a run, each arm beside the first", figures=inside),) if inside else ()
        return Section("time", tuple(by_run), folds=folds, about=about)
    return Section("time", (*inside, *by_run), about=about)


def _shown(report: Report) -> Iterator[run_series.RunQuantity]:
    if report.primary is not None and not report.emulated:
        yield run_series.RunQuantity(_MEASURES["noise_ppm"], "Noise", "ppm of the time")
        yield run_series.RunQuantity(_MEASURES["max_ns"], "Longest gap", "us", 1e3)
    yield run_series.RunQuantity(_MEASURES["interrupts_per_s"], "Interrupts", "a second")


def _sources(found: Comparison, arms: Sequence[ViewArm], cpus: CpuSet, *, timed: bool) -> Section:
    observers = {arm.name: {run.attribution.observer for run in arm.runs} for arm in arms}
    known = [arm for arm in arms if observers[arm.name] != {""} and timed]
    traced = stacked_bars.figures(stacked_bars.causes(known, cpus))
    about = {
        "timed": timed,
        "named": bool(traced),
        "unknown": [name for name, own in observers.items() if own == {""}],
        "traced": set().union(*observers.values()) <= {"trace", ""},
    }
    counted = stacked_bars.figures(stacked_bars.interrupts(found, arms))
    return Section("causes", (*traced, *counted), about=about)
