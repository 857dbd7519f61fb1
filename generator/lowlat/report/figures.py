# SPDX-License-Identifier: GPL-2.0-or-later
"""The figures of a run: by name and CPU, and over all measured CPUs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Callable, Optional

from lowlat.model.cpuset import CpuSet
from lowlat.model.run import Cause, CpuRun, Run, ToolResult
from lowlat.report.endpoint import (
    INTERRUPTS,
    MAJOR_FAULTS,
    OSLAT_MAX,
    SOFTIRQS,
    WORST_SECOND,
)
from lowlat.report.measure import Key, Measure

#: Rates per second of a CPU's rows in /proc/interrupts or /proc/softirqs; None if unknown.
_Rows = Callable[[CpuRun], Optional[Mapping[str, float]]]

THROUGHPUT = "bogo_ops_per_s"
CAUSES = "cause_ppm"
CAUSE_RATES = "cause_per_s"
CLASSES = "osnoise_ppm"
CLASS_RATES = "osnoise_per_s"
TOGETHER = "together_ppm"

#: The classes of causes of the kernel's osnoise tracer, which counts an IPI as an interrupt, then
#: classes that the tracer lacks or that are unknown without the trace.
KINDS = {
    "HW": ("hardware-or-hypervisor",),
    "NMI": ("nmi",),
    "IRQ": ("irq", "ipi"),
    "softirq": ("softirq",),
    "thread": ("thread",),
    "IRQ or HW": ("interrupt-or-hardware",),
    "other": ("exception", "not-recorded"),
}

#: The classes that are zero if a trace has none of their events.
_TRACED = ("HW", "NMI", "IRQ", "softirq", "thread")


def sources(runs: Iterable[Run], cpus: CpuSet) -> tuple[Measure, ...]:
    """A measure for each row of /proc/interrupts and /proc/softirqs that ever counted."""
    known = [run.cpu(number) for run in runs for number in cpus]
    entries = _sources(INTERRUPTS, known, lambda cpu: cpu.interrupts_per_s)
    return (*entries, *_sources(SOFTIRQS, known, lambda cpu: cpu.softirqs_per_s))


def causes(runs: Sequence[Run], cpus: CpuSet) -> Iterator[Measure]:
    """For each cause of gaps, and each class of causes, its time in ppm and its rate, as far as the
    observer recorded them."""
    known = [run.cpu(number).causes or () for run in runs for number in cpus]
    for name in dict.fromkeys(_by_name(one) for own in known for one in own):
        yield from _shares((CAUSES, CAUSE_RATES), name, _by_name)
    seen = {_by_class(one) for own in known for one in own}
    if seen - {"thread", "IRQ or HW"} or any(run.attribution.observer == "trace" for run in runs):
        seen.update(_TRACED)
    for title in KINDS:
        if title in seen:
            yield from _shares((CLASSES, CLASS_RATES), title, _by_class)


def _by_name(cause: Cause) -> str:
    return f"{cause.kind}: {cause.cause}"


def _by_class(cause: Cause) -> str:
    return next((title for title, own in KINDS.items() if cause.kind in own), "other")


def _shares(names: tuple[str, str], title: str, named: Callable[[Cause], str]) -> Iterator[Measure]:
    def share(cpu: CpuRun, of: Callable[[Cause], float]) -> Optional[float]:
        own = [of(one) for one in cpu.causes or () if named(one) == title]
        counted = max(cpu.runtime_ns - (cpu.dead_ns or 0.0), 1.0)
        return None if cpu.causes is None else sum(own) / counted

    ppm, rate = names
    yield Measure(ppm, "ppm", lambda cpu: share(cpu, lambda one: 1e6 * one.time_ns), title)
    yield Measure(rate, "1/s", lambda cpu: share(cpu, lambda one: 1e9 * one.events), title)


def _sources(name: str, cpus: Iterable[CpuRun], of: _Rows) -> Iterator[Measure]:
    def rate(row: str, cpu: CpuRun) -> Optional[float]:
        rows = of(cpu)
        # A missing row did not grow.
        return None if rows is None else rows.get(row, 0.0)

    rates = (item for cpu in cpus for item in (of(cpu) or {}).items())
    for row in dict.fromkeys(row for row, rate in rates if rate and row != "total"):
        yield Measure(name, "1/s", partial(rate, row), row, durations=False, counted=True)


def figures(run: Run, cpus: CpuSet, measures: Iterable[Measure]) -> dict[Key, float]:
    """The values of one run, by figure and CPU; unknown ones are missing."""
    result: dict[Key, float] = {}
    by_number = {number: run.cpu(number) for number in cpus}
    for measure in measures:
        values = {number: measure.of(cpu) for number, cpu in by_number.items()}
        known = {number: value for number, value in values.items() if value is not None}
        result.update({measure.key(number): value for number, value in known.items()})
        if known and len(known) == len(values):
            result[measure.key()] = measure.pool(known.values())
    return result


def of_run(run: Run, cpus: CpuSet) -> dict[Key, float]:
    """The values of a run as a whole, and those from other programs."""
    told = cross_checks(run) | coincidence_figures(run) | throughput(run) | _major_faults(run)
    return _worst_seconds(run, cpus) | _oslat(run, cpus) | told


def _worst_seconds(run: Run, cpus: CpuSet) -> dict[Key, float]:
    worst = {
        cpu: 1e6 * series.worst(run.ends_s)
        for cpu in cpus
        if (series := run.cpu(cpu).series) and run.ends_s
    }
    return _with_largest(WORST_SECOND, worst)


def _oslat(run: Run, cpus: CpuSet) -> dict[Key, float]:
    """oslat's maximum in us, by CPU and over all of them."""
    limits = run.oslat.result.figures if run.oslat and run.oslat.result else {}
    return _with_largest(OSLAT_MAX, {cpu: limits[str(cpu)] for cpu in cpus if str(cpu) in limits})


