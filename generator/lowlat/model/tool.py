# SPDX-License-Identifier: GPL-2.0-or-later
"""The results of other programs: oslat, cyclictest, rtla's timerlat and osnoise, stress-ng."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Optional

from lowlat.base.typed_json import Positive
from lowlat.model.histogram import Row, row_at, summed


class MoreThan(float):
    """A value of which only a lower limit is known: a percentile above a histogram's range."""

    def __truediv__(self, other: float) -> MoreThan:
        return MoreThan(float(self) / other)


@dataclass(frozen=True)
class ToolTimes:
    """The times of a CPU, in us. ``part``: which ones, if a program tells several of a CPU
    (timerlat: "irq", "thread", "user"). ``counts`` are the rows of the histogram that counted, as
    (lower, upper, count); ``over`` more samples lie above its end, ``range_us``."""

    cpu: int
    part: str = ""
    samples: float = 0.0
    min_us: Optional[float] = None
    avg_us: Optional[float] = None
    max_us: Optional[float] = None
    counts: tuple[Row, ...] = ()
    over: float = 0.0
    range_us: float = 0.0

    def percentile_us(self, share: float) -> Optional[float]:
        """The middle of the row with this share of the samples, between the minimum and the
        maximum; MoreThan above the range; None without a histogram."""
        total = sum(count for *_, count in self.counts) + self.over
        if not total or not self.range_us:
            return None
        row = row_at(self.counts, share, total)
        if row is None:
            return MoreThan(self.range_us)
        lower, upper, _ = row
        middle = max((lower + upper) / 2, self.min_us or 0.0)
        return min(middle, upper if self.max_us is None else self.max_us)

    def at_least(self, us: float) -> float:
        """How many of the times are at least so long: an edge within the histogram."""
        return self.over + sum(count for lower, _, count in self.counts if lower >= us)

    @classmethod
    def joined(cls, several: Iterable[ToolTimes]) -> ToolTimes:
        """The times of several runs or CPUs as one; at least one. Their histograms count as one up
        to the end of the shortest, and not at all if one has none."""
        all_ = tuple(several)
        end = min(one.range_us for one in all_)
        rows = summed(row for one in all_ for row in one.counts if row[1] <= end)
        samples = sum(one.samples for one in all_)
        means = [(one.avg_us, one.samples) for one in all_ if one.avg_us is not None]
        weighed = len(means) == len(all_) and samples
        counted = sum(count for one in all_ for *_, count in one.counts)
        return replace(
            all_[0],
            samples=samples,
            min_us=min((one.min_us for one in all_ if one.min_us is not None), default=None),
            avg_us=sum(mean * own for mean, own in means) / samples if weighed else None,
            max_us=max((one.max_us for one in all_ if one.max_us is not None), default=None),
            counts=rows,
            over=counted - sum(count for *_, count in rows) + sum(one.over for one in all_),
            range_us=end,
        )


@dataclass(frozen=True)
class ToolResult:
    """What a program printed. ``version`` is the program's, with all that must be equal for figures
    to be comparable; "" if it does not print one. ``times`` are those of its CPUs, ``figures``
    stress-ng's bogo operations a second, by stressor."""

    version: str
    figures: Mapping[str, float] = field(default_factory=dict)
    times: tuple[ToolTimes, ...] = ()


@dataclass(frozen=True)
class NoiseOfCpu:
    """A row of ``rtla osnoise top``: the time of the tracer and the noise in it, in us, and the
    number of interferences by class ("HW", "NMI", "IRQ", "softirq", "thread")."""

    cpu: int
    runtime_us: Positive
    noise_us: float
    counts: Mapping[str, float]


@dataclass(frozen=True)
class ToolFile:
    """A file that a program wrote, as far as the file tells: the program and the form, the command
    and those of its options that change what is measured, the start (ISO 8601), the kernel, the
    host, the time measured in seconds and the interval of the wake-ups in us. ``threads``: it names
    threads, not CPUs. ``notes`` say what was assumed."""

    tool: str
    form: str
    result: ToolResult
    command: str = ""
    options: str = ""
    started: str = ""
    kernel: str = ""
    host: str = ""
    seconds: float = 0.0
    interval_us: float = 0.0
    noise: tuple[NoiseOfCpu, ...] = ()
    threads: bool = False
    notes: tuple[str, ...] = ()
