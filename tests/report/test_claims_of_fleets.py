# SPDX-License-Identifier: GPL-2.0-or-later
"""The error rates of the claim over hosts: the campaigns of claims_simulator, on several hosts at
once. A change of one machine over time affects all machines at the same time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from campaigns import RECORDED
from claims_simulator import (
    Cell,
    _deals,
    _rows,
    drift,
    heavy,
    lognormal,
    np,
    recorded,
    step,
)

from lowlat.report.stats.blocks import infer_within
from lowlat.report.stats.samples import ALPHA, Order, TwoSamples

if TYPE_CHECKING:
    from numpy.random import Generator

    from lowlat.report.stats.samples import Array

#: Every host has its own level and spread.
LEVELS = (1.0, 30.0, 0.2, 5.0, 400.0, 2.0, 0.7, 90.0)

CAMPAIGNS = 500


def judged(cell: Cell, hosts: int, campaigns: int, seed: int = 1) -> tuple[float, float]:
    """Shares of campaigns with a change found, and with the truth inside the interval."""
    draw = np.random.default_rng(seed)
    found = covered = 0
    for _ in range(campaigns):
        _, result = infer_within(list(one_campaign(cell, hosts, draw)))
        low, high = result.ci95
        found += result.adjusted <= ALPHA and not low <= 1 <= high
        covered += low <= cell.truth <= high
    return found / campaigns, covered / campaigns


def one_campaign(cell: Cell, hosts: int, draw: Generator) -> Iterator[tuple[TwoSamples, Order]]:
    deal = next(iter(_deals(cell, draw)))
    order = Order(*(tuple(map(float, np.flatnonzero(deal == arm))) for arm in (0, 1)))
    # One draw of the meanwhile changes, the same for all hosts.
    shared = cell.shared(draw, 1, len(deal)) if cell.shared else np.ones((1, len(deal)))
    for level in LEVELS[:hosts]:
        common = replace(cell, shared=partial(given, shared * level))
        yield next(iter(_rows(common, deal, 1, draw))), order


def given(values: Array, *_: object) -> Array:
    return values


def campaigns_of() -> Iterator[tuple[Cell, int]]:
    five = (5, 5)
    for hosts in (2, 4, 8):
        for order in ("AB", "ABBA", "random"):
            yield Cell("log-normal, 20 %", five, order, lognormal(0.2), lognormal(0.2)), hosts
        yield Cell("heavy tails", five, "AB", heavy(2, 0.3), heavy(2, 0.3)), hosts
        for name, seen in RECORDED.items():
            yield Cell(name, five, "random", recorded(seen), recorded(seen)), hosts
        same = lognormal(0.1)
        yield Cell("trend of 3 % a boot", five, "AB", same, same, drift(0.03)), hosts
        yield Cell("trend of 20 % a boot", five, "ABBA", same, same, drift(0.2)), hosts
        yield Cell("step of 35 %", five, "random", same, same, step(0.3)), hosts
        yield Cell("50 % beside 8 %", five, "AB", lognormal(0.5), lognormal(0.08)), hosts
        yield Cell("60 times", five, "AB", lognormal(0.3, 60), lognormal(0.1), truth=60.0), hosts


def good(cell: Cell, found: float, covered: float) -> bool:
    return covered >= 0.94 and (cell.truth != 1 or found <= 0.06)


@pytest.mark.parametrize("place", [0, 7], ids=str)
def test_a_few_campaigns_of_hosts(place: int) -> None:
    every = [one for one in campaigns_of() if one[1] == 4]
    cell, hosts = every[place]
    assert good(cell, *judged(cell, hosts, 60)), cell.name


@pytest.mark.proof
def test_at_most_6_percent_false_claims_and_94_percent_coverage_over_hosts() -> None:
    every = list(campaigns_of())
    said = [judged(cell, hosts, CAMPAIGNS) for cell, hosts in every]
    if out := os.environ.get("LOWLAT_CLAIMS"):
        rows = (_row(*one, *shares) for one, shares in zip(every, said))
        Path(out).with_name("CLAIMS_OF_FLEETS.md").write_text("\n".join([*_HEAD, *rows, ""]))
    bad = [(cell, shares) for (cell, _), shares in zip(every, said) if not good(cell, *shares)]
    assert not bad


_HEAD = (
    "<!-- SPDX-License-Identifier: GPL-2.0-or-later; written by make proofs NAME=claims -->",
    "# How often the claim over hosts is wrong",
    "",
    f"Made at commit {os.environ.get('LOWLAT_COMMIT', 'unknown')}.",
    "",
    f"{CAMPAIGNS} simulated campaigns a row, by `tests/report/test_claims_of_fleets.py`. Each host "
    "has five boots an arm,",
    "and what happens meanwhile happens on all hosts.",
    "",
    "| campaigns | hosts | order | true ratio | claimed a change | interval holds the truth |",
    "|---|---:|---|---:|---:|---:|",
)


def _row(cell: Cell, hosts: int, found: float, covered: float) -> str:
    shares = f"{found:.1%} | {covered:.1%}"
    return f"| {cell.name} | {hosts} | {cell.order} | {cell.truth:g} | {shares} |"
