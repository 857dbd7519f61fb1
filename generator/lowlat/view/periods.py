# SPDX-License-Identifier: GPL-2.0-or-later
"""The gaps that came at one period, and what makes them: a row each."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median

from lowlat.model.cpuset import CpuSet
from lowlat.model.run import Comb
from lowlat.report.tables import Table
from lowlat.report.wording import number
from lowlat.view.arm import ViewArm
from lowlat.view.plot.axis import short

#: Periods that are told; the runs have all.
_MOST = 12


def table(arms: Sequence[ViewArm], cpus: CpuSet) -> Table:
    """The strongest first; without rows where none was found."""
    found = {arm.name: _combs(arm, cpus) for arm in arms}
    alike: dict[str, list[Comb]] = {}
    for comb in (comb for combs in found.values() for comb in combs):
        alike.setdefault(comb.name, []).append(comb)
    names = sorted(alike, key=lambda name: max(c.power for c in alike[name]), reverse=True)
    rows = (
        (
            f"{short(round(median(comb.frequency_hz for comb in alike[name]), 3))} Hz",
            *(name, _cause(alike[name])),
            *(_told([comb for comb in found[arm.name] if comb.name == name]) for arm in arms),
        )
        for name in names[:_MOST]
    )
    left = f"and {len(names) - _MOST} weaker ones" if len(names) > _MOST else ""
    header = ("frequency", "what comes at it", "mostly", *(arm.name for arm in arms))
    return Table(header, tuple(rows), left)


def _combs(arm: ViewArm, cpus: CpuSet) -> list[Comb]:
    known = (run.cpu(place).combs or () for run in arm.runs for place in cpus)
    return [comb for combs in known for comb in combs if comb.frequency_hz > 0]


def _cause(combs: Sequence[Comb]) -> str:
    causes = [comb.cause for comb in combs if comb.cause]
    return max(causes, key=causes.count) if causes else ""


def _told(combs: Sequence[Comb]) -> str:
    """How often it came where it was found."""
    return f"{number(fmean(comb.rate_per_s for comb in combs))}/s" if combs else "-"
