# SPDX-License-Identifier: GPL-2.0-or-later
"""The figures of two arms beside each other, those of a claim with what the test says of them."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Optional, Union

from lowlat.model.cpuset import CpuSet
from lowlat.model.run import Run
from lowlat.report import comparable, figures
from lowlat.report.arm import Arm, mixed, typical
from lowlat.report.figures import Key, Measure
from lowlat.report.stats import permutation

#: With no event in T seconds the rate is below 3/T with 95 % confidence.
_RULE_OF_THREE = 3.0

#: The figures of a claim; all others are shown beside them without a test.
CLAIMED = {measure.name for measure in figures.ENDPOINTS}


@dataclass(frozen=True)
class Endpoint:
    """One figure before and after; ``ratio`` is before/after, None where after is zero.

    ``p`` of the primary endpoint stands alone, those of the others are adjusted for all of them;
    ``ci95`` of the ratio is each endpoint's own. Where nothing at all was counted after,
    ``ratio_at_least`` holds with 95 % confidence if boots do not differ in it: boots that count
    nothing do not show how far others may lie above them. Where only some boots counted nothing,
    it is the low end of the interval with each of them taken for one event.
    """

    name: str
    unit: str
    cpu: Union[int, str]
    before: float
    after: float
    ratio: Optional[float]
    ratio_at_least: Optional[float]
    ci95: Optional[tuple[float, float]] = None
    p: Optional[float] = None
    primary: bool = False

    @property
    def changed(self) -> bool:
        """Whether the test finds a change, and the interval bears it out."""
        within = self.ci95 is not None and self.ci95[0] <= 1 <= self.ci95[1]
        return self.p is not None and self.p <= permutation.ALPHA and not within


@dataclass(frozen=True)
class Pair:
    """Two arms and what is compared of them: the CPUs all runs measured, and the figures."""

    before: Arm
    after: Arm
    cpus: CpuSet
    measures: tuple[Measure, ...]
    primary: str

    @classmethod
    def of(cls, before: Arm, after: Arm) -> Pair:
        """Raises nothing: arms that cannot be compared are refused before (comparable.py)."""
        runs = (*before.runs, *after.runs)
        cpus = comparable.common_cpus(runs)
        emulated = runs[0].emulated
        measures = _measures(runs, cpus, emulated=emulated)
        return cls(before, after, cpus, tuple(measures), primary_name(emulated))

    def primary_values(self) -> tuple[tuple[float, ...], ...]:
        """The primary figure in each boot that knows it, of either arm."""
        measures = [measure for measure in self.measures if measure.name == self.primary]
        arms = (arm.values(self.cpus, measures) for arm in (self.before, self.after))
        return tuple(values.get((self.primary, "all"), ()) for values in arms)


def primary_name(emulated: bool) -> str:
    """The one endpoint a verdict is about; under emulation durations mean nothing."""
    return figures.INTERRUPTS if emulated else "noise_ppm"


def endpoints(pair: Pair, *, tested: bool) -> tuple[Endpoint, ...]:
    """All figures that both arms know; with ``tested`` those of a claim carry interval and p."""
    ours, theirs = (arm.values(pair.cpus, pair.measures) for arm in (pair.before, pair.after))
    found: dict[Key, Endpoint] = {
        key: _endpoint(pair, measure, cpu, ours[key], theirs[key], tested=tested)
        for measure in pair.measures
        for cpu in ("all", *pair.cpus)
        if (key := (measure.name, cpu)) in ours and key in theirs
    }
    if tested:
        found.update(_tested(pair, found, ours, theirs))
    return tuple(found.values())


def _tested(
    pair: Pair,
    found: dict[Key, Endpoint],
    ours: dict[Key, tuple[float, ...]],
    theirs: dict[Key, tuple[float, ...]],
) -> dict[Key, Endpoint]:
    """The endpoints of the claim that every boot knows, the primary one on its own."""
    boots = len(pair.before.boots), len(pair.after.boots)
    known = [key for key in found if (len(ours[key]), len(theirs[key])) == boots]
    claimed = [key for key in known if key[0] in CLAIMED]
    counted = {measure.name for measure in pair.measures if measure.counted}
    families = [[key for key in claimed if found[key].primary is own] for own in (True, False)]
    result = {}
    for family in families:
        rows = [permutation.TwoSamples(ours[key], theirs[key]) for key in family]
        for key, one in zip(family, permutation.infer(rows)):
            if not _torn(found[key], one):
                result[key] = replace(found[key], p=one.adjusted, ci95=one.ci95)
    for key, endpoint in result.items():
        if endpoint.changed and key[0] in counted and mixed(theirs[key]) and min(ours[key]) > 0:
            raised = _raised(theirs[key], pair.after, _of(key[1], pair.cpus))
            result[key] = replace(endpoint, ratio_at_least=_low_end(ours[key], raised))
    return result


def _raised(values: Sequence[float], arm: Arm, cpus: Collection[int]) -> list[float]:
    """Of each boot its rate, of one that counted nothing that of a single event in a run."""
    seconds = ([run.seconds(cpus) for run in boot] for boot in arm.boots)
    return [value or 1 / min(times) for value, times in zip(values, seconds)]


def _low_end(before: Sequence[float], after: Sequence[float]) -> Optional[float]:
    """The low end of the ratio's interval where it tells that there are fewer."""
    (found,) = permutation.infer([permutation.TwoSamples(tuple(before), tuple(after))])
    return found.ci95[0] if found.ci95 and found.ci95[0] > 1 else None


