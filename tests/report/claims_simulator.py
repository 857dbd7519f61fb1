# SPDX-License-Identifier: GPL-2.0-or-later
"""Campaigns of known truth, generated independently of the report: boots in order of time, each
drawn from a process and assigned to one of two arms. The report's claims are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Optional

from campaigns import RECORDED

from lowlat.report.stats import flips
from lowlat.report.stats.pairs import Pairs
from lowlat.report.stats.permutation import infer
from lowlat.report.stats.samples import HALF, Order, TwoSamples
from support import needs

np = needs.module("numpy", "the extra `report` is not installed")
stats = needs.module("scipy.stats", "the extra `report` is not installed")

if TYPE_CHECKING:
    from numpy.random import Generator

    from lowlat.report.stats.samples import Array

    #: Draws a number of campaigns (rows) with a number of boots (columns, in time order).
    Process = Callable[[Generator, int, int], Array]

#: The number of random orders in a cell with random order.
_DEALS = 20

#: That of a cell of pairs, in which the order itself decides.
_DEALS_OF_PAIRS = 200

#: The largest number of draws until the arms of an order take turns.
_TRIES = 1000


@dataclass(frozen=True)
class Cell:
    """Campaigns of one kind. ``before`` and ``after`` draw each arm's figure as if every boot were
    the arm's; ``shared`` is a factor on both, for changes of the machine. ``seconds`` makes the
    figure a mean of events that a Poisson process counts in that time. ``truth`` is the ratio that
    the interval should contain."""

    name: str
    boots: tuple[int, int]
    order: str
    before: Process
    after: Process
    shared: Optional[Process] = None
    seconds: Optional[tuple[float, float]] = None
    truth: float = 1.0


#: The interval of each campaign's ratio, and whether a change was found.
Judge = Callable[[Sequence[TwoSamples], Order], "Iterator[tuple[float, float, bool]]"]


@dataclass(frozen=True)
class Judged:
    """The shares of campaigns with a change found, and with the truth in the interval."""

    found: float
    covered: float

    def good(self, cell: Cell) -> bool:
        return self.covered >= 0.94 and (cell.truth != 1 or self.found <= 0.06)


def report(rows: Sequence[TwoSamples], order: Order) -> Iterator[tuple[float, float, bool]]:
    """The report's claims; each campaign stands alone, without adjustment for the other
    campaigns."""
    for result in infer(rows, order):
        low, high = result.ci95
        yield low, high, result.p <= 0.05 and not low <= 1 <= high


def by_pairs(rows: Sequence[TwoSamples], order: Order) -> Iterator[tuple[float, float, bool]]:
    """The claims of the signs of the pairs."""
    for result in flips.infer([_in_pairs(row, order) for row in rows]):
        low, high = result.ci95
        yield low, high, result.p <= 0.05 and not low <= 1 <= high


def _in_pairs(row: TwoSamples, order: Order) -> TwoSamples:
    places = list(zip(*Pairs.of(order.before, order.after).boots))
    before, after = ([arm[n] for n in own] for arm, own in zip((row.before, row.after), places))
    if row.seconds is None:
        return TwoSamples(before, after)
    one, other = ([arm[n] for n in own] for arm, own in zip(row.seconds, places))
    return TwoSamples(before, after, (one, other))


def logarithms(rows: Sequence[TwoSamples], order: Order) -> Iterator[tuple[float, float, bool]]:
    """The claims from the logarithm of the count plus a half alone."""
    plain = []
    for row in rows:
        assert row.seconds is not None
        arms = zip((row.before, row.after), row.seconds)
        before, after = ([v + HALF / t for v, t in zip(*arm)] for arm in arms)
        plain.append(TwoSamples(before, after))
    return report(plain, order)


def quasi_poisson(rows: Sequence[TwoSamples], _: Order) -> Iterator[tuple[float, float, bool]]:
    """The usual method: Wald's interval of a log-linear model with one dispersion for both arms."""
    for row in rows:
        arms = [np.array(arm) for arm in (row.before, row.after)]
        means = [max(float(arm.mean()), HALF / len(arm)) for arm in arms]
        free = sum(map(len, arms)) - 2
        pearson = sum(float(((arm - m) ** 2).sum()) / m for arm, m in zip(arms, means)) / free
        error = sum(max(pearson, 1.0) / (len(arm) * m) for arm, m in zip(arms, means)) ** 0.5
        half = float(stats.t.isf(0.025, free)) * error
        ratio = means[0] / means[1]
        low, high = ratio * np.exp(-half), ratio * np.exp(half)
        yield low, high, not low <= 1 <= high


