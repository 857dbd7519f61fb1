# SPDX-License-Identifier: GPL-2.0-or-later
"""Campaigns of known truth, generated independently of the report: boots in order of time, each
drawn from a process and assigned to one of two arms. The report's claims are counted.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Optional

from campaigns import RECORDED

from lowlat.claim.stats import flips
from lowlat.claim.stats.pairs import Pairs
from lowlat.claim.stats.samples import ALPHA, TwoSamples
from lowlat.model.order import draw_blocks
from support import needs

np = needs.module("numpy", "the extra `report` is not installed")
stats = needs.module("scipy.stats", "the extra `report` is not installed")

if TYPE_CHECKING:
    from numpy.random import Generator

    from lowlat.claim.stats.samples import Array

    #: Draws a number of campaigns (rows) with a number of boots (columns, in time order).
    Process = Callable[[Generator, int, int], Array]

#: The number of random orders in a cell: the order itself decides.
_DEALS = 200


@dataclass(frozen=True)
class Cell:
    """Campaigns of one kind. ``before`` and ``after`` draw each arm's figure as if every boot were
    the arm's; ``shared`` is a factor on both, for changes of the machine. The ``order`` is that of
    the boots in letters, repeated, or "drawn" for each pair. ``seconds`` makes the figure a mean of
    events that a Poisson process counts in that time; of ``gaps`` it is the sum of their lengths,
    and a boot without any lies below what a run can tell. ``truth`` is the ratio that the interval
    should contain. In arms of ``unlike`` shape it is not the middle of the pairs."""

    name: str
    pairs: int
    order: str
    before: Process
    after: Process
    shared: Optional[Process] = None
    seconds: Optional[tuple[float, float]] = None
    gaps: bool = False
    truth: float = 1.0
    unlike: bool = False


@dataclass(frozen=True)
class Judged:
    """Of so many campaigns those with a change found, and those with the truth in the interval."""

    campaigns: int
    found: int
    covered: int

    def good(self, cell: Cell) -> bool:
        """Whether the exact 95 % interval of neither share lies on the wrong side of 5 % false
        claims and of 95 % coverage."""
        false = stats.binom.sf(self.found - 1, self.campaigns, ALPHA)
        missed = stats.binom.cdf(self.covered, self.campaigns, 1 - ALPHA)
        return bool(missed >= ALPHA / 2 and (cell.truth != 1 or false >= ALPHA / 2))

    @property
    def shares(self) -> tuple[float, float]:
        return self.found / self.campaigns, self.covered / self.campaigns


def judge(cell: Cell, campaigns: int, seed: int) -> Judged:
    """The results of about so many campaigns; each stands alone."""
    draw = np.random.default_rng(seed)
    done = found = covered = 0
    deals = list(_deals(cell, draw))
    for deal in deals:
        rows = list(_rows(cell, deal, -(-campaigns // len(deals)), draw))
        known = [in_pairs(row, deal) for row in rows]
        for result in flips.infer(known, drawn=cell.order == "drawn"):
            low, high = result.ci95
            found += result.p <= ALPHA and not low <= 1 <= high
            covered += low <= cell.truth <= high
        done += len(rows)
    return Judged(done, found, covered)


def in_pairs(row: TwoSamples, deal: Array) -> TwoSamples:
    """The boots of each arm in the order of their pairs; every boot has a partner."""
    pairs = Pairs.of(*(np.flatnonzero(deal == arm).tolist() for arm in (0, 1)))
    assert pairs.boots == tuple((n, n) for n in range(len(row.before))) and not pairs.alike
    return row


def _rows(cell: Cell, deal: Array, campaigns: int, draw: Generator) -> Iterator[TwoSamples]:
    count = len(deal)
    arms = [process(draw, campaigns, count) for process in (cell.before, cell.after)]
    values = np.where(deal == 0, arms[0], arms[1])
    if cell.shared is not None:
        values = values * cell.shared(draw, campaigns, count)
    if cell.gaps:
        yield from (_of_gaps(row, deal, draw) for row in draw.poisson(values))
        return
    if cell.seconds is None:
        for row in values:
            yield TwoSamples(row[deal == 0].tolist(), row[deal == 1].tolist())
        return
    times = np.where(deal == 0, *cell.seconds)
    rates = draw.poisson(values * times) / times
    both = [(seconds,) * int((deal == arm).sum()) for arm, seconds in enumerate(cell.seconds)]
    for row in rates:
        yield TwoSamples(row[deal == 0].tolist(), row[deal == 1].tolist(), (both[0], both[1]))


#: From so many gaps a boot on the report takes the boots alone.
_MANY_GAPS = 100


def _of_gaps(counts: Array, deal: Array, draw: Generator) -> TwoSamples:
    """The noise of gaps of one to a few units each, and what the report knows of them."""
    noise = np.array([float((1 + draw.exponential(1.0, count)).sum()) for count in counts])
    arms = [noise[deal == arm] for arm in (0, 1)]
    own, other = (counts[deal == arm].astype(float).tolist() for arm in (0, 1))
    ones = (1.0,) * len(own)
    few = min(sum(own), sum(other)) < _MANY_GAPS * len(ones)
    below = [np.flatnonzero(arm < 1).tolist() for arm in arms]
    return TwoSamples(
        np.maximum(arms[0], 1.0).tolist(),
        np.maximum(arms[1], 1.0).tolist(),
        below=(below[0], below[1]),
        events=TwoSamples(own, other, (ones, ones)) if few else None,
    )


def _deals(cell: Cell, draw: Generator) -> Iterator[Array]:
    """The order of the boots, 0 before and 1 after: spelled out in letters, or drawn as tune draws
    it."""
    if cell.order != "drawn":
        letters = (cell.order * cell.pairs)[: 2 * cell.pairs]
        yield np.array(["AB".index(letter) for letter in letters])
        return
    for _ in range(_DEALS):
        seed = random.Random(int(draw.integers(2**32)))
        yield np.array([arm for block in draw_blocks((0, 1), cell.pairs, seed) for arm in block])


# The figures of a boot


def lognormal(spread: float, level: float = 1.0) -> Process:
    return lambda draw, rows, boots: level * np.exp(spread * draw.normal(size=(rows, boots)))


def heavy(freedom: float, spread: float, level: float = 1.0) -> Process:
    """Figures whose logarithm follows Student's t distribution."""
    return lambda draw, rows, boots: (
        level * np.exp(np.clip(spread * draw.standard_t(freedom, size=(rows, boots)), -300, 300))
    )


