# SPDX-License-Identifier: GPL-2.0-or-later
"""How long the test lasts that is looked at after every pair, and how often it is wrong:
campaigns of claims_simulator, each ended as ``tune --until-clear`` ends it."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from campaigns import RECORDED
from claims_simulator import (
    Cell,
    Judged,
    _deals,
    _rows,
    heavy,
    lognormal,
    named,
    np,
    recorded,
)

from lowlat.claim.stats import bets

if TYPE_CHECKING:
    from lowlat.claim.stats.samples import Array

CAMPAIGNS = 4000

#: Of boots in both arms, by the standard deviation of the logarithm.
SPREADS = (0.1, 0.3, 1.0)
RATIOS = (1.0, 1.5, 2.0, 10.0)


@dataclass(frozen=True)
class Lasted:
    """So many campaigns: the pairs of each, and what was found."""

    pairs: Sequence[int]
    judged: Judged

    def quantile(self, share: float) -> int:
        return sorted(self.pairs)[math.ceil(share * len(self.pairs)) - 1]


def lasted(cell: Cell, campaigns: int, seed: int) -> Lasted:
    draw = np.random.default_rng(seed)
    deals = list(_deals(cell, draw))
    ends = [
        _end(np.log(row.before) - np.log(row.after), math.log(cell.truth))
        for deal in deals
        for row in _rows(cell, deal, -(-campaigns // len(deals)), draw)
    ]
    pairs, found, covered = zip(*ends)
    return Lasted(pairs, Judged(len(ends), sum(found), sum(covered)))


def _end(differences: Array, truth: float) -> tuple[int, bool, bool]:
    """The pairs until the test is clear or cannot become so, whether it is, and whether the
    interval holds the truth then."""
    for count in range(1, len(differences) + 1):
        seen = differences[:count]
        signs = int((seen > 0).sum()), int((seen < 0).sum())
        clear = bets.fortune(*signs) >= bets.CLAIM and not _holds(seen, 0.0)
        if clear or bets.further(*signs, count - sum(signs)) is None:
            break
    return count, clear, _holds(seen, truth)


def _holds(seen: Array, difference: float) -> bool:
    values = seen.tolist()
    low, high = bets.interval(values, values)
    return low <= difference <= high


def kinds() -> Iterator[Cell]:
    most = bets.MOST_PAIRS
    for ratio in RATIOS:
        for spread in SPREADS:
            arms = lognormal(spread, ratio), lognormal(spread)
            yield Cell(f"log-normal, {spread:.0%}", most, "drawn", *arms, truth=ratio)
        for name, boots in RECORDED.items():
            arms = recorded([ratio * one for one in boots]), recorded(boots)
            yield Cell(name, most, "drawn", *arms, truth=ratio)
    for name in ("two modes that alternate", "unlike by 0.5, 30 %", "trend of 20 % a boot"):
        one = named(name)
        yield Cell(name, most, "drawn", one.before, one.after, one.shared)
    yield Cell("heavy tails, t of 2", most, "drawn", heavy(2, 0.3), heavy(2, 0.3))


@pytest.mark.parametrize("name", ["log-normal, 30%", "two modes that alternate"])
def test_looking_after_each_pair_claims_nothing_false(name: str) -> None:
    cell = next(one for one in kinds() if (one.name, one.truth) == (name, 1))
    found = lasted(cell, 400, 3)
    assert found.judged.good(cell), found.judged.shares
    # Nothing is claimed before the sixth pair, and what cannot become clear ends early.
    assert min(found.pairs) >= 6 and found.quantile(0.5) < bets.MOST_PAIRS


def test_a_clear_change_takes_six_pairs() -> None:
    cell = next(one for one in kinds() if (one.name, one.truth) == ("log-normal, 10%", 2))
    found = lasted(cell, 400, 3)
    assert (found.quantile(0.9), found.judged.shares[0]) == (6, 1.0)


@pytest.mark.proof
def test_the_table_of_stopping_times() -> None:
    every = list(kinds())
    with ProcessPoolExecutor() as pool:
        found = list(pool.map(_one, range(len(every))))
    if out := os.environ.get("LOWLAT_CLAIMS"):
        rows = [*_HEAD, *map(_row, every, found), ""]
        Path(out).with_name("CLAIMS_UNTIL_CLEAR.md").write_text("\n".join(rows))
    assert not [cell for cell, one in zip(every, found) if not one.judged.good(cell)]


def _one(number: int) -> Lasted:
    return lasted(list(kinds())[number], CAMPAIGNS, number)


_HEAD = (
    "<!-- SPDX-License-Identifier: GPL-2.0-or-later; written by make proofs NAME=claims -->",
    "# How long `tune --until-clear` lasts, and how often it is wrong",
    "",
    f"Made at commit {os.environ.get('LOWLAT_COMMIT', 'unknown')}.",
    "",
    f"{CAMPAIGNS:,} simulated campaigns a row, by `tests/claim/test_claims_until_clear.py`. A "
    "campaign ends as soon as it is clear,",
    f"where it cannot become clear any more, and after {bets.MOST_PAIRS} pairs. At a true ratio of "
    "1 each claim is a false one.",
    "",
    "| campaigns | true ratio | pairs: half of them end by | 90 % by | ended unclear | claimed a "
    "change | holds the truth |",
    "|---|---:|---:|---:|---:|---:|---:|",
)


def _row(cell: Cell, one: Lasted) -> str:
    claimed, held = one.judged.shares
    ends = f"{one.quantile(0.5)} | {one.quantile(0.9)}"
    shares = " | ".join(f"{share:.1%}" for share in (1 - claimed, claimed, held))
    return f"| {cell.name} | {cell.truth:g} | {ends} | {shares} |"


def test_the_page_has_the_figures_of_the_table() -> None:
    table = Path(__file__).with_name("CLAIMS_UNTIL_CLEAR.md").read_text()
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if "| log-normal" in line]
    page = (Path(__file__).parents[2] / "packaging/doc/statistics.md").read_text()
    for ratio in RATIOS:
        own = (row[2:] for row in rows if row[1] == f"{ratio:g}")
        cells = [f"{half} and {most}, {float(found[:-1]):.0f} %" for half, most, _, found, _ in own]
        assert f"| {ratio:g} | {' | '.join(cells)} |" in page
