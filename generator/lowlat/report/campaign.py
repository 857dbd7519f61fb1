# SPDX-License-Identifier: GPL-2.0-or-later
"""Campaigns of boots in which nothing changed: how a figure varies, and more of the same drawn at
random. Everything is about the figure's natural logarithm. Needs numpy and scipy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lowlat.report.stats.permutation import Array

    Places = NDArray[np.intp]

#: A figure for each block of each run of each boot, the boots in the order of time.
Nested = Sequence[Sequence[Sequence[float]]]

#: Neighbouring boots that are almost the same cannot be told from a level that wanders.
_CLOSEST = 0.95


@dataclass(frozen=True)
class Variance:
    """Standard deviations of the logarithm between boots, between the runs of a boot and between
    the blocks of a run, None where there was one each, so that the level above holds it too; the
    trend a boot; and how alike (0 to 1) neighbouring boots are."""

    boot: float
    run: Optional[float]
    block: Optional[float]
    drift: float
    alike: float

    def __str__(self) -> str:
        parts = [f"boot {self.boot * 100:.1f} %"]
        for name, deviation, above in (("run", self.run, "boot"), ("block", self.block, "run")):
            told = f"one {name} a {above}"
            parts.append(told if deviation is None else f"{name} {deviation * 100:.1f} %")
        drift = round(self.drift * 100, 1) + 0.0  # never minus zero
        trend = f"trend {drift:+.1f} % a boot, neighbours alike {self.alike:.2f}"
        return f"{', '.join(parts)}, {trend}"


@dataclass(frozen=True)
class Shape:
    """How many boots each of two arms has, runs a boot has, and blocks a run has."""

    boots: int
    runs: int = 1
    blocks: int = 1


def fit(campaign: Nested) -> Variance:
    """The variance of a campaign of at least 4 boots, each level less what the one below explains
    of it. With one run a boot, or one block a run, the level counts as part of the next."""
    import numpy as np
    from scipy import stats

    logs = [[np.log(np.asarray(run, dtype=float)) for run in boot] for boot in campaign]
    runs = [np.array([run.mean() for run in boot]) for boot in logs]
    means = np.array([boot.mean() for boot in runs])
    line = stats.linregress(np.arange(len(means)), means)
    rest = means - line.intercept - line.slope * np.arange(len(means))
    block = _pooled([run for boot in logs for run in boot])
    per_run = np.mean([len(run) for boot in logs for run in boot])
    run = max(_pooled(runs) - block / float(per_run), 0.0)
    per_boot = np.mean([len(boot) for boot in runs])
    below = run / per_boot + block / per_boot / per_run
    boot = max(float(rest.var(ddof=2)) - float(below), 0.0)
    together = float(np.corrcoef(rest[:-1], rest[1:])[0, 1]) if rest.any() else 0.0
    return Variance(
        boot=math.sqrt(boot),
        run=math.sqrt(run) if per_boot > 1 else None,
        block=math.sqrt(block) if per_run > 1 else None,
        drift=float(line.slope),
        alike=min(max(together, 0.0), _CLOSEST),
    )


def _pooled(groups: Sequence[Array]) -> float:
    """The variance within groups; 0 where none has two members."""
    free = sum(len(group) - 1 for group in groups)
    squares = sum(float(((group - group.mean()) ** 2).sum()) for group in groups)
    return squares / free if free else 0.0


def simulate(variance: Variance, shape: Shape, campaigns: int, draw: np.random.Generator) -> Array:
    """The logarithm of each boot's figure, the boots of both arms in time: a row a campaign.

    A boot's figure comes about as a report makes it: the median of its runs' figures, each the mean
    over the run's blocks.
    """
    import numpy as np

    count = 2 * shape.boots
    levels = _levels(variance, campaigns, count, draw)
    apart = (variance.run or 0.0) * draw.normal(size=(campaigns, count, shape.runs))
    runs = levels[..., None] + apart
    blocks = (variance.block or 0.0) * draw.normal(size=(*runs.shape, shape.blocks))
    figures = np.exp(runs[..., None] + blocks).mean(axis=-1)
    return np.log(np.median(figures, axis=-1))  # type: ignore[no-any-return]


def _levels(variance: Variance, campaigns: int, count: int, draw: np.random.Generator) -> Array:
    """Boots whose level follows that of the boot before, around a trend."""
    import numpy as np

    steps = draw.normal(size=(campaigns, count))
    levels = np.empty_like(steps)
    levels[:, 0] = steps[:, 0]
    fresh = math.sqrt(1 - variance.alike**2)
    for boot in range(1, count):
        levels[:, boot] = variance.alike * levels[:, boot - 1] + fresh * steps[:, boot]
    return variance.boot * levels + variance.drift * np.arange(count)


def orders(count: int) -> dict[str, tuple[int, ...]]:
    """Ways to share out so many boots in time, an even number: 0 before, 1 after.

    The last of them is what not to do.
    """
    half = count // 2
    return {
        "in turn (ABAB)": tuple(n % 2 for n in range(count)),
        "mirrored (ABBA)": tuple((n + 1) // 2 % 2 for n in range(count)),
        "at random": (),
        "one arm first (AABB)": (0,) * half + (1,) * (count - half),
    }


def places(order: Sequence[int], shape: tuple[int, int], draw: np.random.Generator) -> Places:
    """For each of so many campaigns of so many boots, the boots of the first arm and then those of
    the second; an empty order draws one for each campaign."""
    import numpy as np

    every = np.tile(
        np.argsort(order, kind="stable") if order else np.arange(shape[1]), (shape[0], 1)
    )
    return every if order else draw.permuted(every, axis=1)