def judge(cell: Cell, campaigns: int, seed: int, say: Judge = report) -> Optional[Judged]:
    """The results of this many campaigns; None if the arms do not take turns, so that there is no
    verdict."""
    draw = np.random.default_rng(seed)
    found = covered = 0
    deals = list(_deals(cell, draw))
    for deal in deals:
        order = Order(*(tuple(map(float, np.flatnonzero(deal == arm))) for arm in (0, 1)))
        if not order.takes_turns:
            return None
        rows = list(_rows(cell, deal, campaigns // len(deals), draw))
        for low, high, changed in say(rows, order):
            found += changed
            covered += low <= cell.truth <= high
    done = campaigns // len(deals) * len(deals)
    return Judged(found / done, covered / done)


def _rows(cell: Cell, deal: Array, campaigns: int, draw: Generator) -> Iterator[TwoSamples]:
    count = len(deal)
    arms = [process(draw, campaigns, count) for process in (cell.before, cell.after)]
    values = np.where(deal == 0, arms[0], arms[1])
    if cell.shared is not None:
        values = values * cell.shared(draw, campaigns, count)
    if cell.seconds is None:
        for row in values:
            yield TwoSamples(row[deal == 0].tolist(), row[deal == 1].tolist())
        return
    times = np.where(deal == 0, *cell.seconds)
    rates = draw.poisson(values * times) / times
    both = [(seconds,) * int((deal == arm).sum()) for arm, seconds in enumerate(cell.seconds)]
    for row in rates:
        yield TwoSamples(row[deal == 0].tolist(), row[deal == 1].tolist(), (both[0], both[1]))


def _deals(cell: Cell, draw: Generator) -> Iterator[Array]:
    """The order of the boots, 0 before and 1 after: spelled out in letters, ``random`` orders in
    which the arms take turns, or ``pairs`` in random order, not all in the same one."""
    if cell.order == "pairs":
        for _ in range(_DEALS_OF_PAIRS):
            first = draw.integers(0, 2, cell.boots[0])
            while first.min() == first.max():
                first = draw.integers(0, 2, cell.boots[0])
            yield np.stack([first, 1 - first], axis=1).ravel()
        return
    if cell.order != "random":
        yield dealt(cell.order, cell.boots)
        return
    deal = np.repeat([0, 1], cell.boots)
    for _ in range(_DEALS):
        for _ in range(_TRIES):
            draw.shuffle(deal)
            if 1 + int((np.diff(deal) != 0).sum()) >= 6:
                break
        yield deal.copy()


def dealt(order: str, boots: tuple[int, int]) -> Array:
    """Letters in time order, A before and B after, repeated until both arms have their boots."""
    left = [*boots]
    result: list[int] = []
    while sum(left):
        for letter in order:
            arm = "AB".index(letter)
            if left[arm]:
                left[arm] -= 1
                result.append(arm)
    deal: Array = np.array(result)
    return deal


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


# Changes of the machine during a campaign


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
    return [*_figures(), *_time(), *_counts(), *_fell(), *_refused()]


def paired_cells() -> Iterator[Cell]:
    """The processes of all cells in pairs of random order, and what pairs are for."""
    kinds = {(one.name, one.seconds, one.truth): one for one in cells()}
    for boots in ((6, 6), (8, 8)):
        for cell in kinds.values():
            yield replace(cell, boots=boots, order="pairs")
        for order in ("pairs", "ABBA"):
            yield _same("log-normal, 20 %", lognormal(0.2), boots, order)
        own = lognormal(0.05)
        for name, process in (
            ("two modes that alternate", alternating(1.0)),
            ("unlike by 0.5, 30 %", alike(-0.5, 0.3)),
        ):
            yield Cell(name, boots, "pairs", own, own, process)


def _same(name: str, process: Process, boots: tuple[int, int] = (5, 5), order: str = "AB") -> Cell:
    return Cell(name, boots, order, process, process)


def _figures() -> Iterator[Cell]:
    """A noise-like figure; either nothing changes or only its level does."""
    for boots in ((5, 5), (10, 10), (5, 10), (6, 5), (20, 5)):
        yield _same("log-normal, 20 %", lognormal(0.2), boots)
    for order in ("ABBA", "random"):
        yield _same("log-normal, 20 %", lognormal(0.2), (5, 5), order)
    yield _same("log-normal, 150 %", lognormal(1.5))
    for name, seen in RECORDED.items():
        for order in ("AB", "ABBA", "random"):
            yield _same(name, recorded(seen), (5, 5), order)
    for freedom in (1.0, 2.0, 3.0):
        for boots in ((5, 5), (7, 7)):
            yield _same(f"heavy tails, t of {freedom:g}", heavy(freedom, 0.3), boots)
    for boots in ((5, 5), (5, 10), (10, 5)):
        yield _same("skewed", skewed(0.5), boots)
        yield _same(
            "storms, 10 % of boots, 10 times", product(lognormal(0.1), storms(1, 0.1, 10)), boots
        )
    yield _same("ties, two digits", rounded(lognormal(0.2, 10), 0))
    yield _same("ties, one of three values", rounded(lognormal(0.05, 10), 0))
    for boots in ((5, 5), (5, 10), (10, 5), (5, 20), (20, 5), (6, 5)):
        yield Cell("50 % beside 8 %", boots, "AB", lognormal(0.5), lognormal(0.08))
    for ratio in (1.25, 60.0):
        yield Cell(
            "log-normal, 10 %", (5, 5), "ABBA", lognormal(0.1, ratio), lognormal(0.1), truth=ratio
        )
        yield Cell(
            "50 % beside 8 %", (5, 10), "AB", lognormal(0.5, ratio), lognormal(0.08), truth=ratio
        )
        yield Cell(
            "heavy tails, t of 2",
            (5, 5),
            "random",
            heavy(2, 0.2, ratio),
            heavy(2, 0.2),
            truth=ratio,
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
    "a neighbour that comes and goes": neighbour(0.8, 1.0),
}

_ORDERS = (
    ("AB", (5, 5)),
    ("ABBA", (5, 5)),
    ("random", (5, 5)),
    ("AABBAABABB", (5, 5)),
    ("AAABABABBB", (5, 5)),
    ("ABBA", (7, 7)),
    ("random", (7, 7)),
    ("AAABBAABBAABBB", (7, 7)),
    ("AAAAABABABBBBB", (7, 7)),
    ("ABB", (5, 10)),
)


def _time() -> Iterator[Cell]:
    """The machine changes over time, while the arms do not differ."""
    own = lognormal(0.05)
    for name, process in _SLOW.items():
        for order, boots in _ORDERS:
            yield Cell(name, boots, order, own, own, process)
    for name in ("step of 35 % at some boot", "random walk, 10 % a boot", "alike by 0.95, 30 %"):
        for order in ("ABBA", "AAAABBBAAABBBBAAABBB"):
            yield Cell(name, (10, 10), order, own, own, _SLOW[name])
    yield Cell(
        "alike by 0.8, 30 %",
        (5, 5),
        "ABBA",
        lognormal(0.05, 1.25),
        own,
        alike(0.8, 0.3),
        truth=1.25,
    )
    yield Cell(
        "random walk, 10 % a boot", (5, 5), "AB", lognormal(0.05, 60), own, walk(0.1), truth=60.0
    )


_MEANS = (0.2, 0.5, 1.0, 2.0, 5.0, 20.0, 1000.0)


def _counted(
    name: str, one: Process, other: Process, boots: tuple[int, int], **more: object
) -> Cell:
    given = {"order": "ABBA", "seconds": (1.0, 1.0), **more}
    return Cell(name, boots, before=one, after=other, **given)  # type: ignore[arg-type]


def _counts() -> Iterator[Cell]:
    """Counts of events with equal means in both arms; the unit of time is one boot."""
    for mean in _MEANS:
        for boots in ((5, 5), (7, 7), (5, 10)):
            yield _counted(f"Poisson, mean {mean:g}", constant(mean), constant(mean), boots)
    for mean in (0.5, 2.0, 20.0, 1000.0):
        for bunching in (2.0, 4.0, 10.0):
            own = gamma(mean, bunching)
            name = f"gamma-Poisson, mean {mean:g}, variance x {bunching:g}"
            yield _counted(name, own, own, (5, 5))
            yield _counted(name, own, own, (7, 7), order="random")
            plain = constant(mean)
            yield _counted(f"Poisson beside {name}", plain, own, (5, 5))
            yield _counted(f"Poisson beside {name}", plain, own, (10, 5))
            yield _counted(f"Poisson beside {name}", plain, own, (5, 10))
    for spread in (0.008, 0.05, 0.3):
        own = lognormal(spread, 90_000)
        yield _counted(f"90,000 events, boots by {spread * 100:g} %", own, own, (5, 5))
        yield _counted(f"90,000 events, boots by {spread * 100:g} %", own, own, (10, 5))
    for boots in ((5, 5), (7, 7), (5, 10)):
        storm = storms(0.5, 0.1, 200)
        yield _counted("mean 0.5, in 10 % of boots 100", storm, storm, boots)
        half = absent(4.0, 0.5)
        yield _counted("zero in half of the boots, else mean 4", half, half, boots)
        yield _counted("Poisson beside zero in half of the boots", constant(2.0), half, boots)
    for mean in (0.5, 5.0):
        for own in (constant(mean), gamma(mean, 4.0)):
            kind = "Poisson" if own(np.random.default_rng(1), 1, 2).std() == 0 else "gamma-Poisson"
            for times in ((1.0, 6.0), (12.0, 1.0)):
                name = f"{kind}, mean {mean:g}, {times[0]:g} to {times[1]:g} times as long"
                yield _counted(name, own, own, (5, 5), seconds=times)
                yield _counted(name, own, own, (7, 7), seconds=times)
    for name, process in _SLOW.items():
        yield _counted(f"mean 3, {name}", constant(3), constant(3), (5, 5), shared=process)
        yield _counted(f"mean 300, {name}", constant(300), constant(300), (5, 5), shared=process)


def _fell() -> Iterator[Cell]:
    """Many events before, few after: does the interval contain the ratio of the means?"""
    for mean in _MEANS[:-1]:
        for boots in ((5, 5), (7, 7), (10, 5)):
            for bunching in (1.0, 2.0, 4.0):
                kind = f"Poisson, variance x {bunching:g}" if bunching > 1 else "Poisson"
                yield _counted(
                    f"3,000 to {mean:g}, {kind}",
                    *(lognormal(0.01, 3000), gamma(mean, bunching), boots),
                    truth=3000 / mean,
                )
    for boots in ((5, 5), (7, 7)):
        storm = (storms(5.0, 0.1, 100), storms(0.5, 0.1, 100))
        yield _counted("10 times fewer, storms too", *storm, boots, truth=10.0)
        yield _counted(
            "20 % fewer of 90,000",
            lognormal(0.05, 112_500),
            lognormal(0.05, 90_000),
            boots,
            truth=1.25,
        )


def _refused() -> Iterator[Cell]:
    """Orders without a verdict."""
    for order, boots in (("AAAAABBBBB", (5, 5)), ("AABBB", (4, 6)), ("AABBAABBAB", (5, 5))):
        yield _same("log-normal, 20 %", lognormal(0.2), boots, order)