def _with_largest(measure: Measure, values: Mapping[int, float]) -> dict[Key, float]:
    largest = {measure.key(): max(values.values())} if values else {}
    return largest | {measure.key(cpu): value for cpu, value in values.items()}


def cross_checks(run: Run) -> dict[Key, float]:
    """The longest time of any CPU in us by the cross-checks other than oslat, a wake-up latency
    (cyclictest, timerlat) or one noise (osnoise), and cyclictest's percentiles."""
    result: dict[Key, float] = {}
    for one in run.second_opinions:
        known = one.result.figures if one.result else {}
        result.update({Key(f"{one.tool}_{p}_us"): us for p, us in known.items() if p[0] == "p"})
        if longest := [us for name, us in known.items() if name[0] != "p"]:
            result[Key(f"{one.tool}_max_us")] = max(longest)
    return result


def coincidence_figures(run: Run) -> dict[Key, float]:
    """The share of time, in ppm, with CPUs away at once, and the share expected by chance."""
    result: dict[Key, float] = {}
    for one in run.together:
        row, span_s = f"CPUs {one.cpus}", 1e3 * run.duration_s
        result[Key(TOGETHER, row=row)] = one.time_ns / span_s
        result[Key(TOGETHER, row=f"{row} by chance")] = one.by_chance_ns / span_s
    return result


def throughput(run: Run) -> dict[Key, float]:
    """stress-ng's bogo operations per second of real time, by stressor."""
    rates = _summed(*(load.result for load in run.loads), run.throughput)
    return {Key(THROUGHPUT, row=stressor): rate for stressor, rate in rates.items()}


def _major_faults(run: Run) -> dict[Key, float]:
    """The parts of a load share one memory group. A rate of zero is left out."""
    rate = run.loads[0].memory_group.get("major_faults_per_s") if run.loads else None
    return {MAJOR_FAULTS.key(): rate} if rate else {}


def dose(run: Run) -> dict[str, float]:
    """The work of the load beside the detector: bogo operations per second, by stressor."""
    return _summed(*(load.result for load in run.loads))


def _summed(*results: Optional[ToolResult]) -> dict[str, float]:
    rates: dict[str, float] = {}
    for one in filter(None, results):
        for stressor, rate in one.figures.items():
            rates[stressor] = rates.get(stressor, 0.0) + rate
    return rates


def printed(unit: str, known: Iterable[Mapping[Key, float]]) -> Iterator[Measure]:
    """A measure for each figure that a tool printed, among those of of_run()."""
    for name, row in dict.fromkeys((key.name, key.row) for keys in known for key in keys):
        own = "ns2" if name.endswith("_ns2") else unit
        yield Measure(name, own, row=row, durations=unit != "1/s")
