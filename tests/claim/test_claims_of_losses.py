# SPDX-License-Identifier: GPL-2.0-or-later
"""The report's error rates where boots, rounds or hosts are lost, orders are lopsided, or somebody
looks too early: campaigns of known truth (claims_simulator). Nothing ever changes in them.

``make proofs NAME=claims`` judges every cell and writes CLAIMS_OF_LOSSES.md.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Optional

import pytest
from claims_simulator import (
    alternating,
    drift,
    lognormal,
    neighbour,
    np,
    product,
    stats,
    storms,
    walk,
)

from lowlat.claim.stats import flips
from lowlat.claim.stats.flips import ENOUGH_PAIRS, Result
from lowlat.claim.stats.lost import LoneBoots, counted_against, weakest_result
from lowlat.claim.stats.pairs import is_lopsided
from lowlat.claim.stats.rounds import HostRounds, average_rounds, shared_rounds
from lowlat.claim.stats.samples import ALPHA, TwoSamples
from lowlat.model.order import draw_blocks

if TYPE_CHECKING:
    from claims_simulator import Process
    from numpy.random import Generator

    from lowlat.claim.stats.samples import Array

CAMPAIGNS = 2000

#: Rows that are tested together: all flips of all of them are in memory.
_AT_ONCE = 250

#: The most that may be false of what gets a verdict.
MOST = 0.06

#: Of the boots of a campaign those that leave no run: their values, and where the tuned ones are.
Loss = Callable[["Generator", "Array", "Array"], "Array"]


@dataclass(frozen=True)
class Found:
    """Of so many campaigns those that were claimed, those with an interval that lacks the truth,
    and those without a verdict."""

    campaigns: int
    false: int
    missed: int
    silent: int

    def ends(self, count: int) -> tuple[float, float]:
        """The exact (Clopper-Pearson) 95 % interval of a share."""
        low = stats.beta.ppf(ALPHA / 2, count, self.campaigns - count + 1) if count else 0.0
        rest = self.campaigns - count
        high = stats.beta.ppf(1 - ALPHA / 2, count + 1, rest) if rest else 1.0
        return float(low), float(high)

    @property
    def good(self) -> bool:
        return max(self.ends(self.false)[0], self.ends(self.missed)[0]) <= MOST


#: A look at a campaign: the rows that are tested, of which the weakest result counts.
Look = list[TwoSamples]


@dataclass(frozen=True)
class LossCell:
    """A kind of campaign: ``play`` makes one and gives the rows of each look at it, none if nothing
    is tested. The order was ``drawn`` or not."""

    name: str
    play: Callable[[Generator], list[Look]]
    drawn: bool = True


def judged(cell: LossCell, campaigns: int, seed: int) -> Found:
    draw = np.random.default_rng(seed)
    each = [cell.play(draw) for _ in range(campaigns)]
    results = _inferred([row for looks in each for look in looks for row in look], cell.drawn)
    weak = [[weakest_result([next(results) for _ in look]) for look in looks] for looks in each]
    told = [_told(own, looks) for own, looks in zip(weak, each)]
    known = [result for result in told if result is not None]
    false = sum(_claims(result) for result in known)
    missed = sum(not result.ci95[0] <= 1 <= result.ci95[1] for result in known)
    return Found(campaigns, false, missed, campaigns - len(known))


def _claims(result: Result) -> bool:
    return result.p <= ALPHA and not result.ci95[0] <= 1 <= result.ci95[1]


def _told(results: list[Result], looks: list[Look]) -> Optional[Result]:
    """What the report says at the first look that claims, else at the last: where something is
    lost, only a claim."""
    claimed = next((result for result in results if _claims(result)), None)
    whole = bool(looks) and len(looks[-1]) == 1
    return claimed or (results[-1] if whole else None)


def _inferred(rows: Sequence[TwoSamples], drawn: bool) -> Iterator[Result]:
    """The results of these rows, those of one length together."""
    found: dict[int, Result] = {}
    lengths = [len(row.before) for row in rows]
    for length in set(lengths):
        places = [n for n, own in enumerate(lengths) if own == length]
        for begin in range(0, len(places), _AT_ONCE):
            part = places[begin : begin + _AT_ONCE]
            found.update(zip(part, flips.infer([rows[n] for n in part], drawn=drawn)))
    return (found[n] for n in range(len(rows)))


def _order(draw: Generator, pairs: int) -> Array:
    """A drawn order: 0 for a stock boot, 1 for a tuned one."""
    seed = random.Random(int(draw.integers(2**32)))
    order: Array = np.array([a for block in draw_blocks((0, 1), pairs, seed) for a in block])
    return order


def _rows(values: Array, tuned: Array, lost: Array) -> tuple[list[int], list[TwoSamples]]:
    """The numbers of the whole pairs, then of those that lack a boot; and the values of the whole
    pairs, and with the lost boots counted against a fall and against a rise."""
    stock, other = (np.argmax(tuned.reshape(-1, 2) == arm, axis=1) for arm in (0, 1))
    numbers = np.arange(len(stock))
    one, two = values.reshape(-1, 2)[numbers, stock], values.reshape(-1, 2)[numbers, other]
    gone = lost.reshape(-1, 2)
    has = ~gone[numbers, stock], ~gone[numbers, other]
    whole = has[0] & has[1]
    lone = has[0] & ~has[1], has[1] & ~has[0]
    neither = ~has[0] & ~has[1]
    row = TwoSamples(one[whole].tolist(), two[whole].tolist())
    beside = TwoSamples(one[lone[0]].tolist(), two[lone[1]].tolist())
    order = [int(n) for own in (whole, *lone, neither) for n in numbers[own]]
    if whole.all() or not whole.any():
        return order, [row]
    return order, [row, *counted_against(row, LoneBoots(beside, int(neither.sum())))]


def _of_machine(values: Array, tuned: Array, lost: Array) -> list[Look]:
    _, rows = _rows(values, tuned, lost)
    return [rows] if len(rows[0].before) >= ENOUGH_PAIRS else []


def machine(name: str, pairs: int, values: Process, loss: Loss) -> LossCell:
    def play(draw: Generator) -> list[Look]:
        tuned = _order(draw, pairs)
        own = values(draw, 1, 2 * pairs)[0]
        return _of_machine(own, tuned, loss(draw, own, tuned))

    return LossCell(f"{name}; {pairs} pairs", play)


def some(count: int) -> Loss:
    """So many boots, at random."""

    def lose(draw: Generator, values: Array, _: Array) -> Array:
        places = draw.choice(len(values), count, replace=False)
        lost: Array = np.isin(np.arange(len(values)), places)
        return lost

    return lose


def loud_tuned(draw: Generator, values: Array, tuned: Array) -> Array:
    """The tuned boots that are ten times as loud as others crash."""
    lost: Array = (tuned == 1) & (values > 3)
    return lost


def worst_tuned(draw: Generator, values: Array, tuned: Array) -> Array:
    """Somebody leaves the worst tuned boot out."""
    lost: Array = np.arange(len(values)) == np.argmax(np.where(tuned == 1, values, 0))
    return lost


def looking(name: str, pairs: int, values: Process) -> LossCell:
    """Somebody looks after each pair from the sixth on, and takes the first claim."""

    def play(draw: Generator) -> list[Look]:
        tuned, own = _order(draw, pairs), values(draw, 1, 2 * pairs)[0]
        counts = range(ENOUGH_PAIRS, pairs + 1)
        each = (_of_machine(own, tuned, np.arange(2 * pairs) >= 2 * count) for count in counts)
        return [look for looks in each for look in looks]

    return LossCell(f"{name}; {pairs} pairs", play)


def by_hand(times: float, first: int, second: int) -> LossCell:
    """No campaign: so many pairs with stock first and with tuned first."""
    own = lognormal(0.1)

    def play(draw: Generator) -> list[Look]:
        signs = [1] * first + [-1] * second
        if is_lopsided(signs):
            return []
        rows = own(draw, 2, len(signs)) * np.array([[1.0], [times]])
        turned = np.array(signs) < 0
        one, other = np.where(turned, rows[::-1], rows)
        return [[TwoSamples(one.tolist(), other.tolist())]]

    name = f"by hand: own 10 %, second boots {times:g} times; {first}+{second} pairs"
    return LossCell(name, play, drawn=False)


@dataclass(frozen=True)
class FleetCell:
    """Hosts whose boots share what a process says; ``lost`` are the boots of a host that leave no
    run. Rounds are joined by number, or by time, a host ``late`` by a round."""

    hosts: int
    pairs: int
    own: float
    shared: Process
    lost: Callable[[Generator, int, int], Array]
    campaign: bool = True
    late: bool = False

    def play(self, draw: Generator) -> list[Look]:
        tuned = _order(draw, self.pairs)
        common = self.shared(draw, 1, 2 * self.pairs + 2)[0]
        each = []
        for host in range(self.hosts):
            begin = 2 * (self.late and host % 2)
            weather = common[begin : begin + 2 * self.pairs]
            own = weather * lognormal(self.own)(draw, 1, 2 * self.pairs)[0]
            numbers, rows = _rows(own, tuned, self.lost(draw, host, self.pairs))
            if len(rows[0].before) >= ENOUGH_PAIRS:
                each.append(([n + begin // 2 * (not self.campaign) for n in numbers], rows))
        ways = range(3 if self.campaign and any(len(rows) > 1 for _, rows in each) else 1)
        found = [[_way(numbers, rows, way) for numbers, rows in each] for way in ways]
        if len(each) < 2 or len(shared_rounds(found[0])) < ENOUGH_PAIRS:
            return []
        return [[average_rounds(hosts) for hosts in found]]


def _way(numbers: list[int], rows: list[TwoSamples], way: int) -> HostRounds:
    row = rows[way if len(rows) > 1 else 0]
    return HostRounds(numbers[: len(row.before)], row)


def first_round(draw: Generator, host: int, pairs: int) -> Array:
    lost: Array = (np.arange(2 * pairs) < 2) & (host % 2 == 1)
    return lost


def a_round(chance: float) -> Callable[[Generator, int, int], Array]:
    def lose(draw: Generator, _: int, pairs: int) -> Array:
        at = draw.integers(pairs) if draw.random() < chance else -1
        lost: Array = np.arange(2 * pairs) // 2 == at
        return lost

    return lose


def a_boot(draw: Generator, _: int, pairs: int) -> Array:
    at = draw.integers(2 * pairs) if draw.random() < 0.5 else -1
    lost: Array = np.arange(2 * pairs) == at
    return lost


def nothing(draw: Generator, _: int, pairs: int) -> Array:
    lost: Array = np.zeros(2 * pairs, dtype=bool)
    return lost


def whole(_: Generator, values: Array, __: Array) -> Array:
    lost: Array = np.zeros(len(values), dtype=bool)
    return lost


def cells() -> list[LossCell]:
    return [*_fleets(), *_machines(), *_lopsided(), *_drawn()]


def _fleets() -> Iterator[LossCell]:
    shock, near, quiet = lognormal(0.3), neighbour(0.85, float(np.log(2))), lognormal(0.0)
    losses = (
        ("every second host lacks round 1", first_round),
        ("each loses a round with probability 1/2", a_round(0.5)),
        ("each loses a boot with probability 1/2", a_boot),
        ("every host loses a round", a_round(1.0)),
    )
    for what, shared in (("shock 30 %", shock), ("neighbour 2 times", near), ("nothing", quiet)):
        for how, lost in losses:
            for pairs in (8, 10) if shared is not quiet else (8,):
                name = f"8 hosts share: {what}; {how}; {pairs} rounds"
                yield LossCell(name, FleetCell(8, pairs, 0.1, shared, lost).play)
    for pairs in (8, 10):
        timed = FleetCell(8, pairs, 0.1, shock, first_round, campaign=False)
        name = f"8 hosts share: shock 30 %; no campaign, every second begins a round late; {pairs}"
        yield LossCell(name, timed.play, drawn=False)
    for campaign in (True, False):
        late = FleetCell(2, 8, 0.05, shock, nothing, campaign, late=True)
        how = "by number" if campaign else "by time"
        name = f"2 hosts share: shock 30 %; the second a round later, {how}; 8"
        yield LossCell(name, late.play, drawn=campaign)


def _machines() -> Iterator[LossCell]:
    own = lognormal(0.05)
    yield machine("trend of 20 % a boot, 2 boots lost", 10, product(own, drift(0.2)), some(2))
    yield machine("trend of 5 % a boot, 3 boots lost", 12, product(own, drift(0.05)), some(3))
    loud = "a fifth of boots at 10 times, of which the tuned ones crash"
    yield machine(loud, 10, product(own, storms(1, 0.2, 10)), loud_tuned)
    yield machine("own 20 %, the worst tuned boot is left out", 8, lognormal(0.2), worst_tuned)
    yield looking("own 20 %, looking after each pair from 6 on", 12, lognormal(0.2))


#: The pairs of either order: as lopsided as they may be without a campaign, and beyond.
_ORDERS = ((7, 1), (9, 1), (11, 1), (8, 2), (10, 2), (12, 2), (4, 2), (5, 2), (6, 2), (6, 3))
_NEAR = ((7, 3), (8, 3), (9, 3), (5, 3), (6, 4), (7, 5), (3, 3), (4, 4), (5, 5), (6, 6))


def _lopsided() -> Iterator[LossCell]:
    for times in (1.1, 1.3):
        for first, second in (*_ORDERS, *_NEAR):
            yield by_hand(times, first, second)


def _drawn() -> Iterator[LossCell]:
    """Balanced orders of 6 to 12 pairs, tested over all flips."""
    own = lognormal(0.05)
    places: tuple[tuple[str, Process], ...] = (
        ("trend of 3 % a boot", drift(0.03)),
        ("trend of 20 % a boot", drift(0.2)),
        ("every second boot 1.1 times", alternating(float(np.log(1.1)))),
        ("every second boot 1.3 times", alternating(float(np.log(1.3)))),
        ("every second boot 2 times", alternating(float(np.log(2.0)))),
        ("random walk of 10 % a boot", walk(0.1)),
        ("random walk of 50 % a boot", walk(0.5)),
    )
    for pairs in range(ENOUGH_PAIRS, 13):
        for name, place in places:
            yield machine(f"drawn, balanced: {name}", pairs, product(own, place), whole)


#: Every run judges these.
_QUICK = (
    "8 hosts share: shock 30 %; every second host lacks round 1; 8 rounds",
    "8 hosts share: shock 30 %; no campaign, every second begins a round late; 8",
    "a fifth of boots at 10 times, of which the tuned ones crash; 10 pairs",
    "own 20 %, looking after each pair from 6 on; 12 pairs",
    "by hand: own 10 %, second boots 1.3 times; 9+1 pairs",
    "by hand: own 10 %, second boots 1.1 times; 6+2 pairs",
    "drawn, balanced: every second boot 1.3 times; 8 pairs",
)


@pytest.mark.parametrize("name", _QUICK)
def test_at_most_6_percent_are_false(name: str) -> None:
    (cell,) = (one for one in cells() if one.name == name)
    found = judged(cell, 150, 1)
    assert found.good, found


def test_an_order_by_hand_is_balanced_or_not_tested() -> None:
    """Of 6 to 12 pairs, whatever the order: what is tested has a quarter in the rarer one."""
    tested = {
        (first, pairs - first)
        for pairs in range(6, 13)
        for first in range(pairs + 1)
        if not is_lopsided([1] * first + [-1] * (pairs - first))
    }
    assert {pair for pair in tested if min(pair) * 4 < sum(pair)} == set()
    untested = {(7, 1), (9, 1), (11, 1), (8, 2), (10, 2), (12, 2), (8, 3), (9, 3)}
    assert not tested & untested and tested >= {*_NEAR} - untested


@pytest.mark.proof
def test_every_cell_of_losses() -> None:
    every = cells()
    with ProcessPoolExecutor(2) as pool:
        found = list(pool.map(_one, range(len(every))))
    if out := os.environ.get("LOWLAT_CLAIMS"):
        Path(out).with_name("CLAIMS_OF_LOSSES.md").write_text(
            "\n".join([*_HEAD, *map(_row, every, found), ""])
        )
    assert [(cell.name, one) for cell, one in zip(every, found) if not one.good] == []


def _one(number: int) -> Found:
    return judged(cells()[number], CAMPAIGNS, number)


_HEAD = (
    "<!-- SPDX-License-Identifier: GPL-2.0-or-later; written by make proofs NAME=claims -->",
    "# How often a claim is false where something is lost",
    "",
    f"Made at commit {os.environ.get('LOWLAT_COMMIT', 'unknown')}.",
    "",
    f"{CAMPAIGNS:,} simulated campaigns a row, by `tests/claim/test_claims_of_losses.py`. In none "
    "does anything change, so each",
    "claim is false. In brackets stands the exact (Clopper-Pearson) 95 % interval of the share. "
    "*Covered* counts the campaigns",
    "whose interval holds the truth or that have no verdict; *no verdict* is the share of the "
    "latter.",
    "",
    "| campaigns | false | covered | no verdict |",
    "|---|---:|---:|---:|",
)


def _row(cell: LossCell, found: Found) -> str:
    false, covered = found.false, found.campaigns - found.missed
    shares = (_share(found, false), _share(found, covered), f"{found.silent / found.campaigns:.1%}")
    return f"| {' | '.join((cell.name, *shares))} |"


def _share(found: Found, count: int) -> str:
    low, high = found.ends(count)
    return f"{count / found.campaigns:.1%} [{low:.1%}, {high:.1%}]"