def skewed(spread: float, level: float = 1.0) -> Process:
    """Figures whose logarithm is exponential: many quiet boots and few loud ones."""
    return lambda draw, rows, boots: level * np.exp(spread * draw.exponential(size=(rows, boots)))


def constant(level: float) -> Process:
    return lambda _, rows, boots: np.full((rows, boots), level)


def gamma(level: float, bunching: float) -> Process:
    """Means such that counts in a unit of time have ``bunching`` times a Poisson's variance."""
    if bunching <= 1:
        return constant(level)
    scale = bunching - 1
    return lambda draw, rows, boots: draw.gamma(level / scale, scale, size=(rows, boots))


def storms(level: float, share: float, times: float) -> Process:
    """In this share of boots another activity raises the level ``times``-fold."""
    return lambda draw, rows, boots: np.where(
        draw.random((rows, boots)) < share, level * times, level
    )


def absent(level: float, share: float) -> Process:
    """A source that is missing in this share of boots."""
    return lambda draw, rows, boots: np.where(draw.random((rows, boots)) < share, 0.0, level)


def rounded(process: Process, digits: int) -> Process:
    """Figures rounded to so few digits that boots tie."""
    return lambda draw, rows, boots: np.maximum(np.round(process(draw, rows, boots), digits), 0.1)


def recorded(boots: Sequence[float]) -> Process:
    """Boots drawn from those of a recorded campaign."""
    return lambda draw, rows, count: draw.choice(np.array(boots), size=(rows, count))


def of_runs(process: Process, runs: int, effect: float = 0.0) -> Process:
    """A figure of a boot's half: the median of so many runs of the boot, all of which a setting
    changes by a factor of this boot's own, up as often as down."""

    def drawn(draw: Generator, rows: int, boots: int) -> Array:
        each = [process(draw, rows, boots) for _ in range(runs)]
        own = np.exp(effect * draw.normal(size=(rows, boots)))
        result: Array = own * np.median(each, axis=0)
        return result

    return drawn


# Changes of the machine during a campaign


