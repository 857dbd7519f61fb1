# SPDX-License-Identifier: GPL-2.0-or-later
"""Which CPUs are drawn: those of every arm, and the noisiest where not all of them have room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import and_

from lowlat.model.cpuset import CpuSet
from lowlat.report.comparison import Comparison
from lowlat.report.verdict import REFUSED
from lowlat.view.arm import ViewArm


def emulated(found: Comparison) -> bool:
    """Whether some runs were made under emulation, where durations mean nothing."""
    return any(arm.report.emulated for arm in found.arms)


def quietest(found: Comparison) -> int:
    """The place of the arm with the smallest primary figure; the first where none is known."""
    known = [
        (arm.report.primary.after, place)
        for place, arm in enumerate(found.arms)
        if arm.report.primary is not None
    ]
    return min(known, default=(0.0, 0))[1]


def comparing(found: Comparison, sides: Sequence[ViewArm]) -> tuple[Comparison, Sequence[ViewArm]]:
    """The arms that compare with the first one, and their sides; all of them where none does."""
    kept = [n for n, arm in enumerate(found.arms) if arm.report.verdict != REFUSED]
    if not kept:
        return found, sides
    arms = tuple(found.arms[n] for n in kept)
    return replace(found, arms=arms), (sides[0], *(sides[n + 1] for n in kept))


def common_cpus(found: Comparison) -> CpuSet:
    """The CPUs that every arm which compares has figures of."""
    known = [arm.report.cpus for arm in found.arms if arm.report.verdict != REFUSED]
    return reduce(and_, known) if known else CpuSet()


def noisiest(found: Comparison, most: int) -> CpuSet:
    """At most so many of the common CPUs, those with the greatest primary figure after."""
    worst: dict[int, float] = {cpu: 0.0 for cpu in common_cpus(found)}
    for report in (arm.report for arm in found.arms):
        name = report.primary.name if report.primary else ""
        for end in report.endpoints:
            if end.name == name and isinstance(end.cpu, int) and end.cpu in worst:
                worst[end.cpu] = max(worst[end.cpu], end.after)
    return CpuSet.of(sorted(worst, key=worst.__getitem__, reverse=True)[:most])
