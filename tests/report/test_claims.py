# SPDX-License-Identifier: GPL-2.0-or-later
"""The report's error rates in campaigns of known truth (claims_simulator).

``make proofs NAME=claims`` judges every cell and writes CLAIMS.md.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Optional

import pytest
from campaigns import RECORDED
from claims_simulator import (
    Cell,
    Judge,
    Judged,
    by_pairs,
    cells,
    judge,
    logarithms,
    lognormal,
    np,
    paired_cells,
    quasi_poisson,
    recorded,
    report,
)

from lowlat.report.stats.power import MOST_BOOTS, POWER, boots_to_find, pairs_to_find

CAMPAIGNS = 1000

#: Eight pairs make 4.7 % false claims by design, and there are more than two hundred cells.
CAMPAIGNS_IN_PAIRS = 4000

#: Every run judges these cells: each shows the purpose of one part of the method.
QUICK = (
    ("log-normal, 20 %", "AB", (5, 5)),
    ("50 % beside 8 %", "AB", (5, 10)),
    ("trend of 20 % a boot", "AAABABABBB", (5, 5)),
    ("step of 35 % at some boot", "AAAAABABABBBBB", (7, 7)),
    ("Poisson beside gamma-Poisson, mean 2, variance x 4", "ABBA", (5, 5)),
    ("3,000 to 2, Poisson, variance x 4", "ABBA", (5, 5)),
    ("gamma-Poisson, mean 0.5, 12 to 1 times as long", "ABBA", (5, 5)),
)


@pytest.mark.parametrize("name", QUICK)
def test_at_most_6_percent_false_claims_and_94_percent_coverage(
    name: tuple[str, str, tuple[int, int]],
) -> None:
    cell = next(one for one in cells() if (one.name, one.order, one.boots) == name)
    judged = judge(cell, 300, 1)
    assert judged is not None and judged.good(cell), judged


#: In pairs, the same: six or eight of them.
QUICK_PAIRS = (
    *(("log-normal, 20 %", "ABBA"), ("two modes that alternate", "pairs")),
    *(("unlike by 0.5, 30 %", "pairs"), ("50 % beside 8 %", "pairs")),
)


@pytest.mark.parametrize("name", QUICK_PAIRS)
def test_the_signs_of_pairs_are_as_sure(name: tuple[str, str]) -> None:
    for cell in (one for one in paired_cells() if (one.name, one.order) == name):
        judged = judge(cell, 400, 3, by_pairs)
        assert judged is not None and judged.good(cell), (cell.boots, judged)


def test_as_many_pairs_as_it_asks_for_find_the_change() -> None:
    """A fall by a fifth, if boots differ by a tenth."""
    pairs = pairs_to_find(math.log(1.25), 0.1)
    assert pairs is not None and 6 < pairs < 9
    own = lognormal(0.1)
    cell = Cell("", (pairs, pairs), "pairs", lognormal(0.1, 1.25), own, truth=1.25)
    judged = judge(cell, 400, 1, by_pairs)
    assert judged is not None and judged.found >= POWER - 0.05
    fewer = judge(replace(cell, boots=(pairs - 1, pairs - 1)), 400, 1, by_pairs)
    assert fewer is not None and fewer.found < POWER + 0.05
    assert pairs_to_find(0.5, 0.0) == 6
    assert pairs_to_find(0.001, 0.5) is None


def test_cells_without_turns_get_no_verdict() -> None:
    assert judge(Cell("", (5, 5), "AAAAABBBBB", lognormal(0.2), lognormal(0.2)), 20, 1) is None


@pytest.mark.proof
def test_every_cell() -> None:
    every = cells()
    judged = _judged(range(len(every)))
    bad = [(cell, one) for cell, one in zip(every, judged) if one and not one.good(cell)]
    if out := os.environ.get("LOWLAT_CLAIMS"):
        Path(out).write_text("\n".join(_document(every, judged)) + "\n")
    assert not bad


@pytest.mark.proof
def test_every_cell_in_pairs() -> None:
    """Of arms of unlike shape the test claims a difference of their boots, and the ratio of means
    is not its middle: they are told, and are no bar."""
    every = list(paired_cells())
    with ProcessPoolExecutor() as pool:
        judged = list(pool.map(_in_pairs, range(len(every))))
    bad = [(cell, one) for cell, one in zip(every, judged) if one and not one.good(cell)]
    assert not [(cell, one) for cell, one in bad if "beside" not in cell.name]


def _in_pairs(number: int) -> Optional[Judged]:
    return judge(list(paired_cells())[number], CAMPAIGNS_IN_PAIRS, number, by_pairs)


def _judged(numbers: Iterable[int], say: Judge = report) -> list[Optional[Judged]]:
    with ProcessPoolExecutor() as pool:
        return list(pool.map(partial(_one, say=say), numbers))


def _one(number: int, say: Judge) -> Optional[Judged]:
    # The cell's number is the argument, because its processes cannot be passed to another program.
    return judge(cells()[number], CAMPAIGNS, number, say)


def _document(every: list[Cell], found: list[Optional[Judged]]) -> Iterator[str]:
    told = [(cell, one) for cell, one in zip(every, found) if one]
    false = max(one.found for cell, one in told if cell.truth == 1)
    covered = min(one.covered for _, one in told)
    yield from (
        "<!-- SPDX-License-Identifier: GPL-2.0-or-later; written by make proofs NAME=claims -->",
        "# How often the report is wrong",
        "",
        f"Made at commit {os.environ.get('LOWLAT_COMMIT', 'unknown')}.",
        "",
        f"{CAMPAIGNS:,} simulated campaigns a row, by `tests/report/claims_simulator.py`. At most "
        f"{false:.1%} false claims and at least",
        f"{covered:.1%} coverage of the 95 % interval in {len(told)} rows. A row without figures "
        "has an order that gets no verdict.",
        "",
        "| campaigns | boots | order | true ratio | claimed a change | interval holds the truth |",
        "|---|---|---|---:|---:|---:|",
    )
    for cell, one in zip(every, found):
        shares = (f"{one.found:.1%}", f"{one.covered:.1%}") if one else ("-", "-")
        sizes = "{} v {}".format(*cell.boots)
        yield f"| {' | '.join((cell.name, sizes, cell.order, f'{cell.truth:,g}', *shares))} |"
    yield from _methods(every, found)


def _methods(every: list[Cell], found: list[Optional[Judged]]) -> Iterator[str]:
    """The choice among the models of counts."""
    counts = [n for n, cell in enumerate(every) if cell.seconds and cell.boots == (5, 5)]
    yield from (
        "",
        "## The models of counts that were tried",
        "",
        "How often the interval holds the ratio of the mean rates, by the report's method, by the "
        "logarithm of the count",
        "plus one half alone, and by a quasi-Poisson model alone. Rows in which one of these "
        "falls below 94 %:",
        "",
        "| campaigns | boots | true ratio | report | log(count + 1/2) | quasi-Poisson |",
        "|---|---|---:|---:|---:|---:|",
    )
    others = zip(_judged(counts, logarithms), _judged(counts, quasi_poisson))
    for n, (one, other) in zip(counts, others):
        ours, cell = found[n], every[n]
        if ours and one and other and min(one.covered, other.covered) < 0.94:
            shares = " | ".join(f"{each.covered:.1%}" for each in (ours, one, other))
            sizes = "{} v {}".format(*cell.boots)
            yield f"| {cell.name} | {sizes} | {cell.truth:,g} | {shares} |"


# The number of boots that a claim needs


@pytest.mark.parametrize("spread", [0.05, 0.2])
def test_as_many_boots_as_it_asks_for_find_the_change(spread: float) -> None:
    steps = np.linspace(-1, 1, 5)
    before = np.exp(spread * steps / steps.std(ddof=1))
    boots = boots_to_find(before.tolist(), (0.8 * before).tolist())
    assert boots is not None
    assert _found_with(boots, spread) >= POWER - 0.05
    if boots > 5:
        assert _found_with(boots // 2, spread) < POWER - 0.05


def _found_with(boots: int, spread: float) -> float:
    """The share of campaigns in which a fall by a fifth is found."""
    cell = Cell("", (boots, boots), "AB", lognormal(spread, 1.25), lognormal(spread), truth=1.25)
    judged = judge(cell, 200, 20)
    assert judged is not None
    return judged.found


def test_a_fall_by_a_fifth_is_found_where_boots_are_alike() -> None:
    own = recorded(RECORDED["boots like those of a rehearsal"])
    fell = recorded([0.8 * boot for boot in RECORDED["boots like those of a rehearsal"]])
    judged = judge(Cell("", (5, 5), "ABBA", own, fell, truth=1.25), 200, 1)
    assert judged is not None and judged.found >= POWER


@pytest.mark.parametrize(
    ("before", "after", "boots"),
    [
        ([100.0, 100.0], [90.0, 90.0], 5),
        ([100.0, 100.0], [100.0, 100.0], None),
        ([100.0, 104.0], [100.01, 104.01], None),
        ([100.0], [50.0], None),
        ([100.0, 0.0], [50.0, 60.0], None),
    ],
)
def test_what_takes_no_more_boots_and_what_cannot_be_told(
    before: list[float], after: list[float], boots: object
) -> None:
    assert boots_to_find(before, after) == boots
    assert boots is None or boots <= MOST_BOOTS
