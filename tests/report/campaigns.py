# SPDX-License-Identifier: GPL-2.0-or-later
"""Campaigns of boots in which nothing changed: two recorded ones, and more of the same drawn at
random, over which the report's statistics are judged. Everything is about the figure's natural
logarithm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Optional

import pytest

from lowlat.report.stats.drift import Order, drift
from lowlat.report.stats.permutation import ALPHA, TwoSamples, infer

np = pytest.importorskip("numpy", reason="the extra `report` is not installed")
stats = pytest.importorskip("scipy.stats", reason="the extra `report` is not installed")

if TYPE_CHECKING:
    from numpy.random import Generator

    from lowlat.report.stats.permutation import Array

#: A figure for each block of each run of each boot, the boots in the order of time.
Nested = Sequence[Sequence[Sequence[float]]]

#: The change that is planted: the figure falls by a fifth.
PLANTED = 0.8

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


@dataclass(frozen=True)
class Shape:
    """How many boots each of two arms has, runs a boot has, and blocks a run has."""

    boots: int
    runs: int = 1
    blocks: int = 1


def fit(campaign: Nested) -> Variance:
    """The variance of a campaign of at least 4 boots, each level less what the one below explains
    of it. With one run a boot, or one block a run, the level counts as part of the next."""
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


def simulate(variance: Variance, shape: Shape, campaigns: int, draw: Generator) -> Array:
    """The logarithm of each boot's figure, the boots of both arms in time: a row a campaign.

    A boot's figure comes about as a report makes it: the median of its runs' figures, each the mean
    over the run's blocks.
    """
    count = 2 * shape.boots
    levels = _levels(variance, campaigns, count, draw)
    apart = (variance.run or 0.0) * draw.normal(size=(campaigns, count, shape.runs))
    runs = levels[..., None] + apart
    blocks = (variance.block or 0.0) * draw.normal(size=(*runs.shape, shape.blocks))
    figures = np.exp(runs[..., None] + blocks).mean(axis=-1)
    result: Array = np.log(np.median(figures, axis=-1))
    return result


def _levels(variance: Variance, campaigns: int, count: int, draw: Generator) -> Array:
    """Boots whose level follows that of the boot before, around a trend."""
    steps = draw.normal(size=(campaigns, count))
    levels = np.empty_like(steps)
    levels[:, 0] = steps[:, 0]
    fresh = math.sqrt(1 - variance.alike**2)
    for boot in range(1, count):
        levels[:, boot] = variance.alike * levels[:, boot - 1] + fresh * steps[:, boot]
    result: Array = variance.boot * levels + variance.drift * np.arange(count)
    return result


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


def places(order: Sequence[int], shape: tuple[int, int], draw: Generator) -> Array:
    """For each of so many campaigns of so many boots, the boots of the first arm and then those of
    the second; an empty order draws one for each campaign."""
    every = np.arange(shape[1]) if not order else np.argsort(order, kind="stable")
    tiled = np.tile(every, (shape[0], 1))
    return tiled if order else draw.permuted(tiled, axis=1)


@dataclass(frozen=True)
class Rates:
    """Shares of campaigns: with a small p although nothing changed; of them those that the report
    calls a finding; and those in which it finds the planted change."""

    small: float
    false: float
    found: float


def rates(levels: Array, order: Sequence[int], draw: Generator) -> Rates:
    """Of campaigns, a row of logarithms each, with the boots shared out in this order."""
    where = places(order, levels.shape, draw)
    small, false = findings(levels, where, 1.0)
    _, found = findings(levels, where, PLANTED)
    return Rates(small / len(levels), false / len(levels), found / len(levels))


def findings(levels: Array, where: Array, planted: float) -> tuple[int, int]:
    """Where the figure is so many times itself after: the campaigns with a small p, and those that
    the report calls a change, because the interval bears it out and no trend explains it."""
    half = levels.shape[1] // 2
    values = np.take_along_axis(levels, where, axis=1)
    before, after = np.exp(values[:, :half]), planted * np.exp(values[:, half:])
    small = stands = 0
    for n, one in enumerate(infer([TwoSamples(*arms) for arms in zip(before, after)])):
        assert one.ci95 is not None
        if one.p > ALPHA:
            continue
        small += 1
        order = Order(tuple(where[n, :half].tolist()), tuple(where[n, half:].tolist()))
        size = abs(float(np.log(before[n]).mean() - np.log(after[n]).mean()))
        trend = drift(before[n].tolist(), after[n].tolist(), order)
        stands += not one.ci95[0] <= 1 <= one.ci95[1] and not trend.explains(size, order)
    return small, stands


#: lowlat-measure of one CPU every 8 s; the machine compiled and booted guests at times. For want of
#: as many boots each run stands for one, so this wanders more than boots an hour apart would.
BUSY = (
    (10144, 10914, 9856, 16591, 10326, 65162, 125023, 51209),
    (29782, 23145, 21606, 10524, 10156, 33144, 30671, 17244),
    (330453, 332774, 273772, 287305, 216789, 381464, 317947, 340592),
    (347986, 335073, 349126, 346038, 340410, 324889, 462815, 384534),
    (358816, 346657, 334566, 389238, 452464, 468507, 365737, 349928),
    (671076, 510120, 500943, 524645, 507443, 505072, 512900, 504226),
    (309581, 317152, 349078, 138992, 233447, 443503, 261502, 498877),
    (337871, 334957, 337351, 344669, 318279, 355265, 340083, 360130),
    (349795, 329566, 340852, 337737, 340315, 287865, 332317, 335840),
    (288520, 340838, 329926, 353547, 351573, 363559, 280729, 31425),
    (568621, 568988, 533397, 462209, 483956, 507200, 499237, 456363),
    (8894, 8987, 61551, 10118, 42562, 127214, 10293, 10494),
    (363828, 338932, 352077, 310003, 365511, 400878, 339843, 344946),
    (352038, 344623, 335575, 334859, 269123, 336228, 336098, 364004),
    (316725, 331119, 341075, 345715, 332710, 336695, 45513, 48723),
    (392193, 376656, 34112, 6193, 6402, 46842, 50413, 12406),
    (8723, 9388, 8099, 8014, 9679, 8310, 51233, 13832),
    (60273, 33198, 49197, 19303, 12289, 12249, 11092, 16745),
    (17424, 17509, 36454, 64224, 17455, 14320, 8855, 48433),
    (8358, 8279, 9818, 8030, 10735, 9757, 8717, 10871),
)

#: Debian's 6.12 rehearsed without KVM, two guests at a time, while the host did other work: kernel
#: entries per second on an isolated CPU. Nothing was planned, every boot was stock.
REHEARSED = (
    (300.05, 300.62, 301.06, 301.16, 301.4, 301.09, 299.77, 298.83, 298.09, 300.04),
    (297.67, 300.19, 303.85, 292.56, 299.01, 302.25, 301.94, 300.27, 298.15, 300.23),
)

#: By figure; a boot has one run, and that of an emulated machine one block.
RECORDED: dict[str, Nested] = {
    "interrupts_per_s": tuple(((boot,),) for half in REHEARSED for boot in half),
    "noise_ppm": tuple((run,) for run in BUSY),
}
