# SPDX-License-Identifier: GPL-2.0-or-later
"""A figure over the time of a run, a line for each run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Callable, Optional

from lowlat.model.cpuset import CpuSet
from lowlat.model.run import Run, Series
from lowlat.view.arm import ViewArm
from lowlat.view.plot.axis import END, FLOOR, LEFT, TOP, Linear, fitting, short
from lowlat.view.plot.figure import Cell, Data, Figure

#: A drawing has room for so many steps of a run.
_MOST = 120


@dataclass(frozen=True)
class SeriesQuantity:
    """A quantity to draw: the counts of a step that ``of`` takes, ``scale`` times a second."""

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
class _Course:
    """One run in steps, each from the end of the one before: the figure a second, mean of the
    CPUs."""

    arm: ViewArm
    run: Run
    ends: tuple[float, ...]
    values: tuple[float, ...]

    @property
    def steps(self) -> Iterator[tuple[float, float, float]]:
        """From when, to when, and the figure."""
        return zip((0.0, *self.ends), self.ends, self.values)


def figures(arms: Sequence[ViewArm], cpus: CpuSet, shown: SeriesQuantity) -> tuple[Figure, ...]:
    """One drawing; none where no run is known in two steps at least."""
    every = (_curve(arm, run, cpus, shown) for arm in arms for run in arm.runs)
    curves = [curve for curve in every if curve and len(curve.ends) > 1]
    if not curves:
        return ()
    upward = fitting([value for curve in curves for value in curve.values], FLOOR, TOP)
    across = Linear(max(curve.ends[-1] for curve in curves), LEFT, END)
    title = f"{shown.title} over the time of a run"
    chart = {
        "label": f"{title}: {'; '.join(_told(arm, curves, shown) for arm in arms)}.",
        "across": across,
        "upward": upward,
        "unit": shown.unit,
        "curves": [
            (c.arm, [(across.at(x), upward.at(v)) for *ends, v in c.steps for x in ends])
            for c in curves
        ],
    }
    step = curves[0].ends[0]
    caption = f"A line is a run, in steps of {step:.3g} s, the mean of the CPUs."
    return (Figure("time_series", title, caption, chart, _data(curves, shown)),)


def _curve(arm: ViewArm, run: Run, cpus: CpuSet, shown: SeriesQuantity) -> Optional[_Course]:
    """None where some CPU's are not known."""
    every = [run.cpu(cpu).series for cpu in cpus]
    known = [shown.of(series) for series in every if series and shown.of(series)]
    if len(known) < len(every) or not every or not run.ends_s:
        return None
    sums = [shown.scale * sum(step) / len(known) for step in zip(*known)]
    each = -(-len(sums) // _MOST)
    ends = tuple(dict.fromkeys((*run.ends_s[each - 1 :: each], run.ends_s[-1])))
    begins = (0.0, *ends)
    values = tuple(
        sum(sums[place * each : (place + 1) * each]) / (end - begins[place])
        for place, end in enumerate(ends)
    )
    return _Course(arm, run, ends, values)


def _told(arm: ViewArm, curves: Sequence[_Course], shown: SeriesQuantity) -> str:
    values = [value for curve in curves if curve.arm is arm for value in curve.values] or [0.0]
    return f"{arm.name} {short(min(values))} to {short(max(values))} {shown.unit}"


def _data(curves: Sequence[_Course], shown: SeriesQuantity) -> Data:
    rows: list[list[Cell]] = [
        [curve.arm.name, curve.run.path.name, *(float(f"{v:.6g}") for v in step)]
        for curve in curves
        for step in curve.steps
    ]
    header = ("arm", "file", "from, s", "to, s", shown.unit)
    return Data(f"{shown.name}-over-time.csv", header, rows)
