# SPDX-License-Identifier: GPL-2.0-or-later
"""A figure over time: one mark per run in time order, with a line at each reboot."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lowlat.model.cpuset import CpuSet
from lowlat.model.run import Run
from lowlat.report.figures import Measure, figures
from lowlat.view.arm import ViewArm
from lowlat.view.plot.axis import END, FLOOR, LEFT, TOP, Linear, fitting, spans
from lowlat.view.plot.figure import Data, Figure


@dataclass(frozen=True)
class Point:
    """A run's figure over all CPUs, and the least and the greatest of a single CPU."""

    run: Run
    arm: ViewArm
    value: float
    low: float
    high: float

    @property
    def minute(self) -> str:
        """The start of the run, to the minute."""
        return self.run.started[:16].replace("T", " ")


@dataclass(frozen=True)
class RunQuantity:
    """A quantity to draw: a measure, its title, its unit, and the divisor of its values."""

    measure: Measure
    title: str
    unit: str
    divisor: float = 1.0


def figure(arms: Sequence[ViewArm], cpus: CpuSet, shown: RunQuantity) -> tuple[Figure, ...]:
    """One drawing; none if no arm has several runs with the figure."""
    points = sorted(_points(arms, cpus, shown), key=lambda point: point.run.started)
    if len(points) <= len(arms):
        return ()
    told = spans(((point.arm.name, point.value) for point in points), shown.unit)
    chart = {
        "label": f"{shown.title} of {len(points)} runs in time order: {told}.",
        "upward": fitting([v for p in points for v in (p.value, p.low, p.high)], FLOOR, TOP),
        "across": Linear(len(points) + 1.0, LEFT, END),
        "unit": shown.unit,
        "points": points,
    }
    caption = (
        "Each mark is a whole run, its thin line reaches from the quietest CPU to the noisiest; "
        "an upright line is a reboot."
    )
    return (
        Figure("run_series", f"{shown.title}, run by run", caption, chart, _data(points, shown)),
    )


def _points(arms: Sequence[ViewArm], cpus: CpuSet, shown: RunQuantity) -> Iterator[Point]:
    name = shown.measure.name
    for arm in arms:
        for run in arm.runs:
            values = figures(run, cpus, [shown.measure])
            each = [value / shown.divisor for (_, cpu), value in values.items() if cpu != "all"]
            if (name, "all") in values:
                whole = values[name, "all"] / shown.divisor
                yield Point(run, arm, whole, min(each), max(each))


def _data(points: Sequence[Point], shown: RunQuantity) -> Data:
    rows = [
        (p.run.started, p.arm.name, p.run.boot_id, p.run.path.name, p.value, p.low, p.high)
        for p in points
    ]
    unit = f", {shown.unit}"
    header = ("started", "side", "boot", "file", f"all CPUs{unit}", f"least{unit}", f"most{unit}")
    return Data(f"{shown.measure.name}-by-run.csv", header, rows)
