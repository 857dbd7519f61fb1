# SPDX-License-Identifier: GPL-2.0-or-later
"""From runs to the report: medians over boots, ratios, and what may be concluded from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Optional, Union

from lowlat.cpuset import CpuSet
from lowlat.report import comparable, evidence, figures
from lowlat.report.figures import Key, Measure
from lowlat.run import Run

SCHEMA = "lowlat.report/1"

#: Below this number of boots an arm no test can reach 5 % (at 3 against 3 its smallest p is 0.1).
ENOUGH_BOOTS = 5

#: With no event in T seconds the rate is below 3/T with 95 % confidence.
_RULE_OF_THREE = 3.0


@dataclass(frozen=True)
class Endpoint:
    """One figure before and after; ``ratio`` is before/after, None where after is zero."""

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


@dataclass(frozen=True)
class Report:
    """The document ``lowlat.report/1``."""

    verdict: str
    why: str
    boots: tuple[int, int]
    emulated: bool
    endpoints: tuple[Endpoint, ...]
    not_in_effect: tuple[evidence.Missing, ...]
    flags: tuple[str, ...]

    def get(self, name: str, cpu: Union[int, str] = "all") -> Optional[Endpoint]:
        return next((e for e in self.endpoints if e.name == name and e.cpu == cpu), None)

    @property
    def primary(self) -> Optional[Endpoint]:
        return next((e for e in self.endpoints if e.primary), None)

    @property
    def cpus(self) -> CpuSet:
        return CpuSet.of(e.cpu for e in self.endpoints if isinstance(e.cpu, int))


class _Arm:
    """The runs of one side, grouped by boot."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self.runs = runs
        self.boots: dict[str, list[Run]] = {}
        for number, run in enumerate(runs):
            self.boots.setdefault(run.boot_id or f"#{number}", []).append(run)

    def medians(self, cpus: CpuSet, measures: Sequence[Measure]) -> dict[Key, list[float]]:
        """For each figure its value in every boot: the median over the boot's runs."""
        result: dict[Key, list[float]] = {}
        for runs in self.boots.values():
            seen: dict[Key, list[float]] = {}
            for run in runs:
                _collect(seen, _all_figures(run, cpus, measures))
            _collect(result, {key: median(values) for key, values in seen.items()})
        return result

    def seconds(self, cpus: Iterable[int]) -> float:
        """The measured time of these CPUs over all runs."""
        return sum(run.cpu(number).runtime_ns for run in self.runs for number in cpus) / 1e9


def build(
    before: Sequence[Run], after: Sequence[Run], settings: Optional[Sequence[evidence.Setting]]
) -> Report:
    """Compare two arms of at least one run; ``settings`` is what verify found after, if asked."""
    arms = _Arm(before), _Arm(after)
    boots = len(arms[0].boots), len(arms[1].boots)
    flags = [*comparable.flags(before, after), *_verified(settings)]
    emulated = before[0].emulated and after[0].emulated
    why = comparable.refusal(before, after)
    endpoints = () if why else _endpoints(*arms, emulated=emulated)
    if not why and not any(endpoint.primary for endpoint in endpoints):
        why = f"{_primary(emulated)} is not known for every measured CPU"
        endpoints = ()
    return Report(
        verdict="refused" if why else "descriptive-only",
        why=why or _why(boots),
        boots=boots,
        emulated=emulated,
        endpoints=endpoints,
        not_in_effect=evidence.not_in_effect(settings or (), after),
        flags=tuple(flags),
    )


def _verified(settings: Optional[Sequence[evidence.Setting]]) -> Iterable[str]:
    if settings is None:
        return ("what was in effect was not checked (--verify FILE)",)
    return evidence.unknown(settings)


def _why(boots: tuple[int, int]) -> str:
    if min(boots) < ENOUGH_BOOTS:
        return f"{boot_words(boots)}; a test needs {ENOUGH_BOOTS} boots an arm"
    return f"{boot_words(boots)}; this version makes no test"


def boot_words(boots: tuple[int, int]) -> str:
    """How many boots stand behind the figures."""
    one, other = boots
    if one == other:
        return f"{one} boot{'s' if one > 1 else ''} each"
    return f"{one} against {other} boots"


def _primary(emulated: bool) -> str:
    return figures.ENTRIES if emulated else "noise_ppm"


def _endpoints(before: _Arm, after: _Arm, *, emulated: bool) -> tuple[Endpoint, ...]:
    runs = (*before.runs, *after.runs)
    cpus = comparable.common_cpus(runs)
    measures = _measures(before.runs, after.runs, cpus, emulated=emulated)
    ours, theirs = (arm.medians(cpus, measures) for arm in (before, after))
    return tuple(
        _endpoint(measure, cpu, ours[key], theirs[key], after.seconds(_of(cpu, cpus)), emulated)
        for measure in measures
        for cpu in ("all", *cpus)
        if (key := (measure.name, cpu)) in ours and key in theirs
    )


def _measures(
    before: Sequence[Run], after: Sequence[Run], cpus: CpuSet, *, emulated: bool
) -> list[Measure]:
    runs = (*before, *after)
    result = [*figures.ENDPOINTS, *figures.OBSERVATIONS, *figures.sources(runs, cpus)]
    if comparable.same_oslat(before, after):
        result.append(figures.OSLAT_MAX)
    if comparable.same_stress(before, after):
        result += figures.stressors(runs)
    below = _below_threshold(max(run.threshold_ns for run in runs))
    return [m for m in result if m.name not in below and not (emulated and m.durations)]


def _below_threshold(threshold_ns: float) -> set[str]:
    return {f"events_per_s@{name}" for name, ns in figures.LEVELS.items() if ns < threshold_ns}


def _endpoint(
    measure: Measure,
    cpu: Union[int, str],
    before: Sequence[float],
    after: Sequence[float],
    seconds: float,
    emulated: bool,
) -> Endpoint:
    one, other = median(before), median(after)
    # A median of zero bounds the rate only where no boot saw a single event.
    bound = _RULE_OF_THREE / seconds if measure.counted and seconds and not any(after) else None
    return Endpoint(
        name=measure.name,
        unit=measure.unit,
        cpu=cpu,
        before=one,
        after=other,
        ratio=one / other if other else None,
        ratio_at_least=one / bound if bound and one else None,
        primary=cpu == "all" and measure.name == _primary(emulated),
    )


def _of(cpu: Union[int, str], cpus: CpuSet) -> Iterable[int]:
    return (cpu,) if isinstance(cpu, int) else cpus


def _all_figures(run: Run, cpus: CpuSet, measures: Sequence[Measure]) -> dict[Key, float]:
    return {
        **figures.figures(run, cpus, measures),
        **figures.second_opinion(run, cpus),
        **figures.throughput(run),
    }


def _collect(into: dict[Key, list[float]], values: dict[Key, float]) -> None:
    for key, value in values.items():
        into.setdefault(key, []).append(value)
