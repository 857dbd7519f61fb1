# SPDX-License-Identifier: GPL-2.0-or-later
"""The report over a whole rehearsal: on each kernel the arms against stock, and each profile with
one setting left out against the whole profile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from lowlat import files
from lowlat.plan import Plan
from lowlat.rehearse.arm import Arm
from lowlat.rehearse.options import STOCK
from lowlat.rehearse.rehearsal import Played, Rehearsal
from lowlat.report import evidence
from lowlat.report.comparison import Comparison, Runs, compare
from lowlat.run import read_run


@dataclass(frozen=True)
class Compared:
    """One comparison of a rehearsal: the runs of its arms, the first of which is the measure of the
    others, and what verify found in the second."""

    title: str
    arms: tuple[Runs, ...]
    effect: Optional[Sequence[evidence.Setting]]
    plan: Optional[Plan]
    found: Comparison


def compared(rehearsal: Rehearsal) -> Iterator[Compared]:
    """Every comparison that has boots on both sides."""
    for played in rehearsal.played:
        bases = dict.fromkeys(arm.base for arm in played.arms)
        for base in bases:
            yield from _against(base, played)


def _against(base: str, played: Played) -> Iterator[Compared]:
    first = next(arm for arm in played.arms if arm.name == base)
    others = [arm for arm in played.arms if arm.base == base and arm is not first]
    known = [arm for arm in others if played.of(arm)]
    if not known or not played.of(first):
        return
    release = played.stage.kernel.release
    title = release if base == STOCK else f"{release}: {base} with one setting left out"
    runs = tuple(_runs(arm, played) for arm in (first, *known))
    verify = played.of(known[0])[-1].verify
    effect = evidence.read_verify(verify) if verify and base == STOCK else None
    found = compare(runs[0], runs[1:], effect)
    yield Compared(title, runs, effect, known[0].plan if base == STOCK else None, found)


def _runs(arm: Arm, played: Played) -> Runs:
    return Runs(arm.name, tuple(read_run(booted.run) for booted in played.of(arm)))


def write_page(found: Sequence[Compared], folder: Path) -> Path:
    """One page of all comparisons; returns its path."""
    # Imported late: templates and drawings are for the end.
    from lowlat.page.document import render_groups
    from lowlat.page.group import Group

    groups = [Group.of(one.title, one.arms, one.effect, one.plan, found=one.found) for one in found]
    path = folder / "report.html"
    files.write("report", str(path), render_groups("Rehearsal", groups).encode())
    return path