def _torn(endpoint: Endpoint, result: permutation.Result) -> bool:
    """Whether ranks tell one direction and the mean another, which few boots can outweigh."""
    found = result.p <= permutation.ALPHA
    return found and result.fell is not (endpoint.after < endpoint.before)


def _endpoint(
    pair: Pair,
    measure: Measure,
    cpu: Union[int, str],
    before: Sequence[float],
    after: Sequence[float],
    *,
    tested: bool,
) -> Endpoint:
    plain = mixed(before) or mixed(after)
    one, other = typical(before, plain=plain), typical(after, plain=plain)
    bounded = measure.counted and one and not other
    seconds = pair.after.empty_seconds(measure, _of(cpu, pair.cpus)) if bounded else 0.0
    bound = _at_least(before, seconds, tested=tested) if seconds else 0.0
    return Endpoint(
        name=measure.name,
        unit=measure.unit,
        cpu=cpu,
        before=one,
        after=other,
        ratio=one / other if other else None,
        ratio_at_least=bound or None,
        primary=cpu == "all" and measure.name == pair.primary,
    )


def _at_least(before: Sequence[float], seconds: float, *, tested: bool) -> float:
    """The bound of a ratio where nothing was counted in so many seconds after, which are taken for
    one stretch of a constant rate.

    With enough boots it allows for the spread before: the least of n boots is above their true
    median once in 2**n times, and the rest of the 5 % is left to the count.
    """
    # Not every boot knows every figure: a row of /proc/interrupts may be there in some only.
    if not tested or len(before) < permutation.ENOUGH_BOOTS:
        return typical(before) * seconds / _RULE_OF_THREE
    left = permutation.ALPHA - 0.5 ** len(before)
    return min(before) * seconds / -math.log(left)


def _measures(runs: Sequence[Run], cpus: CpuSet, *, emulated: bool) -> list[Measure]:
    result = [*figures.ENDPOINTS, *figures.OBSERVATIONS, *figures.sources(runs, cpus)]
    if comparable.same_version(comparable.oslat_version, runs):
        result.append(figures.OSLAT_MAX)
    if comparable.same_version(comparable.opinion_versions, runs):
        result += figures.printed("us", map(figures.opinions, runs))
    if comparable.same_stress(runs):
        result += figures.printed("1/s", map(figures.throughput, runs))
    below = _below_threshold(max(run.threshold_ns for run in runs))
    return [m for m in result if m.name not in below and not (emulated and m.durations)]


def _below_threshold(threshold_ns: float) -> set[str]:
    return {f"events_per_s@{name}" for name, ns in figures.LEVELS.items() if ns < threshold_ns}


def _of(cpu: Union[int, str], cpus: CpuSet) -> Collection[int]:
    return (cpu,) if isinstance(cpu, int) else tuple(cpus)
