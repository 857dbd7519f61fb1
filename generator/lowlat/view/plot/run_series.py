# SPDX-License-Identifier: GPL-2.0-or-later
"""A figure over time: a mark for each run, in the order they were made, boots set apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lowlat.model.cpuset import CpuSet
from lowlat.model.run import Run
from lowlat.report.figures import Measure, figures
from lowlat.view.arm import ViewArm
from lowlat.view.plot.axis import Axis, Linear, fitting, short
from lowlat.view.plot.canvas import LEFT, RIGHT, TOP, WIDTH, Canvas
from lowlat.view.plot.figure import Data, Figure


@dataclass(frozen=True)
class Point:
    """A run's figure: over all CPUs, and the least and the greatest of one CPU."""

    run: Run
    side: ViewArm
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class RunQuantity:
    """What is drawn: a measure, its name for a person, its unit, and what values are divided by."""

    measure: Measure
    title: str
    unit: str
    divisor: float = 1.0


def figure(sides: Sequence[ViewArm], cpus: CpuSet, shown: RunQuantity) -> tuple[Figure, ...]:
    """One drawing, or none where no run knows the figure."""
    points = sorted(_points(sides, cpus, shown), key=lambda point: point.run.started)
    if not points:
        return ()
    canvas = Canvas(f"{shown.title} of {len(points)} runs in time order: {_told(points, shown)}.")
    upward = fitting([v for p in points for v in (p.value, p.low, p.high)], canvas.bottom, TOP)
    canvas.vertical(upward, shown.unit)
    places = Linear(len(points) + 1.0, LEFT, WIDTH - RIGHT)
    for number, point in enumerate(points, 1):
        if number > 1 and point.run.boot_id != points[number - 2].run.boot_id:
            x = places.at(number - 0.5)
            canvas.line(x, TOP, x, canvas.bottom, "boot")
        _draw(canvas, point, places.at(number), upward, shown)
    canvas.frame()
    first, last = (_minute(point.run.started) for point in (points[0], points[-1]))
    canvas.text(LEFT, canvas.bottom + 14, first)
    canvas.text(WIDTH - RIGHT, canvas.bottom + 14, last if last != first else "", anchor="end")
    canvas.text(WIDTH - RIGHT, canvas.bottom + 32, "runs in time order", "name", "end")
    caption = (
        "Each mark is a whole run, its thin line reaches from the quietest CPU to the noisiest; "
        "an upright line is a reboot."
    )
    return (Figure(shown.title, caption, canvas.svg(), _data(points, shown)),)


def _points(sides: Sequence[ViewArm], cpus: CpuSet, shown: RunQuantity) -> Iterator[Point]:
    name = shown.measure.name
    for side in sides:
        for run in side.runs:
            values = figures(run, cpus, [shown.measure])
            each = [value / shown.divisor for (_, cpu), value in values.items() if cpu != "all"]
            if (name, "all") in values:
                whole = values[name, "all"] / shown.divisor
                yield Point(run, side, whole, min(each), max(each))


def _draw(canvas: Canvas, point: Point, x: float, upward: Axis, shown: RunQuantity) -> None:
    canvas.line(x, upward.at(point.low), x, upward.at(point.high), f"range {point.side.kind}")
    hint = f"{point.side.name} {point.run.path.name}: {short(point.value)} {shown.unit}"
    canvas.mark(x, upward.at(point.value), point.side.kind, hint)


def _told(points: Sequence[Point], shown: RunQuantity) -> str:
    found: dict[str, list[float]] = {}
    for point in points:
        found.setdefault(point.side.name, []).append(point.value)
    return "; ".join(
        f"{name} {short(min(values))} to {short(max(values))} {shown.unit}"
        for name, values in found.items()
    )


def _data(points: Sequence[Point], shown: RunQuantity) -> Data:
    rows = [
        (p.run.started, p.side.name, p.run.boot_id, p.run.path.name, p.value, p.low, p.high)
        for p in points
    ]
    unit = f", {shown.unit}"
    header = ("started", "side", "boot", "file", f"all CPUs{unit}", f"least{unit}", f"most{unit}")
    return Data(f"{shown.measure.name}-by-run.csv", header, rows)


def _minute(started: str) -> str:
    """A time of ISO 8601 without its seconds."""
    return started[:16].replace("T", " ")
