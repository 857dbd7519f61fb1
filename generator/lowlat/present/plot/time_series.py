# SPDX-License-Identifier: GPL-2.0-or-later
"""A figure over the time of a run, with a line for each run."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Callable, Optional

from lowlat.figures import pace, step_figures
from lowlat.model.cpuset import CpuSet
from lowlat.model.run import CpuRun, Run
from lowlat.present.drawn_arm import ViewArm
from lowlat.present.plot.axis import END, FLOOR, LEFT, TOP, Linear, fitting, spans
from lowlat.present.plot.figure import Cell, Data, Figure

#: The most steps of a run in a drawing.
_MOST = 120

#: The most changes of a run's pace that are marked.
_MARKED = 10


@dataclass(frozen=True)
class SeriesQuantity:
    """A quantity to draw: the amount per step that ``of`` tells of a CPU and the run's step ends,
    times ``scale`` per second; or a ``pace`` of the loop or the clock, 0 in steps where it is not
    known."""

    name: str
    title: str
    unit: str
    of: Callable[[CpuRun, Sequence[float]], Sequence[float]]
    scale: float = 1.0
    pace: bool = False


NOISE = SeriesQuantity("noise", "Noise", "ppm of the time", step_figures.noise_ns, 1e-3)
INTERRUPTS = SeriesQuantity(
    "interrupts",
    "Interrupts",
    "a second",
    lambda cpu, _: cpu.series.interrupts if cpu.series else (),
)


def pace_of(cpu: int) -> SeriesQuantity:
    """The pace of one CPU; its changes are marked."""
    title, unit = f"Pace of CPU {cpu}", "readings a ms"
    return SeriesQuantity(f"pace-cpu{cpu}", title, unit, _readings, pace=True)


def frequency_of(cpu: int) -> SeriesQuantity:
    """The frequency of one CPU; its changes are marked too."""
    return SeriesQuantity(f"frequency-cpu{cpu}", f"Frequency of CPU {cpu}", "MHz", _mhz, pace=True)


def _mhz(cpu: CpuRun, _: Sequence[float]) -> Sequence[float]:
    return [khz / 1e3 for khz in cpu.series.khz] if cpu.series else ()


def _readings(cpu: CpuRun, _: Sequence[float]) -> Sequence[float]:
    return cpu.series.readings_per_ms if cpu.series else ()


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
    own = [run.cpu(cpu) for cpu in cpus]
    if (
        not own
        or not run.ends_s
        or not all(cpu.series and shown.of(cpu, run.ends_s) for cpu in own)
    ):
        return None
    sums, times = (
        [sum(step) / len(own) for step in zip(*amounts)]
        for amounts in (
            [[shown.scale * one for one in shown.of(cpu, run.ends_s)] for cpu in own],
            [[ns / 1e9 for ns in step_figures.times_ns(cpu, run.ends_s)] for cpu in own],
        )
    )
    changes = [*islice(pace.steps(run.ends_s, sums), _MARKED)] if shown.pace else []
    if shown.pace:
        times = [time if value else 0.0 for time, value in zip(times, sums)]
        sums = [value * time for time, value in zip(times, sums)]
    each = -(-len(sums) // _MOST)
    places = [slice(place, place + each) for place in range(0, len(sums), each)]
    drawn = [
        ((0.0, *run.ends_s)[at.start], run.ends_s[at][-1], sum(sums[at]) / time)
        for at in places
        if (time := sum(times[at])) > 0
    ]
    return _Course(arm, run, drawn, changes)


def _data(curves: Sequence[_Course], shown: SeriesQuantity) -> Data:
    rows: list[list[Cell]] = [
        [curve.arm.name, curve.run.path.name, *(float(f"{v:.6g}") for v in step)]
        for curve in curves
        for step in curve.steps
    ]
    header = ("arm", "file", "from, s", "to, s", shown.unit)
    return Data(f"{shown.name}-over-time.csv", header, rows)
