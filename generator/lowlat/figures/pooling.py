# SPDX-License-Identifier: GPL-2.0-or-later
"""The one place where the figures of several CPUs, runs and boots become one figure.

How a figure is pooled is declared with it (``Measure.pooling``).
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, geometric_mean, median, median_high
from typing import Optional

from lowlat.figures import cross_check, figures
from lowlat.figures.measure import Key, Measure, Pooling
from lowlat.model.cpuset import CpuSet
from lowlat.model.histogram import Row, delay_at, row_at, summed
from lowlat.model.run import CpuRun, Run
from lowlat.model.tool import MoreThan

#: Observed times that differ by more than this share give maxima that do not compare. Other tools
#: measure for a little more or less than they were asked to.
_ALIKE = 0.04


@dataclass(frozen=True)
class Observation:
    """A figure of one CPU in one run, or of one run: its value and its time in s; ``cpu`` is None
    for a run."""

    value: float
    seconds: float
    cpu: Optional[CpuRun] = None


def of_runs(runs: Sequence[Run], cpus: CpuSet, measures: Iterable[Measure]) -> Mapping[Key, float]:
    """The figures of all these runs, for each CPU and for all of them, by what each declares. One
    that is tested over boots stands here for a single run: the mean of its CPUs."""
    wanted = tuple(measures)
    values = [(run, figures.values(run, cpus, wanted)) for run in runs]
    told = cross_check.values(runs, cpus)
    result: dict[Key, float] = {}
    for measure in wanted:
        if measure.name in cross_check.SUBJECTS:
            result.update(cross_check.known(measure, told, cpus))
            continue
        for number in cpus:
            key = measure.key(number)
            own = [part for run, known in values for part in _of_cpu(run, known, measure, number)]
            result.update(_joined(measure, key, own))
        whole = [part for run, known in values for part in _of_run(run, known, measure, cpus)]
        result.update(_joined(measure, measure.key(), whole))
    return result


def of_boots(
    boots: Iterable[Sequence[Run]], cpus: CpuSet, measures: Iterable[Measure]
) -> dict[Key, tuple[float, ...]]:
    """For each figure that is tested over boots its value in every boot that has it: the median
    over the boot's runs, or for counted events the mean over their time."""
    tested = [one for one in measures if one.pooling is Pooling.BOOTS]
    counted = {(one.name, one.row) for one in tested if one.counted}
    result: dict[Key, list[float]] = {}
    for boot in boots:
        seen: dict[Key, list[float]] = {}
        for run in boot:
            for key, value in of_runs([run], cpus, tested).items():
                seen.setdefault(key, []).append(value)
        times = [run.seconds(cpus) for run in boot]
        for key, own in seen.items():
            mean = (key.name, key.row) in counted and len(own) == len(boot)
            result.setdefault(key, []).append(weighted(own, times) if mean else _median(own))
    return {key: tuple(values) for key, values in result.items()}


def _median(values: Sequence[float]) -> float:
    """MoreThan if a value of which only a lower limit is known may lie above it."""
    least = min((value for value in values if isinstance(value, MoreThan)), default=math.inf)
    middle = median(values)
    return MoreThan(middle) if least <= median_high(values) else middle


def typical(values: Sequence[float], floor: float = 0.0) -> float:
    """One value for several boots: the geometric mean, because the test compares ratios. Values
    below ``floor`` count as ``floor``; without a floor, the mean is used if a boot has a zero."""
    if min(values) == max(values):
        return values[0]
    if not floor and min(values) <= 0:
        return fmean(values)
    return geometric_mean(max(value, floor) for value in values)


def of_arm(boots: Sequence[float], measure: Measure, floor: float = 0.0) -> float:
    """One value for the boots of an arm, for a figure that is tested over boots."""
    value = fmean(boots) if measure.counted else typical(boots, floor)
    return MoreThan(value) if any(isinstance(boot, MoreThan) for boot in boots) else value


def weighted(values: Sequence[float], weights: Sequence[float]) -> float:
    """The mean, weighted; 0 if nothing has a weight."""
    total = sum(weights)
    return sum(value * weight for value, weight in zip(values, weights)) / total if total else 0.0


