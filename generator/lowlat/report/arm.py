# SPDX-License-Identifier: GPL-2.0-or-later
"""One arm of a comparison: its boots, the runs nested in them, and each figure boot by boot."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from statistics import median
from typing import Optional

from lowlat.model.cpuset import CpuSet
from lowlat.model.run import Run
from lowlat.report import figures
from lowlat.report.figures import Key, Measure
from lowlat.report.in_effect import VerifiedSetting


@dataclass(frozen=True)
class Arm:
    """Runs of one kind, in the order in which their files were given, and what verify found in
    their boots (None: not checked)."""

    name: str
    runs: tuple[Run, ...]
    effect: Optional[Sequence[VerifiedSetting]] = None

    @cached_property
    def boots(self) -> tuple[tuple[Run, ...], ...]:
        """The runs of each boot; one whose boot is not known is a boot of its own."""
        found: dict[str, list[Run]] = {}
        for number, run in enumerate(self.runs):
            found.setdefault(run.boot_id or f"#{number}", []).append(run)
        return tuple(map(tuple, found.values()))

    @property
    def starts(self) -> list[Optional[float]]:
        """When the first run of each boot started, in seconds; None where that is not known."""
        times = ([_seconds(run.started) for run in boot] for boot in self.boots)
        return [min((time for time in own if time is not None), default=None) for own in times]

    def values(self, cpus: CpuSet, measures: Sequence[Measure]) -> dict[Key, tuple[float, ...]]:
        """For each figure its value in every boot that knows it: the median over its runs."""
        result: dict[Key, list[float]] = {}
        for boot in self.boots:
            seen: dict[Key, list[float]] = {}
            for run in boot:
                _collect(seen, figures.figures(run, cpus, measures))
                _collect(seen, figures.of_tools(run, cpus))
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


def _collect(into: dict[Key, list[float]], values: dict[Key, float]) -> None:
    for key, value in values.items():
        into.setdefault(key, []).append(value)
