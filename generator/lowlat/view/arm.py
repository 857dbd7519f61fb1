# SPDX-License-Identifier: GPL-2.0-or-later
"""The arms of a comparison as they are drawn, and which of their CPUs have room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_
from typing import Optional

from lowlat.model.cpuset import CpuSet
from lowlat.model.plan import Plan
from lowlat.model.run import Run
from lowlat.report.comparison import Comparison
from lowlat.report.in_effect import VerifiedSetting
from lowlat.report.verdict import REFUSED

#: Colours of the style sheet.
_KINDS = ("before", "after", "third", "fourth", "fifth", "sixth")


@dataclass(frozen=True)
class ViewArm:
    """One arm, its runs in time order; ``kind`` is the class of the style sheet that gives it its
    colour and its kind of line, one of its own as long as they are not many(); ``effect`` is what
    verify found in its boots, None where that was not checked."""

    name: str
    kind: str
    runs: tuple[Run, ...]
    effect: Optional[Sequence[VerifiedSetting]] = None


@dataclass(frozen=True)
class Group:
    """A comparison with its title on a page of several, and the plan whose reasons are told."""

    title: str
    found: Comparison
    plan: Optional[Plan] = None


def drawn(found: Comparison) -> tuple[ViewArm, ...]:
    """The arms, the first one first."""
    others = [_KINDS[1]] * len(found.reports) if many(found.arms) else _KINDS[1:]
    kinds = (_KINDS[0], *others)
    # Times of one form (ISO 8601, UTC) sort as text.
    return tuple(
        ViewArm(arm.name, kind, tuple(sorted(arm.runs, key=lambda run: run.started)), arm.effect)
        for arm, kind in zip(found.arms, kinds)
    )


def many(arms: Sequence[object]) -> bool:
    """Whether they are too many for one drawing: then each is drawn by itself beside the first."""
    return len(arms) > len(_KINDS)


def legend(arms: Sequence[ViewArm]) -> tuple[tuple[str, str], ...]:
    """Every kind with the name of what looks like it."""
    if many(arms):
        return ((arms[0].kind, arms[0].name), (arms[1].kind, "the other arms"))
    return tuple((arm.kind, arm.name) for arm in arms)


def emulated(found: Comparison) -> bool:
    """Whether some runs were made under emulation, where durations mean nothing."""
    return any(report.emulated for report in found.reports)


def quietest(found: Comparison) -> int:
    """The place of the report with the smallest primary figure; the first where none is known."""
    primary = [(report.primary, place) for place, report in enumerate(found.reports)]
    return min([(one.after, place) for one, place in primary if one], default=(0.0, 0))[1]


def comparing(found: Comparison) -> tuple[Comparison, tuple[ViewArm, ...]]:
    """The arms that compare with the first one; all of them where none does."""
    arms = drawn(found)
    kept = [n for n, report in enumerate(found.reports) if report.verdict != REFUSED]
    if not kept:
        return found, arms
    reports = tuple(found.reports[n] for n in kept)
    return replace(found, reports=reports), (arms[0], *(arms[n + 1] for n in kept))


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
