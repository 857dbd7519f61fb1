# SPDX-License-Identifier: GPL-2.0-or-later
"""A figure over the time of a run, with a line for each run."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Callable, Optional

from lowlat.model.cpuset import CpuSet
from lowlat.model.run import Run, Series
from lowlat.report import pace
from lowlat.view.arm import ViewArm
from lowlat.view.plot.axis import END, FLOOR, LEFT, TOP, Linear, fitting, spans
from lowlat.view.plot.figure import Cell, Data, Figure

#: The most steps of a run in a drawing.
_MOST = 120

#: The most changes of a run's pace that are marked.
_MARKED = 10


@dataclass(frozen=True)
class SeriesQuantity:
    """A quantity to draw: the counts per step that ``of`` extracts, times ``scale`` per second; or
    a ``pace``, which is 0 in steps where it is unknown."""

    name: str
    title: str
    unit: str
    of: Callable[[Series], Sequence[float]]
    scale: float = 1.0
    pace: bool = False


NOISE = SeriesQuantity("noise", "Noise", "ppm of the time", lambda series: series.noise_ns, 1e-3)
INTERRUPTS = SeriesQuantity(
    "interrupts", "Interrupts", "a second", lambda series: series.interrupts
)


def pace_of(cpu: int) -> SeriesQuantity:
    """The pace of one CPU; its changes are marked."""
    title, unit = f"Pace of CPU {cpu}", "readings a ms"
    return SeriesQuantity(f"pace-cpu{cpu}", title, unit, lambda s: s.readings_per_ms, pace=True)


@dataclass(frozen=True)
class _Course:
    """One run in steps: begin, end and figure (the mean of the CPUs); and the changes of the
    pace."""

    arm: ViewArm
    run: Run
    steps: Sequence[tuple[float, float, float]]
    changes: Sequence[pace.PaceStep]


def figures(arms: Sequence[ViewArm], cpus: CpuSet, shown: SeriesQuantity) -> tuple[Figure, ...]:
    """One drawing; none if no run is known in at least two steps, or a pace never varied."""
    every = (_curve(arm, run, cpus, shown) for arm in arms for run in arm.runs)
    curves = [curve for curve in every if curve and len(curve.steps) > 1]
    named = [(curve.arm.name, value) for curve in curves for *_, value in curve.steps]
    values = [value for _, value in named]
    if not values or (shown.pace and min(values) == max(values)):
        return ()
    upward = fitting(values, FLOOR, TOP)
    across = Linear(max(curve.steps[-1][1] for curve in curves), LEFT, END)
    title = f"{shown.title} over the time of a run"
    chart = {
        "label": f"{title}: {spans(named, shown.unit)}.",
        "across": across,
        "upward": upward,
        "unit": shown.unit,
        "curves": [
            (c.arm, [(across.at(x), upward.at(v)) for *ends, v in c.steps for x in ends])
            for c in curves
        ],
        "changes": [
            (c.arm, across.at(one.begin_s), upward.at(one.pace), f"{c.run.path.name}: {one}")
            for c in curves
            for one in c.changes
        ],
    }
    begin, end, _ = curves[0].steps[0]
    more = ", the mean of the CPUs"
    if shown.pace:
        more = f"; a mark is a change that stayed (the first {_MARKED} of a run)"
    caption = f"A line is a run, in steps of {end - begin:.3g} s{more}."
    return (Figure("time_series", title, caption, chart, _data(curves, shown)),)


def _curve(arm: ViewArm, run: Run, cpus: CpuSet, shown: SeriesQuantity) -> Optional[_Course]:
    """One run's curve; None if some CPUs have no figures."""
    every = [run.cpu(cpu).series for cpu in cpus]
    known = [shown.of(series) for series in every if series and shown.of(series)]
    if len(known) < len(every) or not every or not run.ends_s:
        return None
    sums = [shown.scale * sum(step) / len(known) for step in zip(*known)]
    begins = (0.0, *run.ends_s)
    times = [end - begin for begin, end in zip(begins, run.ends_s)]
    changes = [*islice(pace.steps(run.ends_s, sums), _MARKED)] if shown.pace else []
    if shown.pace:
        times = [time if value else 0.0 for time, value in zip(times, sums)]
        sums = [value * time for time, value in zip(times, sums)]
    each = -(-len(sums) // _MOST)
    places = [slice(place, place + each) for place in range(0, len(sums), each)]
    steps = [
        (begins[at.start], run.ends_s[at][-1], sum(sums[at]) / time)
        for at in places
        if (time := sum(times[at]))
    ]
    return _Course(arm, run, steps, changes)


def _data(curves: Sequence[_Course], shown: SeriesQuantity) -> Data:
    rows: list[list[Cell]] = [
        [curve.arm.name, curve.run.path.name, *(float(f"{v:.6g}") for v in step)]
        for curve in curves
        for step in curve.steps
    ]
    header = ("arm", "file", "from, s", "to, s", shown.unit)
    return Data(f"{shown.name}-over-time.csv", header, rows)
