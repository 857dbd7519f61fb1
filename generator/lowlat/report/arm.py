# SPDX-License-Identifier: GPL-2.0-or-later
"""One side of a comparison: its boots, the runs nested in them, and each figure boot by boot."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Optional

from lowlat.model.cpuset import CpuSet
from lowlat.model.run import Run
from lowlat.report import figures
from lowlat.report.figures import Key, Measure


@dataclass(frozen=True)
class BootRuns:
    """The runs of one boot."""

    runs: tuple[Run, ...]

    @property
    def started(self) -> Optional[float]:
        """When its first run started, in seconds; None where that is not known."""
        times = [time for run in self.runs if (time := _seconds(run.started)) is not None]
        return min(times, default=None)


@dataclass(frozen=True)
class Arm:
    """Boots of one kind, in the order in which their files were given."""

    boots: tuple[BootRuns, ...]

    @classmethod
    def of(cls, runs: Iterable[Run]) -> Arm:
        """Group runs by boot; one whose boot is not known is a boot of its own."""
        found: dict[str, list[Run]] = {}
        for number, run in enumerate(runs):
            found.setdefault(run.boot_id or f"#{number}", []).append(run)
        return cls(tuple(BootRuns(tuple(group)) for group in found.values()))

    @property
    def runs(self) -> tuple[Run, ...]:
        return tuple(run for boot in self.boots for run in boot.runs)

    def values(self, cpus: CpuSet, measures: Sequence[Measure]) -> dict[Key, tuple[float, ...]]:
        """For each figure its value in every boot that knows it: the median over its runs."""
        result: dict[Key, list[float]] = {}
        for boot in self.boots:
            seen: dict[Key, list[float]] = {}
            for run in boot.runs:
                _collect(seen, _all_figures(run, cpus, measures))
            _collect(result, {key: median(values) for key, values in seen.items()})
        return {key: tuple(values) for key, values in result.items()}

    def seconds(self, cpus: Collection[int]) -> float:
        """The measured time of these CPUs over all runs."""
        return sum(run.seconds(cpus) for run in self.runs)

    def empty_seconds(self, measure: Measure, cpus: Collection[int]) -> float:
        """The measured time of these CPUs where the figure is known, 0 where it is ever above zero:
        a boot's median may be zero although one of its runs counted something."""
        result = 0.0
        for run in self.runs:
            found = [run.cpu(number) for number in cpus]
            values = [measure.of(cpu) for cpu in found]
            if any(values):
                return 0.0
            if None not in values:
                result += run.seconds(cpus)
        return result


def mixed(values: Sequence[float]) -> bool:
    """Whether some boots have a zero and others have not."""
    return min(values) <= 0 < max(values)


def typical(values: Sequence[float], *, plain: bool = False) -> float:
    """What stands for several boots: the geometric mean, whose ratios the test is about; the
    ``plain`` one where some boot that it is compared with has a zero and others have not, so that
    it is zero only where all are."""
    if min(values) == max(values):
        return values[0]
    if plain or mixed(values):
        return math.fsum(values) / len(values)
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def _seconds(text: str) -> Optional[float]:
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


def _all_figures(run: Run, cpus: CpuSet, measures: Sequence[Measure]) -> dict[Key, float]:
    more = {**figures.second_opinion(run, cpus), **figures.throughput(run)}
    return {**figures.figures(run, cpus, measures), **more}


def _collect(into: dict[Key, list[float]], values: dict[Key, float]) -> None:
    for key, value in values.items():
        into.setdefault(key, []).append(value)
