# SPDX-License-Identifier: GPL-2.0-or-later
"""The figures of two arms beside each other; those of a claim with the results of the test."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import Optional

from lowlat.claim import comparable, throughput
from lowlat.claim.stats import flips
from lowlat.claim.stats.lost import LoneBoots, counted_against, weakest_result
from lowlat.claim.stats.samples import ALPHA, TwoSamples
from lowlat.figures import cross_check, figures, pooling, work
from lowlat.figures.endpoint import (
    ENDPOINTS,
    GAPS,
    LEVELS,
    MAJOR_FAULTS,
    OBSERVATIONS,
    POOLED,
    SPREAD,
    WORST_SECOND,
)
from lowlat.figures.measure import Cpu, Key, Measure, Pooling
from lowlat.figures.measured_arm import Arm
from lowlat.model.cpuset import CpuSet
from lowlat.model.plan import NOISE
from lowlat.model.run import Run
from lowlat.model.tool import MoreThan

#: The least and the greatest.
Ends = tuple[float, float]


@dataclass(frozen=True)
class ComparedFigure:
    """One figure before and after; ``ratio`` is before/after, None if after is zero, and of maxima
    if the observed times differ. ``pooling`` tells what the values are. The ``p`` of
    the primary endpoint is from a test of its own; those of the others are adjusted for all of
    them. ``ci95`` of the ratio is for this endpoint alone, None if it has no upper end.
    ``ratio_at_least`` is its lower end, the bound for a gate. ``counts`` are the events counted in
    all boots of either arm, None if the figure counts no events. ``ranges`` are the least and the
    greatest boot of either arm, None if the figure is not tested over boots."""

    key: Key
    unit: str
    before: float
    after: float
    ratio: Optional[float]
    ratio_at_least: Optional[float] = None
    ci95: Optional[tuple[float, float]] = None
    p: Optional[float] = None
    primary: bool = False
    pooling: Pooling = Pooling.BOOTS
    counts: Optional[tuple[float, float]] = None
    ranges: Optional[tuple[Ends, Ends]] = None

    @property
    def name(self) -> str:
        return self.key.name

    @property
    def row(self) -> str:
        return self.key.row

    @property
    def cpu(self) -> Cpu:
        return self.key.cpu

    @property
    def changed(self) -> bool:
        """Whether the test finds a change, and the interval excludes 1."""
        if self.p is None or self.p > ALPHA or self.ratio_at_least is None:
            return False
        return self.ratio_at_least > 1 or (self.ci95 is not None and self.ci95[1] < 1)


#: The resolution of a figure by its unit: half that of other tools, and the clock's.
_RESOLUTION = {"us": 0.5, "ns": 1.0}

#: Fewer gaps than these in a boot differ by chance alone: the interval of a figure that they make
#: up is not narrower than theirs.
_FEW_GAPS = 100


@dataclass(frozen=True)
class Pair:
    """Two arms, the CPUs that all their runs measured, and the figures to compare; and what counts
    against a claim: the arms' ``lone`` boots, and the number of pairs that lack both boots."""

    before: Arm
    after: Arm
    cpus: CpuSet
    measures: tuple[Measure, ...]
    primary: Key
    lone: tuple[Arm, ...] = ()
    neither: int = 0

    @classmethod
    def of(
        cls, before: Arm, after: Arm, primary: Key, lone: tuple[Arm, ...] = (), neither: int = 0
    ) -> Pair:
        """For comparable arms only; others are refused before (comparable.py)."""
        runs = [run for arm in (before, after, *lone) for run in arm.runs]
        cpus = comparable.common_cpus(runs)
        compared = (*measures(runs, cpus, emulated=runs[0].emulated), *before.asked)
        tested = [one for key, one in cross_check.TESTED.items() if key == primary]
        return cls(before, after, cpus, (*tested, *compared), primary, lone, neither)

    @property
    def lost(self) -> bool:
        """Whether a pair lacks a boot."""
        return bool(self.neither or any(arm.runs for arm in self.lone))

    @cached_property
    def figures(self) -> dict[Key, PairFigure]:
        """All figures that are tested over boots and that both arms have."""
        ours, theirs = (arm.values(self.cpus, self.measures) for arm in (self.before, self.after))
        return {
            key: PairFigure(self, measure, key, ours[key], theirs[key])
            for measure in self.measures
            for cpu in ("all", *self.cpus)
            if (key := measure.key(cpu)) in ours and key in theirs
        }

    @cached_property
    def lone_values(self) -> list[dict[Key, tuple[float, ...]]]:
        """As in ``figures``, of the lone boots of either arm."""
        return [arm.values(self.cpus, self.measures) for arm in self.lone]

    @property
    def together(self) -> Iterator[ComparedFigure]:
        """The other figures that both arms have, of all runs together."""
        ours, theirs = (arm.together(self.cpus, self.measures) for arm in (self.before, self.after))
        for measure in self.measures:
            for cpu in ("all", *self.cpus):
                if (key := measure.key(cpu)) in ours and key in theirs:
                    yield self._together(measure, key, (ours[key], theirs[key]))

    def _together(self, measure: Measure, key: Key, values: tuple[float, float]) -> ComparedFigure:
        before, after = map(sum, self.seconds(key))
        counts = round(values[0] * before, 3), round(values[1] * after, 3)
        return ComparedFigure(
            key,
            measure.unit,
            *values,
            ratio=pooling.ratio(measure, values, (before, after)),
            pooling=measure.pooling,
            counts=counts if measure.counted and self._told_by_all(measure, key) else None,
        )

    def _told_by_all(self, measure: Measure, key: Key) -> bool:
        runs = (*self.before.runs, *self.after.runs)
        cpus = CpuSet.of([key.cpu]) if isinstance(key.cpu, int) else self.cpus
        return all(key in pooling.of_runs((run,), cpus, (measure,)) for run in runs)

    def seconds(self, key: Key) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The measured time behind a figure, boot by boot."""
        return self._seconds(key, self.before), self._seconds(key, self.after)

    def lone_seconds(self, key: Key) -> tuple[tuple[float, ...], tuple[float, ...]]:
        one, other = (self._seconds(key, arm) for arm in self.lone)
        return one, other

    def _seconds(self, key: Key, arm: Arm) -> tuple[float, ...]:
        return arm.seconds((key.cpu,) if isinstance(key.cpu, int) else tuple(self.cpus))


def compared_figures(pair: Pair, *, tested: bool, drawn: bool) -> tuple[ComparedFigure, ...]:
    """All figures that both arms have. If the boots of the arms are pairs, in the same order, they
    can be ``tested``: those of a claim get interval and p. The order within the pairs was ``drawn``
    or not."""
    compared = {key: row.compared() for key, row in pair.figures.items()}
    if tested:
        compared.update(_tested(pair, compared, drawn=drawn))
    return (*compared.values(), *pair.together)


@dataclass(frozen=True)
class PairFigure:
    """One figure, and its value in each boot that has it."""

    pair: Pair
    measure: Measure
    key: Key
    before: tuple[float, ...]
    after: tuple[float, ...]

    @property
    def seconds(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        return self.pair.seconds(self.key)

    @property
    def known(self) -> bool:
        """Whether every boot has it."""
        arms = (self.pair.before, self.pair.after, *self.pair.lone)
        values = (self.before, self.after, *self._lone)
        return all(len(own) == len(arm.boots) for own, arm in zip(values, arms))

    @property
    def _lone(self) -> list[tuple[float, ...]]:
        return [own.get(self.key, ()) for own in self.pair.lone_values]

    @property
    def floor(self) -> float:
        """The resolution of a run: a gap as long as the threshold, or one such gap in a share of
        the time; 0 if it is not known."""
        threshold = max(run.threshold_ns for run in (*self.pair.before.runs, *self.pair.after.runs))
        if self.measure.unit == "ppm":
            return threshold / 1e3 / max(map(max, self.seconds))
        return threshold if self.measure.beyond else _RESOLUTION.get(self.measure.unit, 0.0)

    def samples(self) -> TwoSamples:
        """The values of the pairs."""
        gaps = self._gaps
        return self._row(self.before, self.after, self.seconds, gaps.samples() if gaps else None)

    def rows(self) -> list[TwoSamples]:
        """The values of the pairs; if some lack a boot, also with these counted against a fall, and
        against a rise."""
        row = self.samples()
        if not self.pair.lost:
            return [row]
        return [row, *counted_against(row, LoneBoots(self._lone_row(), self.pair.neither))]

    def _lone_row(self) -> TwoSamples:
        one, other = self._lone
        gaps = self._gaps
        behind = gaps._lone_row() if gaps else None
        return self._row(one, other, self.pair.lone_seconds(self.key), behind)

    def _row(
        self,
        one: Sequence[float],
        other: Sequence[float],
        seconds: tuple[Sequence[float], Sequence[float]],
        gaps: Optional[TwoSamples],
    ) -> TwoSamples:
        if self.measure.counted:
            return TwoSamples(one, other, seconds)
        arms, floor = (one, other), self.floor
        below = [{n for n, value in enumerate(arm) if value < floor} for arm in arms]
        above = [{n for n, v in enumerate(arm) if isinstance(v, MoreThan)} for arm in arms]
        least = [[max(value, floor) for value in arm] for arm in arms]
        known = (below[0], below[1]), (above[0], above[1])
        return TwoSamples(least[0], least[1], None, *known, gaps)

    @cached_property
    def _gaps(self) -> Optional[PairFigure]:
        """The gaps behind the noise, if they are few."""
        keys = (Key(GAPS, self.key.cpu, row) for row in LEVELS if self.key.name == NOISE)
        row = next((self.pair.figures[key] for key in keys if key in self.pair.figures), None)
        counts = row._counts() if row and row.known else None
        return row if counts and min(counts) < _FEW_GAPS * len(self.before) else None

    def compared(self) -> ComparedFigure:
        counted = self.measure.counted
        arms = (self.before, self.after)
        one, other = (pooling.of_arm(arm, self.measure, self.floor) for arm in arms)
        known = counted or all(max(arm) >= self.floor for arm in arms)
        times = fmean(self.seconds[0]), fmean(self.seconds[1])
        return ComparedFigure(
            key=self.key,
            unit=self.measure.unit,
            before=one,
            after=other,
            ratio=pooling.ratio(self.measure, (one, other), (times[0], times[1]))
            if known
            else None,
            primary=self.key == self.pair.primary,
            counts=self._counts() if counted and self.known else None,
            ranges=(_ends(self.before), _ends(self.after)),
        )

    def _counts(self) -> tuple[float, float]:
        one, other = (
            sum(rate * time for rate, time in zip(arm, times))
            for arm, times in zip((self.before, self.after), self.seconds)
        )
        return round(one, 3), round(other, 3)


def _ends(boots: Sequence[float]) -> Ends:
    return min(boots), max(boots)


def _tested(
    pair: Pair, compared: dict[Key, ComparedFigure], *, drawn: bool
) -> dict[Key, ComparedFigure]:
    """The endpoints of the claim that every boot has, the primary one in a test of its own; and
    beside the claim the time of a piece of each kind of work, and the throughput."""
    rows, longest = pair.figures, longest_gaps(pair)
    claimed = [
        key
        for key, row in rows.items()
        if (row.measure in ENDPOINTS or compared[key].primary)
        and key.name not in longest
        and row.known
    ]
    families = [[key for key in claimed if compared[key].primary is own] for own in (True, False)]
    families.append([key for key, row in rows.items() if key.name == work.MEAN and row.known])
    if not pair.before.runs[0].emulated:
        # A guard, not one of the claims.
        guard = rows.get(throughput.KEY)
        families.append([guard.key] if guard and guard.known else [])
    result = {}
    for family in families:
        each = zip(*(rows[key].rows() for key in family))
        results = zip(*(flips.infer(one, drawn=drawn) for one in each))
        for key, one in zip(family, map(weakest_result, results)):
            low, high = one.ci95
            ends = (low, high) if math.isfinite(high) else None
            result[key] = replace(compared[key], p=one.adjusted, ci95=ends, ratio_at_least=low)
    return result


def longest_gaps(pair: Pair) -> set[str]:
    """The percentiles that lie within the longest gap of some run: in so short a run they only
    repeat the longest gap, which is never claimed."""
    runs = (*pair.before.runs, *pair.after.runs)
    cpus = [run.cpu(number) for run in runs for number in pair.cpus]
    return {
        measure.name
        for measure in ENDPOINTS
        if measure.beyond and measure.of
        for cpu in cpus
        if measure.of(cpu) is not None and measure.beyond * cpu.runtime_ns <= (cpu.max_ns or 0.0)
    }


def measures(runs: Sequence[Run], cpus: CpuSet, *, emulated: bool) -> list[Measure]:
    """All figures that these runs have for these CPUs."""
    result = [*ENDPOINTS, *POOLED, *OBSERVATIONS, *figures.sources(runs, cpus)]
    result += figures.causes(runs, cpus)
    result += (WORST_SECOND, SPREAD)
    if any(rate for run in runs for rate in figures.major_faults(run).values()):
        result.append(MAJOR_FAULTS)
    result += figures.printed("ns", (work.values(run, cpus) for run in runs))
    result += figures.printed("ppm", map(figures.coincidence_figures, runs))
    result += cross_check.measures(runs)
    if comparable.same_stress(runs):
        result += figures.printed("1/s", map(figures.throughput, runs))
    least = max(run.threshold_ns for run in runs)
    below = {row for row, ns in LEVELS.items() if ns < least}
    return [
        one
        for one in result
        if not (one.name.endswith(GAPS) and one.row in below) and not (emulated and one.durations)
    ]