def ratio(
    measure: Measure, values: tuple[float, float], seconds: tuple[float, float]
) -> Optional[float]:
    """Before/after; None if after is zero, and for maxima of unequal times: the longer one looks,
    the larger they are."""
    before, after = values
    if isinstance(before, MoreThan) or isinstance(after, MoreThan):
        return None
    apart = abs(seconds[0] - seconds[1]) > _ALIKE * max(seconds)
    maximum = measure.maximum or measure.pooling is Pooling.LARGEST
    return None if not after or (maximum and apart) else before / after


def _of_cpu(
    run: Run, known: Mapping[Key, float], measure: Measure, number: int
) -> Iterator[Observation]:
    value = known.get(measure.key(number))
    if value is not None:
        cpu = run.cpu(number)
        time = cpu.counted_ns if measure.unit == "ppm" else cpu.runtime_ns
        yield Observation(value, time / 1e9, cpu)


def _of_run(
    run: Run, known: Mapping[Key, float], measure: Measure, cpus: CpuSet
) -> Iterator[Observation]:
    """What the run tells of itself, else its CPUs: all of them, where the detector tells it."""
    if measure.key() in known:
        yield Observation(known[measure.key()], run.seconds(cpus))
        return
    own = [part for number in cpus for part in _of_cpu(run, known, measure, number)]
    if measure.of is None or measure.pooling is Pooling.LARGEST or len(own) == len(cpus):
        yield from own


def _joined(
    measure: Measure, key: Key, parts: Sequence[Observation]
) -> Iterator[tuple[Key, float]]:
    value = _POOLS[measure.pooling](measure, parts) if parts else None
    if value is not None:
        yield key, value


def _largest(_: Measure, parts: Sequence[Observation]) -> float:
    return max(part.value for part in parts)


def _mean(_: Measure, parts: Sequence[Observation]) -> float:
    return fmean(part.value for part in parts)


def _over_time(_: Measure, parts: Sequence[Observation]) -> float:
    return weighted([part.value for part in parts], [part.seconds for part in parts])


def _quantile(measure: Measure, parts: Sequence[Observation]) -> Optional[float]:
    """The middle of the bucket, as in one run, and never above the largest value."""
    known = _counts(measure, parts)
    if known is None:
        return _alike(parts)
    rows, largest = known
    found = row_at(rows, measure.share, sum(count for *_, count in rows))
    if found is None:
        return None
    lower, upper, _ = found
    return min(lower + (upper - 1 - lower) // 2, largest)


def _delay(measure: Measure, parts: Sequence[Observation]) -> Optional[float]:
    known = _counts(measure, parts)
    if known is None or len(parts) == 1:
        return _alike(parts)
    rows, longest = known
    return delay_at(rows, measure.beyond * 1e9 * sum(part.seconds for part in parts), longest)


def _spread(_: Measure, parts: Sequence[Observation]) -> Optional[float]:
    """Within the parts and between their means; None if nothing differs, as in a single step."""
    times = [part.seconds for part in parts]
    means = [part.cpu.noise_ppm or 0.0 if part.cpu else 0.0 for part in parts]
    whole = weighted(means, times)
    squares = [part.value**2 + (mean - whole) ** 2 for part, mean in zip(parts, means)]
    return math.sqrt(weighted(squares, times)) or None


def _counts(
    measure: Measure, parts: Sequence[Observation]
) -> Optional[tuple[tuple[Row, ...], float]]:
    """The sum of the histograms, in order, and the largest value; None if one is not known."""
    own = [part.cpu and measure.counts(part.cpu) for part in parts]
    known = [one for one in own if one]
    if len(known) < len(own):
        return None
    rows = summed(row for histogram, _ in known for row in histogram.rows)
    return rows, max(end for _, end in known)


def _alike(parts: Sequence[Observation]) -> Optional[float]:
    """Without histograms: the percentile of all lies between the least and the greatest."""
    values = {part.value for part in parts}
    return values.pop() if len(values) == 1 and math.isfinite(max(values)) else None


_POOLS: Mapping[Pooling, Callable[[Measure, Sequence[Observation]], Optional[float]]] = {
    Pooling.BOOTS: _mean,
    Pooling.LARGEST: _largest,
    Pooling.TIME: _over_time,
    Pooling.QUANTILE: _quantile,
    Pooling.DELAY: _delay,
    Pooling.SPREAD: _spread,
}
