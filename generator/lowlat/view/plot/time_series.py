# SPDX-License-Identifier: GPL-2.0-or-later
"""A figure over the time of a run: for each arm the typical run as a line, and the band in which
all of its runs lie."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from statistics import median
from typing import Callable, Optional

from lowlat.model.cpuset import CpuSet
from lowlat.model.run import Run, Series
from lowlat.view.arm import ViewArm, many
from lowlat.view.plot.axis import END, FLOOR, LEFT, TOP, Axis, Linear, fitting, short
from lowlat.view.plot.figure import Cell, Data, Figure

_Points = list[tuple[float, float]]

#: A drawing has room for so many stretches.
_MOST = 120


@dataclass(frozen=True)
class SeriesQuantity:
    """What is drawn: of a step's counts those that ``of`` takes, ``scale`` times a second."""

    name: str
    title: str
    unit: str
    of: Callable[[Series], Sequence[float]]
    scale: float = 1.0


NOISE = SeriesQuantity("noise", "Noise", "ppm of the time", lambda series: series.noise_ns, 1e-3)
INTERRUPTS = SeriesQuantity(
    "interrupts", "Interrupts", "a second", lambda series: series.interrupts
)


@dataclass(frozen=True)
class Band:
    """One arm: in each stretch the least, the median and the greatest of its runs, None where no
    run reaches."""

    arm: ViewArm
    runs: int
    values: tuple[Optional[tuple[float, float, float]], ...]


@dataclass(frozen=True)
class Bands:
    """The bands of all arms that know a figure, in stretches with these ends."""

    shown: SeriesQuantity
    edges: tuple[float, ...]
    bands: tuple[Band, ...]


def figures(arms: Sequence[ViewArm], cpus: CpuSet, shown: SeriesQuantity) -> tuple[Figure, ...]:
    """One drawing, or of many() arms one of each beside the first, all of them on the same axes;
    none where no run is known in two steps at least."""
    found = _bands(arms, cpus, shown)
    if found is None:
        return ()
    every = [v for band in found.bands for values in band.values if values for v in values]
    upward = fitting(every, FLOOR, TOP)
    if not many(arms):
        return (_figure(f"{shown.title} over the time of a run", "", found, upward),)
    first = [band for band in found.bands if band.arm is arms[0]]
    pairs = ((one.arm.name, (*first, one)) for one in found.bands if one.arm is not arms[0])
    return tuple(
        _figure(f"{shown.title}, {name}", f"-{name}", replace(found, bands=pair), upward)
        for name, pair in pairs
    )


def _figure(title: str, of: str, found: Bands, upward: Axis) -> Figure:
    across = Linear(found.edges[-1], LEFT, END)
    edges = [across.at(edge) for edge in found.edges]
    told = "; ".join(_told(band, found.shown) for band in found.bands)
    chart = {
        "label": f"{title}: {told}.",
        "across": across,
        "upward": upward,
        "unit": found.shown.unit,
        "bands": [(band.arm, *_outlines(band, edges, upward)) for band in found.bands],
    }
    return Figure("time_series", title, _caption(found), chart, _data(found, of))


def _bands(arms: Sequence[ViewArm], cpus: CpuSet, shown: SeriesQuantity) -> Optional[Bands]:
    curves = [(arm, [c for run in arm.runs if (c := _curve(run, cpus, shown))]) for arm in arms]
    known = [curve for _, own in curves for curve in own]
    stretches = min(max((len(curve.ends) - 1 for curve in known), default=0), _MOST)
    if stretches < 2:
        return None
    longest = max(curve.ends[-1] for curve in known)
    edges = tuple(longest * place / stretches for place in range(stretches + 1))
    return Bands(shown, edges, tuple(_band(arm, own, edges) for arm, own in curves if own))


@dataclass(frozen=True)
class _RunningSum:
    """The sum since the beginning of a run, by the time."""

    ends: tuple[float, ...]
    sums: tuple[float, ...]

    def at(self, time: float) -> float:
        place = min(max(bisect_right(self.ends, time), 1), len(self.ends) - 1)
        (t0, t1), (s0, s1) = self.ends[place - 1 : place + 1], self.sums[place - 1 : place + 1]
        return s0 + (s1 - s0) * min(max((time - t0) / (t1 - t0), 0.0), 1.0)

    def mean(self, begin: float, end: float) -> Optional[float]:
        """A second, None where the run does not reach over half of that."""
        reached = min(end, self.ends[-1])
        if reached - begin <= (end - begin) / 2:
            return None
        return (self.at(reached) - self.at(begin)) / (reached - begin)


def _curve(run: Run, cpus: CpuSet, shown: SeriesQuantity) -> Optional[_RunningSum]:
    """The mean over the CPUs."""
    every = [run.cpu(cpu).series for cpu in cpus]
    known = [shown.of(series) for series in every if series and shown.of(series)]
    if len(known) < len(every) or not every or not run.ends_s:
        return None
    steps = (shown.scale * sum(step) / len(known) for step in zip(*known))
    return _RunningSum((0.0, *run.ends_s), (0.0, *accumulate(steps)))


def _band(arm: ViewArm, curves: Sequence[_RunningSum], edges: Sequence[float]) -> Band:
    values = []
    for begin, end in zip(edges, edges[1:]):
        known = [value for curve in curves if (value := curve.mean(begin, end)) is not None]
        values.append((min(known), median(known), max(known)) if known else None)
    return Band(arm, len(curves), tuple(values))


def _outlines(band: Band, edges: Sequence[float], upward: Axis) -> tuple[_Points, _Points]:
    """The band and the line within it, as points; of a single run the line alone."""
    known = [(x, values) for x, values in zip(zip(edges, edges[1:]), band.values) if values]
    low, middle, high = (
        [(x, upward.at(values[n])) for ends, values in known for x in ends] for n in range(3)
    )
    return [*low, *reversed(high)] if band.runs > 1 else [], middle


def _told(band: Band, shown: SeriesQuantity) -> str:
    middles = [values[1] for values in band.values if values]
    return f"{band.arm.name} {short(min(middles))} to {short(max(middles))} {shown.unit}"


def _caption(found: Bands) -> str:
    each = f"Each step of the line is {found.edges[1]:.3g} s, the mean of the CPUs."
    if max(band.runs for band in found.bands) == 1:
        return each
    return (
        f"{each} The line is the median of a side's runs, the band reaches from its quietest run "
        "to its noisiest."
    )


def _data(found: Bands, of: str) -> Data:
    rows: list[list[Cell]] = [
        [band.arm.name, *(float(f"{v:.6g}") for v in (begin, end, *values))]
        for band in found.bands
        for begin, end, values in zip(found.edges, found.edges[1:], band.values)
        if values
    ]
    unit = f", {found.shown.unit}"
    header = ("side", "from, s", "to, s", f"least{unit}", f"median{unit}", f"most{unit}")
    return Data(f"{found.shown.name}-over-time{of}.csv", header, rows)
