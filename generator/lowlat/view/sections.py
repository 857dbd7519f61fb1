# SPDX-License-Identifier: GPL-2.0-or-later
"""The sections of a page that show figures: tables, drawings, and what is missing and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lowlat.model.cpuset import CpuSet
from lowlat.report import summary, tables
from lowlat.report.build import Report
from lowlat.report.comparison import Comparison
from lowlat.report.figures import ENDPOINTS, OBSERVATIONS
from lowlat.report.tables import Table
from lowlat.view import costs
from lowlat.view.arm import ViewArm, many
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
from lowlat.view.selection import common_cpus, comparing, emulated, noisiest

#: What is told of runs under emulation.
COUNTED = (
    "Interrupts per second, by source, are the endpoint that emulation leaves meaningful: they "
    "are counted, not timed."
)

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
    """A part of the page; ``remarks`` say what is not in it and why, and how to have it."""

    id: str
    title: str
    lead: str = ""
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    remarks: tuple[str, ...] = ()
    #: Tables of words rather than numbers.
    words: tuple[Table, ...] = ()
    folds: tuple[Fold, ...] = ()
    #: What tells the sides apart in the drawings: curve, mark, or "" where nothing does.
    key: str = ""


def sections(
    found: Comparison, sides: Sequence[ViewArm], names: Iterable[str]
) -> Iterator[Section]:
    """The sections in the order in which they are read; ``names`` are the settings made."""
    if len(found.arms) > 1:
        yield _overview(found)
    found, sides = comparing(found, sides)
    cpus = common_cpus(found)
    if cpus:
        yield _figures(found)
        yield _histograms(found, sides, cpus)
        yield _over_time(found, sides, cpus)
        yield _sources(found, sides, cpus)
        yield _periods(found, sides, cpus)
    lead = f"In the last run of {sides[1].name}." if len(found.arms) > 1 else ""
    drawn = machine.figure(sides[1].details[-1])
    yield Section("machine", "The machine and its roles", lead, drawn)
    measured = costs.measured(found, sides)
    yield Section(
        "costs",
        "What it costs",
        tables=tuple(table for table in measured if table.rows),
        words=tuple(costs.stated(names)),
        remarks=tuple(costs.unknown(*measured)),
    )


def _overview(found: Comparison) -> Section:
    return Section(
        "overview",
        "All arms at a glance",
        figures=forest_plot.figure(found),
        tables=(summary.table(found),),
    )


def _figures(found: Comparison) -> Section:
    title = "In figures"
    if len(found.arms) == 1:
        return Section("figures", title, tables=tables.figures(found.arms[0].report))
    folds = (
        Fold(f"{found.first} and {arm.name}", shown)
        for arm in found.arms
        if (shown := tables.figures(arm.report))
    )
    return Section("figures", title, folds=tuple(folds))


def _histograms(found: Comparison, sides: Sequence[ViewArm], cpus: CpuSet) -> Section:
    title = "Histograms of latency"
    if emulated(found):
        why = "The runs were made under emulation, where durations mean nothing: none is drawn."
        return Section("histograms", title, remarks=(why,))
    shown = noisiest(found, _MOST_CPUS)
    drawn = histogram.figures(sides, shown)
    lead = (
        "How often a CPU was away from its work, over how long it was away; both axes are "
        "logarithmic, 20 bins a decade. Further left and lower is quieter; a mark on the lower "
        "axis is the longest gap."
        f"{' Each arm beside the first, all CPUs together.' if many(sides) else ''}"
    )
    left = len(cpus) - len(shown)
    remarks = [f"The {len(shown)} noisiest CPUs; {left} more are in the runs."] if left else []
    if not drawn:
        return Section("histograms", title, remarks=(*remarks, "The runs hold no histogram."))
    return Section("histograms", title, lead, drawn, remarks=tuple(remarks), key="curve")


def _over_time(found: Comparison, sides: Sequence[ViewArm], cpus: CpuSet) -> Section:
    drawn = tuple(
        figure
        for shown in _shown(found.arms[0].report)
        for figure in run_series.figure(sides, cpus, shown)
    )
    title = "Interrupts over time" if emulated(found) else "Noise over time"
    shown = (
        [time_series.INTERRUPTS] if emulated(found) else [time_series.NOISE, time_series.INTERRUPTS]
    )
    if many(sides):
        inside = time_series.figures(sides, cpus, shown[0])
        folds = (Fold("Within a run, each arm beside the first", figures=inside),) if inside else ()
        return Section("time", title, _lead(inside), drawn, folds=folds, key="mark")
    inside = tuple(figure for one in shown for figure in time_series.figures(sides, cpus, one))
    return Section("time", title, _lead(inside), (*inside, *drawn), key="mark")


def _lead(inside: Sequence[Figure]) -> str:
    if inside:
        return "Within a run, and run by run as they were made."
    return (
        "Run by run, as they were made. These runs hold no figures of single seconds: the harness "
        "kept none, or they were too short."
    )


def _shown(report: Report) -> Iterator[run_series.RunQuantity]:
    if report.primary is not None and not report.emulated:
        yield run_series.RunQuantity(_MEASURES["noise_ppm"], "Noise", "ppm of the time")
        yield run_series.RunQuantity(_MEASURES["max_ns"], "Longest gap", "us", 1e3)
    yield run_series.RunQuantity(_MEASURES["interrupts_per_s"], "Interrupts", "a second")


def _sources(found: Comparison, sides: Sequence[ViewArm], cpus: CpuSet) -> Section:
    observers = {side.name: {detail.observer for detail in side.details} for side in sides}
    known = [side for side in sides if observers[side.name] != {""} and not emulated(found)]
    traced = stacked_bars.figures(stacked_bars.causes(known, cpus))
    drawn = (*traced, *stacked_bars.figures(stacked_bars.interrupts(found, sides)))
    lead = COUNTED if emulated(found) else ""
    return Section("causes", "Causes", lead, drawn, remarks=tuple(_unnamed(traced, observers)))


def _unnamed(traced: Sequence[Figure], observers: Mapping[str, set[str]]) -> Iterator[str]:
    unknown = [name for name, found in observers.items() if found == {""}]
    if traced and unknown:
        yield f"Of the runs {', '.join(unknown)} no causes were recorded, so they have no bar."
    if traced and not set().union(*observers.values()) <= {"trace", ""}:
        yield (
            "Not every run was traced by the kernel: without the trace only the threads that took "
            "a CPU are known, not what interrupted it."
        )
    if not traced:
        yield (
            "The runs name no causes of single gaps ('lowlat-gen measure --causes' as root tells "
            "them). The bars count interrupts by the row of /proc/interrupts, which tells how "
            "often, not how long."
        )


def _periods(found: Comparison, sides: Sequence[ViewArm], cpus: CpuSet) -> Section:
    title = "What comes back at a fixed period"
    if emulated(found):
        return Section("periods", title, remarks=("Under emulation no period can be trusted.",))
    drawn = periods.figure(sides, cpus)
    lead = (
        "A comb is a set of gaps that follow each other at one period: the kernel's tick, its "
        "watchdogs, its housekeeping. What stands out further is less likely to be chance."
    )
    if drawn:
        return Section("periods", title, lead, drawn, key="mark")
    looked = any(detail.combs for side in sides for detail in side.details)
    nothing = "No period was found on any of these CPUs."
    how = (
        "The runs were not searched for periods: 'lowlat-gen measure' does that unless "
        "--no-causes is given."
    )
    return Section("periods", title, remarks=(nothing if looked else how,))
