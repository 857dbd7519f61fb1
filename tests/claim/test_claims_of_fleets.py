# SPDX-License-Identifier: GPL-2.0-or-later
"""The error rates of the claim over hosts: the campaigns of claims_simulator, on several hosts at
once. A change of one machine over time affects all machines at the same time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from campaigns import RECORDED
from claims_simulator import (
    Cell,
    Judged,
    _deals,
    _rows,
    alike,
    constant,
    drift,
    heavy,
    in_pairs,
    lognormal,
    neighbour,
    np,
    recorded,
    step,
)

from lowlat.claim.stats.rounds import HostRounds, infer_rounds
from lowlat.claim.stats.samples import ALPHA, TwoSamples

if TYPE_CHECKING:
    from numpy.random import Generator

    from lowlat.claim.stats.samples import Array

#: Every host has its own level and spread.
LEVELS = (1.0, 30.0, 0.2, 5.0, 400.0, 2.0, 0.7, 90.0)

CAMPAIGNS = 4000


def judged(cell: Cell, hosts: int, campaigns: int, seed: int = 1) -> Judged:
    draw = np.random.default_rng(seed)
    found = covered = 0
    for _ in range(campaigns):
        rows = list(one_campaign(cell, hosts, draw))
        rounds = [HostRounds(range(cell.pairs), row) for row in rows]
        _, result = infer_rounds(rounds, drawn=cell.order == "drawn")
        low, high = result.ci95
        found += result.adjusted <= ALPHA and not low <= 1 <= high
        covered += low <= cell.truth <= high
    return Judged(campaigns, found, covered)


def one_campaign(cell: Cell, hosts: int, draw: Generator) -> Iterator[TwoSamples]:
    deal = next(iter(_deals(cell, draw)))
    # One draw of the meanwhile changes, the same for all hosts.
    shared = cell.shared(draw, 1, len(deal)) if cell.shared else np.ones((1, len(deal)))
    for level in LEVELS[:hosts]:
        common = replace(cell, shared=partial(given, shared * (1 if cell.gaps else level)))
        yield in_pairs(next(iter(_rows(common, deal, 1, draw))), deal)


def given(values: Array, *_: object) -> Array:
    return values


def campaigns_of() -> Iterator[tuple[Cell, int]]:
    for hosts, pairs in ((2, 6), (4, 6), (8, 6), (8, 8)):
        same = lognormal(0.1)
        for order in ("drawn", "ABBA"):
            yield Cell("log-normal, 20 %", pairs, order, lognormal(0.2), lognormal(0.2)), hosts
        yield Cell("heavy tails", pairs, "drawn", heavy(2, 0.3), heavy(2, 0.3)), hosts
        for name, seen in RECORDED.items():
            yield Cell(name, pairs, "drawn", recorded(seen), recorded(seen)), hosts
        for name, shared in (
            ("a shared shock of 30 % a boot", lognormal(0.3)),
            ("a neighbour that comes and goes", neighbour(0.8, 1.0)),
            ("alike by 0.5, 30 %", alike(0.5, 0.3)),
            ("step of 35 %", step(0.3)),
            ("trend of 20 % a boot", drift(0.2)),
        ):
            yield Cell(name, pairs, "drawn", same, same, shared), hosts
        yield Cell("50 % beside 8 %", pairs, "drawn", lognormal(0.5), lognormal(0.08)), hosts
        own = lognormal(0.3, 60), same
        yield Cell("60 times", pairs, "drawn", *own, neighbour(0.8, 1.0), truth=60.0), hosts
        for one, other in ((300.0, 0.3), (0.5, 1.5)):
            name, ratio = f"noise of {one:g} gaps a boot, then {other:g}", one / other
            own = constant(one), constant(other)
            yield Cell(name, pairs, "drawn", *own, gaps=True, truth=ratio), hosts


@pytest.mark.parametrize("place", [5, 6, 12], ids=str)
def test_a_few_campaigns_of_hosts(place: int) -> None:
    every = [one for one in campaigns_of() if one[1] == 8]
    cell, hosts = every[place]
    assert judged(cell, hosts, 200).good(cell), cell.name


@pytest.mark.proof
def test_at_most_5_percent_false_claims_and_95_percent_coverage_over_hosts() -> None:
    every = list(campaigns_of())
    with ProcessPoolExecutor() as pool:
        said = list(pool.map(_one, range(len(every))))
    if out := os.environ.get("LOWLAT_CLAIMS"):
        rows = (_row(*one, shares) for one, shares in zip(every, said))
        Path(out).with_name("CLAIMS_OF_FLEETS.md").write_text("\n".join([*_HEAD, *rows, ""]))
    bad = [(cell, shares) for (cell, _), shares in zip(every, said) if not shares.good(cell)]
    assert not bad


def _one(number: int) -> Judged:
    return judged(*list(campaigns_of())[number], CAMPAIGNS, number)


_HEAD = (
    "<!-- SPDX-License-Identifier: GPL-2.0-or-later; written by make proofs NAME=claims -->",
    "# How often the claim over hosts is wrong",
    "",
    f"Made at commit {os.environ.get('LOWLAT_COMMIT', 'unknown')}.",
    "",
    f"{CAMPAIGNS:,} simulated campaigns a row, by `tests/claim/test_claims_of_fleets.py`. Each "
    "host has six or eight pairs of boots,",
    "and what happens meanwhile happens on all hosts.",
    "",
    "| campaigns | hosts | pairs | order | true ratio | claimed a change | holds the truth |",
    "|---|---:|---:|---|---:|---:|---:|",
)


def _row(cell: Cell, hosts: int, one: Judged) -> str:
    shares = " | ".join(f"{share:.1%}" for share in one.shares)
    return f"| {cell.name} | {hosts} | {cell.pairs} | {cell.order} | {cell.truth:.4g} | {shares} |"
