# SPDX-License-Identifier: GPL-2.0-or-later
"""The report's error rates in campaigns of known truth (claims_simulator).

``make proofs NAME=claims`` judges every cell and writes CLAIMS.md.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from campaigns import RECORDED
from claims_simulator import Cell, Judged, cells, judge, lognormal, named, recorded

from lowlat.claim.stats.power import POWER, pairs_to_find

CAMPAIGNS = 4000

#: Every run judges these cells: each shows the purpose of one part of the method.
QUICK = (
    ("log-normal, 20 %", 6, "drawn"),
    ("alike by 0.5, 30 %", 8, "ABBA"),
    ("two modes that alternate", 8, "drawn"),
    ("boots apart by 100 %, each with its own effect of 50 %", 6, "drawn"),
    ("unlike by 0.5, 30 %", 6, "drawn"),
    ("trend of 20 % a boot", 8, "drawn"),
    ("50 to 5, in 10 % of boots 100 times as many", 8, "drawn"),
    ("3,000 to 2, Poisson, variance x 4", 8, "drawn"),
    ("noise of 300 gaps a boot, then 0.3", 6, "drawn"),
    ("noise of 0.5 gaps a boot, then 1.5", 8, "drawn"),
)


@pytest.mark.parametrize("name", QUICK, ids=str)
def test_at_most_5_percent_false_claims_and_95_percent_coverage(name: tuple[str, int, str]) -> None:
    cell = named(*name)
    judged = judge(cell, 400, 3)
    assert judged.good(cell), judged.shares


def test_as_many_pairs_as_it_asks_for_find_the_change() -> None:
    """A fall by a fifth, if boots differ by a tenth."""
    pairs = pairs_to_find(math.log(1.25), 0.1)
    assert pairs is not None and 6 < pairs < 9
    cell = Cell("", pairs, "drawn", lognormal(0.1, 1.25), lognormal(0.1), truth=1.25)
    assert judge(cell, 400, 1).shares[0] >= POWER - 0.05
    assert judge(replace(cell, pairs=pairs - 1), 400, 1).shares[0] < POWER + 0.05
    assert pairs_to_find(0.5, 0.0) == 6
    assert pairs_to_find(0.001, 0.5) is None


def test_a_fall_by_a_fifth_is_found_where_boots_are_alike() -> None:
    boots = RECORDED["boots like those of a rehearsal"]
    fell = recorded([0.8 * boot for boot in boots])
    assert judge(Cell("", 6, "drawn", recorded(boots), fell, truth=1.25), 200, 1).shares[0] >= POWER


@pytest.mark.proof
def test_every_cell() -> None:
    every = cells()
    judged = _judged(range(len(every)))
    if out := os.environ.get("LOWLAT_CLAIMS"):
        Path(out).write_text("\n".join(_document(every, judged)) + "\n")
    bad = [(cell, one) for cell, one in zip(every, judged) if not one.good(cell)]
    assert not [(cell, one) for cell, one in bad if not cell.unlike]


def _judged(numbers: Sequence[int]) -> list[Judged]:
    with ProcessPoolExecutor() as pool:
        return list(pool.map(_one, numbers))


def _one(number: int) -> Judged:
    # The cell's number is the argument, because its processes cannot be passed to another program.
    return judge(cells()[number], CAMPAIGNS, number)


def _document(every: list[Cell], found: list[Judged]) -> Iterator[str]:
    held = [(cell, *one.shares) for cell, one in zip(every, found) if not cell.unlike]
    false = max(share for cell, share, _ in held if cell.truth == 1)
    covered = min(share for *_, share in held)
    yield from (
        "<!-- SPDX-License-Identifier: GPL-2.0-or-later; written by make proofs NAME=claims -->",
        "# How often the report is wrong",
        "",
        f"Made at commit {os.environ.get('LOWLAT_COMMIT', 'unknown')}.",
        "",
        f"{CAMPAIGNS:,} simulated campaigns a row, by `tests/claim/claims_simulator.py`. At most "
        f"{false:.1%} false claims and at least",
        f"{covered:.1%} coverage of the 95 % interval in {len(held)} rows; in none does the exact "
        "interval of a share lie beyond 5",
        "or below 95 %. The rows at the end are of arms of unlike shape: the claim is about pairs, "
        "of which the ratio of means",
        "is not the middle.",
        "",
        "| campaigns | pairs | order | true ratio | claimed a change | interval holds the truth |",
        "|---|---:|---|---:|---:|---:|",
    )
    rows = sorted(zip(every, found), key=lambda row: row[0].unlike)
    yield from (_row(cell, one) for cell, one in rows)
    yield from _power()


def _row(cell: Cell, one: Judged) -> str:
    shares = (f"{share:.1%}" for share in one.shares)
    name = f"{cell.name} (unlike)" if cell.unlike else cell.name
    return f"| {' | '.join((name, str(cell.pairs), cell.order, f'{cell.truth:,.4g}', *shares))} |"


def _power() -> Iterator[str]:
    yield from (
        "",
        "## How often a change is found",
        "",
        f"{CAMPAIGNS:,} campaigns each, by the true ratio and the standard deviation of the "
        "logarithm between boots.",
        "",
        "| true ratio | between boots | 6 pairs | 7 | 8 | 10 | 14 |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    )
    for ratio, spread in ((1.2, 0.1), (1.2, 0.3), (2.0, 0.3), (2.0, 1.0)):
        arms = lognormal(spread, ratio), lognormal(spread)
        judged = (judge(Cell("", n, "drawn", *arms), CAMPAIGNS, n) for n in (6, 7, 8, 10, 14))
        shares = " | ".join(f"{one.shares[0]:.0%}" for one in judged)
        yield f"| {ratio:g} | {spread:.0%} | {shares} |"
