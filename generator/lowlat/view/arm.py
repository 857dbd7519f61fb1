# SPDX-License-Identifier: GPL-2.0-or-later
"""The arms of a comparison as they are drawn, and which of their CPUs have room."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Optional

from lowlat.model.cpuset import CpuSet
from lowlat.model.plan import Plan
from lowlat.model.run import Run
from lowlat.report.arm import Arm
from lowlat.report.build import Report
from lowlat.report.comparison import Comparison
from lowlat.report.verdict import REFUSED

#: Colours of the style sheet. More arms than these look alike in one drawing.
_KINDS = ("before", "after", "third", "fourth", "fifth", "sixth")


@dataclass(frozen=True)
class ViewArm:
    """One arm, its runs in time order; ``kind`` is the class of the style sheet that gives it its
    colour and its kind of line."""

    name: str
    kind: str
    runs: tuple[Run, ...]


@dataclass(frozen=True)
class Group:
    """A comparison with its title on a page of several, and the plan with the reasons."""

    title: str
    found: Comparison
    plan: Optional[Plan] = None


def view_arms(arms: Sequence[Arm]) -> tuple[ViewArm, ...]:
    """The first arms, each with a look of its own; more would look alike."""
    # Times of one form (ISO 8601, UTC) sort as text.
    return tuple(
        ViewArm(arm.name, kind, tuple(sorted(arm.runs, key=lambda run: run.started)))
        for arm, kind in zip(arms, _KINDS)
    )


def drawn(found: Comparison) -> tuple[ViewArm, ...]:
    """The first arm and those that compare with it; of many those that differ most from it."""
    known = [report for report in found.reports if report.verdict != REFUSED]
    kept = {report.name for report in sorted(known, key=_apart, reverse=True)[: len(_KINDS) - 1]}
    return view_arms([arm for arm in found.arms if arm.name in {found.first, *kept}])


def _apart(report: Report) -> float:
    """How far from the first arm, in either direction."""
    primary = report.primary
    ratio = primary.ratio if primary else 1.0
    return abs(math.log(ratio)) if ratio else math.inf


def emulated(found: Comparison) -> bool:
    """Whether some runs were made under emulation, where durations mean nothing."""
    return any(report.emulated for report in found.reports)


def quietest(found: Comparison) -> int:
    """The place of the report with the smallest primary figure; the first where none is known."""
    primary = [(report.primary, place) for place, report in enumerate(found.reports)]
    return min([(one.after, place) for one, place in primary if one], default=(0.0, 0))[1]


def common_cpus(found: Comparison) -> CpuSet:
    """The CPUs that every arm which compares has figures of."""
    known = [report.cpus for report in found.reports if report.verdict != REFUSED]
    return reduce(and_, known) if known else CpuSet()


def noisiest(found: Comparison, most: int) -> CpuSet:
    """At most so many of the common CPUs, those with the greatest primary figure after."""
    worst = dict.fromkeys(common_cpus(found), 0.0)
    for report in found.reports:
        name = report.primary.name if report.primary else ""
        for cpu in worst:
            end = report.get(name, cpu)
            worst[cpu] = max(worst[cpu], end.after if end else 0.0)
    return CpuSet.of(sorted(worst, key=worst.__getitem__, reverse=True)[:most])