def bases(spread: float) -> Process:
    """The level of each boot, which both of its halves share."""
    return lambda draw, rows, boots: np.repeat(
        np.exp(spread * draw.normal(size=(rows, boots // 2))), 2, axis=1
    )


def drift(slope: float) -> Process:
    return lambda _, rows, boots: np.tile(np.exp(slope * np.arange(boots)), (rows, 1))


def step(size: float) -> Process:
    """The level changes for good at one random boot of each campaign."""
    return lambda draw, rows, boots: np.exp(
        size * (np.arange(boots) >= draw.integers(1, boots, size=(rows, 1)))
    )


def walk(size: float) -> Process:
    return lambda draw, rows, boots: np.exp(size * draw.normal(size=(rows, boots)).cumsum(axis=1))


def alike(likeness: float, spread: float) -> Process:
    """Each boot resembles the previous one (autoregressive of order one)."""

    def process(draw: Generator, rows: int, boots: int) -> Array:
        levels = draw.normal(size=(rows, boots))
        for boot in range(1, boots):
            fresh = (1 - likeness**2) ** 0.5 * levels[:, boot]
            levels[:, boot] = likeness * levels[:, boot - 1] + fresh
        result: Array = np.exp(spread * levels)
        return result

    return process


def neighbour(stays: float, size: float) -> Process:
    """A neighbour that comes and goes; this is the chance that its state stays from boot to
    boot."""

    def process(draw: Generator, rows: int, boots: int) -> Array:
        there = (draw.random((rows, boots)) > stays).cumsum(axis=1) % 2
        flip = draw.integers(0, 2, size=(rows, 1))
        result: Array = np.exp(size * np.abs(there - flip))
        return result

    return process


def alternating(size: float) -> Process:
    """The machine is slower in every second boot."""

    def process(draw: Generator, rows: int, boots: int) -> Array:
        first = draw.integers(0, 2, size=(rows, 1))
        result: Array = np.exp(size * ((np.arange(boots) + first) % 2))
        return result

    return process


def product(*processes: Process) -> Process:
    def process(draw: Generator, rows: int, boots: int) -> Array:
        result: Array = np.ones((rows, boots))
        for one in processes:
            result = result * one(draw, rows, boots)
        return result

    return process


# The cells


def cells() -> list[Cell]:
    """Every kind with six and with eight pairs of drawn order; those without any change also in
    ABBA blocks, and with as many pairs as have flips drawn at random."""
    kinds = [*_figures(), *_within(), *_time(), *_counts(), *_fell(), *_near_the_floor()]
    drawn = [replace(kind, pairs=pairs) for pairs in (6, 8) for kind in kinds]
    blocks = [replace(kind, pairs=8, order="ABBA") for kind in (*_same(), *_time())]
    return [*drawn, *blocks, *(replace(kind, pairs=16) for kind in _same())]


def named(name: str, pairs: int = 8, order: str = "drawn") -> Cell:
    (found,) = (
        cell for cell in cells() if (cell.name, cell.pairs, cell.order) == (name, pairs, order)
    )
    return found


def _kind(name: str, one: Process, other: Optional[Process] = None, **more: object) -> Cell:
    return Cell(name, 8, "drawn", one, other or one, **more)  # type: ignore[arg-type]


def _same() -> Iterator[Cell]:
    """A noise-like figure of which nothing changes."""
    yield _kind("log-normal, 20 %", lognormal(0.2))
    yield _kind("log-normal, 150 %", lognormal(1.5))
    for name, seen in RECORDED.items():
        yield _kind(name, recorded(seen))
    for freedom in (1.0, 2.0, 3.0):
        yield _kind(f"heavy tails, t of {freedom:g}", heavy(freedom, 0.3))
    yield _kind("skewed", skewed(0.5))
    yield _kind("storms, 10 % of boots, 10 times", product(lognormal(0.1), storms(1, 0.1, 10)))
    yield _kind("ties, two digits", rounded(lognormal(0.2, 10), 0))
    yield _kind("ties, one of three values", rounded(lognormal(0.05, 10), 0))


def _figures() -> Iterator[Cell]:
    """A noise-like figure; either nothing changes or only its level does."""
    yield from _same()
    for ratio in (1.0, 1.25, 60.0):
        # The logarithms of both arms are symmetric, so that the truth is the middle of the pairs.
        yield _kind("50 % beside 8 %", lognormal(0.5, ratio), lognormal(0.08), truth=ratio)
    for ratio in (1.25, 60.0):
        yield _kind("log-normal, 10 %", lognormal(0.1, ratio), lognormal(0.1), truth=ratio)
        yield _kind("heavy tails, t of 2", heavy(2, 0.2, ratio), heavy(2, 0.2), truth=ratio)
    tight = lognormal(0.1, np.exp(0.5))
    yield _kind(
        "skewed beside a tight arm of the same geometric mean", skewed(0.5), tight, unlike=True
    )


_SLOW = {
    "trend of 3 % a boot": drift(0.03),
    "trend of 20 % a boot": drift(0.2),
    "step of 35 % at some boot": step(0.3),
    "step of 7 times at some boot": step(2.0),
    "random walk, 10 % a boot": walk(0.1),
    "random walk, 50 % a boot": walk(0.5),
    "alike by 0.5, 30 %": alike(0.5, 0.3),
    "alike by 0.8, 30 %": alike(0.8, 0.3),
    "alike by 0.95, 30 %": alike(0.95, 0.3),
    "unlike by 0.5, 30 %": alike(-0.5, 0.3),
    "a neighbour that comes and goes": neighbour(0.8, 1.0),
    "two modes that alternate": alternating(1.0),
}


def _within() -> Iterator[Cell]:
    """Boots in which a setting is toggled: each is a pair, of the medians of its runs. The bases of
    the boots differ, and the setting does so much in each boot that the pairs of one agree."""
    run = lognormal(0.05)
    for spread in (0.1, 1.0):
        for effect in (0.0, 0.5):
            name = (
                f"boots apart by {100 * spread:g} %, each with its own effect of {100 * effect:g} %"
            )
            yield _kind(name, of_runs(run, 4), of_runs(run, 4, effect), shared=bases(spread))


def _time() -> Iterator[Cell]:
    """The machine changes over time, while the arms do not differ."""
    own = lognormal(0.05)
    for name, process in _SLOW.items():
        yield _kind(name, own, shared=process)
    less = lognormal(0.05, 1.25)
    yield _kind("alike by 0.8, 30 %", less, own, shared=alike(0.8, 0.3), truth=1.25)
    yield _kind("random walk, 10 % a boot", lognormal(0.05, 60), own, shared=walk(0.1), truth=60.0)


_MEANS = (0.2, 0.5, 1.0, 2.0, 5.0, 20.0, 1000.0)


def _counted(name: str, one: Process, other: Process, **more: object) -> Cell:
    return _kind(name, one, other, **{"seconds": (1.0, 1.0), **more})


def _counts() -> Iterator[Cell]:
    """Counts of events with equal means in both arms; the unit of time is one boot."""
    for mean in _MEANS:
        yield _counted(f"Poisson, mean {mean:g}", constant(mean), constant(mean))
    for mean in (0.5, 2.0, 20.0, 1000.0):
        for bunching in (2.0, 4.0, 10.0):
            own = gamma(mean, bunching)
            name = f"gamma-Poisson, mean {mean:g}, variance x {bunching:g}"
            yield _counted(name, own, own)
            yield _counted(f"Poisson beside {name}", constant(mean), own)
    for spread in (0.008, 0.05, 0.3):
        own = lognormal(spread, 90_000)
        yield _counted(f"90,000 events, boots by {spread * 100:g} %", own, own)
    storm = storms(0.5, 0.1, 200)
    yield _counted("mean 0.5, in 10 % of boots 100", storm, storm)
    half = absent(4.0, 0.5)
    yield _counted("zero in half of the boots, else mean 4", half, half)
    plain = constant(2.0)
    yield _counted("Poisson beside zero in half of the boots", plain, half)
    for mean in (0.5, 5.0):
        for kind, own in (("Poisson", constant(mean)), ("gamma-Poisson", gamma(mean, 4.0))):
            for times in ((1.0, 6.0), (12.0, 1.0)):
                name = f"{kind}, mean {mean:g}, {times[0]:g} to {times[1]:g} times as long"
                yield _counted(name, own, own, seconds=times)
    for name, process in _SLOW.items():
        for mean in (3, 300):
            own = constant(mean)
            yield _counted(f"mean {mean}, {name}", own, own, shared=process)


def _fell() -> Iterator[Cell]:
    """Many events before, few after: does the interval contain the ratio of the means?"""
    for mean in _MEANS[:-1]:
        for bunching in (1.0, 2.0, 4.0):
            kind = f"Poisson, variance x {bunching:g}" if bunching > 1 else "Poisson"
            yield _counted(
                f"3,000 to {mean:g}, {kind}",
                *(lognormal(0.01, 3000), gamma(mean, bunching)),
                truth=3000 / mean,
            )
    storm = storms(50.0, 0.1, 100), storms(5.0, 0.1, 100)
    yield _counted("50 to 5, in 10 % of boots 100 times as many", *storm, truth=10.0)
    storm = storms(5.0, 0.1, 100), storms(0.5, 0.1, 100)
    yield _counted("5 to 0.5, in 10 % of boots 100 times as many", *storm, truth=10.0, unlike=True)
    many = lognormal(0.05, 112_500), lognormal(0.05, 90_000)
    yield _counted("20 % fewer of 90,000", *many, truth=1.25)


def _near_the_floor() -> Iterator[Cell]:
    """Noise of so few gaps that boots without any lie below what a run can tell."""
    for one, other in (
        *((300.0, 0.05), (300.0, 0.3), (300.0, 3.0), (300.0, 20.0), (30.0, 3.0), (1.0, 0.1)),
        *((0.5, 1.5), (0.5, 0.5), (3.0, 3.0), (20.0, 20.0)),
    ):
        name = f"noise of {one:g} gaps a boot, then {other:g}"
        yield _kind(name, constant(one), constant(other), gaps=True, truth=one / other)
