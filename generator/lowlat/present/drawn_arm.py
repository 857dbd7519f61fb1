# SPDX-License-Identifier: GPL-2.0-or-later
"""The arms of a comparison as they are drawn, and the CPUs that are drawn."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Optional

from lowlat.claim.build import Report
from lowlat.claim.comparison import Comparison
from lowlat.claim.verdict import REFUSED, TESTED
from lowlat.figures.measured_arm import Arm
from lowlat.model.cpuset import CpuSet
from lowlat.model.plan import Plan
from lowlat.model.run import Run
from lowlat.present.offer import Offered, on_any_machine

#: Classes of the style sheet, each with its colour; a drawing has at most this many arms.
_KINDS = ("before", "after", "third", "fourth", "fifth", "sixth")


@dataclass(frozen=True)
class ViewArm:
    """One arm with its runs in time order; ``kind`` is its class in the style sheet, which sets its
    colour and line style."""

    name: str
    kind: str
    runs: tuple[Run, ...]


@dataclass(frozen=True)
class Group:
    """A comparison with its title on a page of several, the plan for the reasons, and what the
    reader's machine offers of the next steps."""

    title: str
    comparison: Comparison
    plan: Optional[Plan] = None
    offered: Offered = on_any_machine


def _view_arms(arms: Sequence[Arm]) -> tuple[ViewArm, ...]:
    """The first arms, as many as there are distinct looks; an arm by itself looks as one after."""
    # Times in the same format (ISO 8601, UTC) sort as text.
    return tuple(
        ViewArm(arm.name, kind, tuple(sorted(arm.runs, key=lambda run: run.started)))
        for arm, kind in zip(arms, _KINDS if len(arms) > 1 else _KINDS[1:])
    )


def remedies(runs: Iterable[Run]) -> dict[str, str]:
    """The setting that removes each cause ("class: cause") on the host and in the boot of a run, as
    the run tells: what the host refuses, or has in effect already, is no remedy there."""
    causes = (one for run in runs for cpu in run.cpus for one in cpu.causes or ())
    return {f"{one.kind}: {one.cause}": one.remedy for one in causes if one.remedy}


def drawn(comparison: Comparison) -> tuple[ViewArm, ...]:
    """The first arm and those compared with it; of many, those that differ most from it."""
    known = [report for report in comparison.reports if report.verdict != REFUSED]
    kept = {report.name for report in sorted(known, key=_apart, reverse=True)[: len(_KINDS) - 1]}
    return _view_arms([arm for arm in comparison.arms if arm.name in {comparison.first, *kept}])


def _apart(report: Report) -> float:
    """The distance from the first arm, in either direction."""
    primary = report.primary
    ratio = primary.ratio if primary else 1.0
    return abs(math.log(ratio)) if ratio else math.inf


def emulated(comparison: Comparison) -> bool:
    """Whether some runs were made under emulation, so that durations mean nothing."""
    return any(one.emulated for one in (comparison.described, *comparison.reports) if one)


def quietest(comparison: Comparison) -> int:
    """The index of the report with the smallest primary figure, among those with a verdict if there
    are some; 0 if none is known."""
    known = [(one, place) for place, one in enumerate(comparison.reports) if one.primary]
    tested = [(one, place) for one, place in known if one.verdict in TESTED]
    figures = [(one.primary.after, place) for one, place in tested or known if one.primary]
    return min(figures, default=(0.0, 0))[1]


def common_cpus(comparison: Comparison) -> CpuSet:
    """The CPUs for which every comparable arm has figures."""
    if comparison.described:
        return comparison.described.cpus
    known = [report.cpus for report in comparison.reports if report.verdict != REFUSED]
    return reduce(and_, known) if known else CpuSet()


def noisiest(comparison: Comparison, most: int) -> CpuSet:
    """The common CPUs with the greatest primary figures after, at most ``most`` of them."""
    worst = {cpu: _primary(comparison, cpu) for cpu in common_cpus(comparison)}
    return CpuSet.of(sorted(worst, key=worst.__getitem__, reverse=True)[:most])


def _primary(comparison: Comparison, cpu: int) -> float:
    """The greatest primary figure of a CPU after, 0 if unknown."""
    if comparison.described:
        return comparison.described.get(comparison.described.primary, cpu) or 0.0
    ends = (report.get(report.primary.name, cpu) for report in comparison.reports if report.primary)
    return max((end.after for end in ends if end), default=0.0)
