# SPDX-License-Identifier: GPL-2.0-or-later
"""A figure over time: one mark per run in time order, with a line at each reboot."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lowlat.figures import pooling
from lowlat.figures.measure import Endpoint, size
from lowlat.model.cpuset import CpuSet
from lowlat.model.run import Run
from lowlat.present.drawn_arm import ViewArm
from lowlat.present.plot.axis import END, FLOOR, LEFT, TOP, Linear, fitting, spans
from lowlat.present.plot.figure import Data, Figure


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


def figure(arms: Sequence[ViewArm], cpus: CpuSet, shown: Endpoint) -> tuple[Figure, ...]:
    """One drawing; none if no arm has several runs with the figure."""
    points = sorted(_points(arms, cpus, shown), key=lambda point: point.run.started)
    if len(points) <= len(arms):
        return ()
    told = spans(((point.arm.name, point.value) for point in points), shown.subject.unit)
    chart = {
        "label": f"{shown.subject.name} of {len(points)} runs in time order: {told}.",
        "upward": fitting([v for p in points for v in (p.value, p.low, p.high)], FLOOR, TOP),
        "across": Linear(len(points) + 1.0, LEFT, END),
        "unit": shown.subject.unit,
        "points": points,
    }
    caption = (
        "Each mark is a whole run, its thin line reaches from the quietest CPU to the noisiest; "
        "an upright line is a reboot."
    )
    return (
        Figure(
            "run_series", f"{shown.subject.name}, run by run", caption, chart, _data(points, shown)
        ),
    )


def _points(arms: Sequence[ViewArm], cpus: CpuSet, shown: Endpoint) -> Iterator[Point]:
    divisor = size(shown.unit)
    for arm in arms:
        for run in arm.runs:
            values = pooling.of_runs([run], cpus, [shown])
            each = [value / divisor for key, value in values.items() if key.cpu != "all"]
            if shown.key() in values:
                whole = values[shown.key()] / divisor
                yield Point(run, arm, whole, min(each), max(each))


def _data(points: Sequence[Point], shown: Endpoint) -> Data:
    rows = [
        (p.run.started, p.arm.name, p.run.boot_id, p.run.path.name, p.value, p.low, p.high)
        for p in points
    ]
    unit = f", {shown.subject.unit}"
    header = ("started", "side", "boot", "file", f"all CPUs{unit}", f"least{unit}", f"most{unit}")
    return Data(f"{shown.name}-by-run.csv", header, rows)
