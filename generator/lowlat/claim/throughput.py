# SPDX-License-Identifier: GPL-2.0-or-later
"""The guard against settings that cost throughput: the rate of stress-ng's matrix, and the share of
it that an arm lost."""

from dataclasses import dataclass
from statistics import fmean
from typing import Optional

from lowlat.claim import comparable
from lowlat.claim.stats.flips import available, widest
from lowlat.claim.stats.samples import TwoSamples
from lowlat.claim.stats.student import of_mean, welch
from lowlat.figures.endpoint import THROUGHPUT
from lowlat.figures.measure import Key
from lowlat.figures.measured_arm import Arm
from lowlat.measure.tools.results import ALONE

#: The guard among the figures.
KEY = Key(THROUGHPUT, row=ALONE)


@dataclass(frozen=True)
class Rate:
    """Bogo operations per second: the mean of ``count`` boots or, for a single boot, of its
    ``runs``, and its 95 % interval, None for fewer than two."""

    mean: float
    ci95: Optional[tuple[float, float]]
    count: int
    of: str

    def __str__(self) -> str:
        between = f", 95 %: {self.ci95[0]:,.0f} to {self.ci95[1]:,.0f}" if self.ci95 else ""
        return f"{self.mean:,.0f}/s ({self.count} {self.of}{between})"


@dataclass(frozen=True)
class Loss:
    """The throughput that the second arm lost, as a share, below 0 if it gained, and the ends of
    its 95 % interval, None if not known. It is a claim if it was ``tested``, over boots; else the
    interval is that of the runs in one boot each."""

    lost: float
    least: Optional[float]
    most: Optional[float]
    tested: bool

    @property
    def at_most(self) -> float:
        """The bound; if it is not known, the observed loss."""
        return self.lost if self.most is None else self.most

    def __str__(self) -> str:
        words = f"throughput changed by {-100 * self.lost:+.1f} %"
        if self.least is None or self.most is None:
            return words
        of = "over boots" if self.tested else "of the runs in one boot each"
        return f"{words} (95 %: {-100 * self.most:+.1f} to {-100 * self.least:+.1f} %, {of})"


def rate(arm: Arm) -> Optional[Rate]:
    """The rate of an arm; None if a boot lacks it, or has it for other CPUs or another time."""
    boots = [[one for run in boot for one in run.matrix_rates] for boot in arm.boots]
    if not all(boots) or not comparable.same_version(comparable.matrix, arm.runs):
        return None
    values, of = (boots[0], "runs") if len(boots) == 1 else ([*map(fmean, boots)], "boots")
    ends = of_mean(values) if available() else None
    return Rate(fmean(values), ends, len(values), of)


def loss(before: Arm, after: Arm, ratio: float, ci95: Optional[tuple[float, float]]) -> Loss:
    """The loss of the second arm by the guard's ratio before/after, and its interval over boots."""
    ends = ci95 or _within(before, after)
    least, most = (1 - 1 / end for end in ends) if ends else (None, None)
    return Loss(1 - 1 / ratio, least, most, ci95 is not None)


def _within(*arms: Arm) -> Optional[tuple[float, float]]:
    """The interval of the ratio of two arms, from the runs in one boot of each."""
    one, other = ([rate for run in arm.runs for rate in run.matrix_rates] for arm in arms)
    single = all(len(arm.boots) == 1 for arm in arms)
    if not single or min(len(one), len(other)) < 2 or not available():
        return None
    return widest(welch(*TwoSamples(one, other).logs()))
