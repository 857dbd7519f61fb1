# SPDX-License-Identifier: GPL-2.0-or-later
"""The figures a run yields: by name and CPU, and over all measured CPUs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Callable, Optional, Union

from lowlat.measure.tools import oslat
from lowlat.measure.tools import stress_ng as stress
from lowlat.measure.tools import throughput as alone
from lowlat.model.cpuset import CpuSet
from lowlat.model.run import CpuRun, Run
from lowlat.report import opinion

#: A figure's name and its CPU; "all" is the mean over the CPUs (the largest, for a maximum).
Key = tuple[str, Union[int, str]]

LEVELS = {"100ns": 100.0, "1us": 1e3, "10us": 1e4, "100us": 1e5}
ENTRIES = "kernel_entries_per_s"
SOFTIRQS = "softirqs_per_s"
THROUGHPUT = "bogo_ops_per_s"


@dataclass(frozen=True)
class Measure:
    """One figure of a CPU.

    ``durations``: it tells how long things took, which means nothing under emulation.
    ``counted``: a rate of counted events, so a zero still bounds it (rule of three).
    """

    name: str
    unit: str
    of: Callable[[CpuRun], Optional[float]]
    pool: Callable[[Iterable[float]], float] = fmean
    durations: bool = True
    counted: bool = False


def _rate(level: str) -> Measure:
    return Measure(
        f"events_per_s@{level}", "1/s", lambda cpu: cpu.rates_per_s.get(level), counted=True
    )


def _time_weighted(share: str) -> Measure:
    return Measure(f"tw_{share}_ns", "ns", lambda cpu: cpu.time_weighted_ns.get(share))


def _total(rows: Optional[Mapping[str, float]]) -> Optional[float]:
    return None if rows is None else rows.get("total", sum(rows.values()))


#: The endpoints of a claim.
ENDPOINTS = (
    Measure("noise_ppm", "ppm", lambda cpu: cpu.noise_ppm),
    *(_rate(level) for level in LEVELS),
    _time_weighted("p99.99"),
    _time_weighted("p99.9999"),
    Measure(
        ENTRIES,
        "1/s",
        lambda cpu: _total(cpu.kernel_entries_per_s),
        durations=False,
        counted=True,
    ),
)

#: What is shown beside them, without ever being claimed.
OBSERVATIONS = (
    Measure("max_ns", "ns", lambda cpu: cpu.max_ns, pool=max),
    Measure("switches_per_s", "1/s", lambda cpu: cpu.switches_per_s, durations=False, counted=True),
    Measure(SOFTIRQS, "1/s", lambda cpu: _total(cpu.softirqs_per_s), durations=False, counted=True),
)

#: From oslat's own output, see second_opinion().
OSLAT_MAX = Measure("oslat_max_us", "us", lambda cpu: None, pool=max)


def sources(runs: Iterable[Run], cpus: CpuSet) -> tuple[Measure, ...]:
    """A measure for each row of /proc/interrupts and /proc/softirqs that ever counted."""
    rows: dict[str, None] = {}
    softirqs: dict[str, None] = {}
    for run in runs:
        for cpu in (run.cpu(number) for number in cpus):
            rows.update(_counting(cpu.kernel_entries_per_s))
            softirqs.update(_counting(cpu.softirqs_per_s))
    return tuple(
        [_source(ENTRIES, row, lambda cpu: cpu.kernel_entries_per_s) for row in rows]
        + [_source(SOFTIRQS, row, lambda cpu: cpu.softirqs_per_s) for row in softirqs]
    )


def _counting(rows: Optional[Mapping[str, float]]) -> dict[str, None]:
    return {row: None for row, rate in (rows or {}).items() if rate and row != "total"}


def _source(name: str, row: str, of: Callable[[CpuRun], Optional[Mapping[str, float]]]) -> Measure:
    def rate(cpu: CpuRun) -> Optional[float]:
        rows = of(cpu)
        # A row that is missing did not grow.
        return None if rows is None else rows.get(row, 0.0)

    return Measure(
        f"{name}@{row}",
        "1/s",
        rate,
        durations=False,
        counted=True,
    )


def stressors(runs: Iterable[Run]) -> tuple[Measure, ...]:
    """A measure for each stressor of stress-ng, filled by throughput()."""
    names = {name: None for run in runs for name, _ in throughput(run)}
    return tuple(Measure(name, "1/s", lambda cpu: None, durations=False) for name in names)


def opinions(runs: Iterable[Run]) -> tuple[Measure, ...]:
    """A measure for each second opinion but oslat's, filled by second_opinion()."""
    tools = {one.tool: None for run in runs for one in run.second_opinions}
    return tuple(Measure(opinion.name(tool), "us", lambda cpu: None, pool=max) for tool in tools)


def figures(run: Run, cpus: CpuSet, measures: Iterable[Measure]) -> dict[Key, float]:
    """What one run says, by figure and CPU; what it does not know is missing."""
    result: dict[Key, float] = {}
    found = {number: run.cpu(number) for number in cpus}
    for measure in measures:
        values = {number: measure.of(cpu) for number, cpu in found.items()}
        known = {number: value for number, value in values.items() if value is not None}
        result.update({(measure.name, number): value for number, value in known.items()})
        if known and len(known) == len(values):
            result[measure.name, "all"] = measure.pool(known.values())
    return result


def second_opinion(run: Run, cpus: CpuSet) -> dict[Key, float]:
    """oslat's maximum in us, by CPU and over all of them, and the others' over all."""
    found = oslat.parse(run.oslat.output) if run.oslat else None
    limits = found.max_us if found else {}
    result: dict[Key, float] = {
        (OSLAT_MAX.name, cpu): most for cpu, most in limits.items() if cpu in cpus
    }
    if result:
        result[OSLAT_MAX.name, "all"] = max(result.values())
    for other in run.second_opinions:
        longest = opinion.longest_us(other)
        if longest is not None:
            result[opinion.name(other.tool), "all"] = longest
    return result


def throughput(run: Run) -> dict[Key, float]:
    """stress-ng's bogo operations per second of real time, by stressor."""
    result: dict[Key, float] = {}
    for load in run.loads:
        if load.tool == "stress-ng":
            for stressor, rate in stress.parse(load.output).throughput().items():
                key = (f"{THROUGHPUT}@{stressor}", "all")
                result[key] = result.get(key, 0.0) + rate
    pinned = alone.find(run.work)
    if pinned:
        result[f"{THROUGHPUT}@{alone.NAME}", "all"] = pinned.mean
    return result
