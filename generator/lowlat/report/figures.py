# SPDX-License-Identifier: GPL-2.0-or-later
"""The figures of a run: by name and CPU, and over all measured CPUs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Callable, Optional, Union

from lowlat.model.cpuset import CpuSet
from lowlat.model.run import Cause, CpuRun, Run, ToolResult

#: A figure's name and its CPU; "all" is the mean over the CPUs (the largest, for a maximum).
Key = tuple[str, Union[int, str]]

#: Rates per second of a CPU's rows in /proc/interrupts or /proc/softirqs; None if unknown.
_Rows = Callable[[CpuRun], Optional[Mapping[str, float]]]

LEVELS = {"100ns": 100.0, "1us": 1e3, "10us": 1e4, "100us": 1e5}
INTERRUPTS = "interrupts_per_s"
SOFTIRQS = "softirqs_per_s"
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


@dataclass(frozen=True)
class Measure:
    """One figure of a CPU.

    ``durations``: it is a duration, which means nothing under emulation. ``counted``: a rate of
    counted events; a boot's rate is over all its time, an arm's the mean of its boots. ``beyond``:
    for a percentile of the time the share above it, else 0.
    """

    name: str
    unit: str
    of: Callable[[CpuRun], Optional[float]]
    pool: Callable[[Iterable[float]], float] = fmean
    durations: bool = True
    counted: bool = False
    beyond: float = 0.0


def _pace(share: str) -> Measure:
    def value(cpu: CpuRun) -> Optional[float]:
        pace = cpu.pace
        return pace.work[share] * 1e6 / pace.window_ns if pace and share in pace.work else None

    return Measure(f"pace_{share}", "1/ms", value)


def _counts(name: str, of: Callable[[CpuRun], Optional[float]]) -> Measure:
    return Measure(name, "1/s", of, durations=False, counted=True)


def _rate(level: str) -> Measure:
    name = f"events_per_s@{level}"
    return Measure(name, "1/s", lambda cpu: cpu.rates_per_s.get(level), counted=True)


def _time_weighted(share: str, beyond: float) -> Measure:
    name = f"tw_{share}_ns"
    return Measure(name, "ns", lambda cpu: cpu.time_weighted_ns.get(share), beyond=beyond)


def _total(rows: Optional[Mapping[str, float]]) -> Optional[float]:
    return None if rows is None else rows.get("total", sum(rows.values()))


def _wakeup(share: str, end: str = "") -> Measure:
    def value(cpu: CpuRun) -> Optional[float]:
        late = cpu.wakeup and (cpu.wakeup.skipping_ns if end else cpu.wakeup.late_ns)
        return late.get(share) if late else None

    return Measure(f"wakeup_{share}{end}_ns", "ns", value, max if share == "max" else fmean)


#: The percentiles of wake-up latency.
WAKEUPS = ("p50", "p99", "p99.9", "p99.99", "max")

#: The endpoints of a claim.
ENDPOINTS = (
    Measure("noise_ppm", "ppm", lambda cpu: cpu.noise_ppm),
    *(_rate(level) for level in LEVELS),
    _time_weighted("p99.99", 1e-4),
    _time_weighted("p99.9999", 1e-6),
    _wakeup("p99.9"),
    _counts(INTERRUPTS, lambda cpu: _total(cpu.interrupts_per_s)),
)

#: Figures shown beside the endpoints, never claimed.
OBSERVATIONS = (
    Measure("max_ns", "ns", lambda cpu: cpu.max_ns, pool=max),
    _pace("p50"),
    _pace("p1"),
    *(_wakeup(share) for share in WAKEUPS if share != "p99.9"),
    *(_wakeup(share, "_skipping") for share in WAKEUPS),
    _counts("switches_per_s", lambda cpu: cpu.switches_per_s),
    _counts(SOFTIRQS, lambda cpu: _total(cpu.softirqs_per_s)),
)

#: The noisiest second, see of_run().
WORST_SECOND = Measure("worst_second_ppm", "ppm", lambda cpu: None, pool=max)

#: From oslat's own output, see of_run().
OSLAT_MAX = Measure("oslat_max_us", "us", lambda cpu: None, pool=max)

#: The load's memory group, see of_run().
MAJOR_FAULTS = Measure("major_faults_per_s", "1/s", lambda cpu: None)


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

    ppm, rate = (f"{name}@{title}" for name in names)
    yield Measure(ppm, "ppm", lambda cpu: share(cpu, lambda one: 1e6 * one.time_ns))
    yield Measure(rate, "1/s", lambda cpu: share(cpu, lambda one: 1e9 * one.events))


def _sources(name: str, cpus: Iterable[CpuRun], of: _Rows) -> Iterator[Measure]:
    def rate(row: str, cpu: CpuRun) -> Optional[float]:
        rows = of(cpu)
        # A missing row did not grow.
        return None if rows is None else rows.get(row, 0.0)

    rates = (item for cpu in cpus for item in (of(cpu) or {}).items())
    for row in dict.fromkeys(row for row, rate in rates if rate and row != "total"):
        yield _counts(f"{name}@{row}", partial(rate, row))


def figures(run: Run, cpus: CpuSet, measures: Iterable[Measure]) -> dict[Key, float]:
    """The values of one run, by figure and CPU; unknown ones are missing."""
    result: dict[Key, float] = {}
    found = {number: run.cpu(number) for number in cpus}
    for measure in measures:
        values = {number: measure.of(cpu) for number, cpu in found.items()}
        known = {number: value for number, value in values.items() if value is not None}
        result.update({(measure.name, number): value for number, value in known.items()})
        if known and len(known) == len(values):
            result[measure.name, "all"] = measure.pool(known.values())
    return result


def of_run(run: Run, cpus: CpuSet) -> dict[Key, float]:
    """The values of a run as a whole, and those from other programs."""
    told = opinions(run) | together(run) | throughput(run) | _major_faults(run)
    return _worst_seconds(run, cpus) | _oslat(run, cpus) | told


def _worst_seconds(run: Run, cpus: CpuSet) -> dict[Key, float]:
    found = {
        cpu: 1e6 * series.worst(run.ends_s)
        for cpu in cpus
        if (series := run.cpu(cpu).series) and run.ends_s
    }
    return _with_largest(WORST_SECOND, found)


def _oslat(run: Run, cpus: CpuSet) -> dict[Key, float]:
    """oslat's maximum in us, by CPU and over all of them."""
    limits = run.oslat.result.figures if run.oslat and run.oslat.result else {}
    return _with_largest(OSLAT_MAX, {cpu: limits[str(cpu)] for cpu in cpus if str(cpu) in limits})


def _with_largest(measure: Measure, found: Mapping[int, float]) -> dict[Key, float]:
    largest: dict[Key, float] = {(measure.name, "all"): max(found.values())} if found else {}
    return largest | {(measure.name, cpu): value for cpu, value in found.items()}


def opinions(run: Run) -> dict[Key, float]:
    """The longest time of any CPU in us by the other second opinions, a wake-up latency
    (cyclictest, timerlat) or one noise (osnoise), and cyclictest's percentiles."""
    found: dict[Key, float] = {}
    for one in run.second_opinions:
        known = one.result.figures if one.result else {}
        found.update({(f"{one.tool}_{p}_us", "all"): us for p, us in known.items() if p[0] == "p"})
        if longest := [us for name, us in known.items() if name[0] != "p"]:
            found[f"{one.tool}_max_us", "all"] = max(longest)
    return found


def together(run: Run) -> dict[Key, float]:
    """The share of time, in ppm, with CPUs away at once, and the share expected by chance."""
    found: dict[Key, float] = {}
    for one in run.together:
        name, span_s = f"{TOGETHER}@CPUs {one.cpus}", 1e3 * run.duration_s
        found[name, "all"] = one.time_ns / span_s
        found[f"{name} by chance", "all"] = one.by_chance_ns / span_s
    return found


def throughput(run: Run) -> dict[Key, float]:
    """stress-ng's bogo operations per second of real time, by stressor."""
    rates = _summed(*(load.result for load in run.loads), run.throughput)
    return {(f"{THROUGHPUT}@{stressor}", "all"): rate for stressor, rate in rates.items()}


def _major_faults(run: Run) -> dict[Key, float]:
    """The parts of a load share one memory group. A rate of zero is left out."""
    rate = run.loads[0].memory_group.get("major_faults_per_s") if run.loads else None
    return {(MAJOR_FAULTS.name, "all"): rate} if rate else {}


def dose(run: Run) -> dict[str, float]:
    """The work of the load beside the detector: bogo operations per second, by stressor."""
    return _summed(*(load.result for load in run.loads))


def _summed(*results: Optional[ToolResult]) -> dict[str, float]:
    rates: dict[str, float] = {}
    for one in filter(None, results):
        for stressor, rate in one.figures.items():
            rates[stressor] = rates.get(stressor, 0.0) + rate
    return rates


def printed(unit: str, found: Iterable[Mapping[Key, float]]) -> Iterator[Measure]:
    """A measure for each figure that a tool printed, among those of of_run()."""
    for name in dict.fromkeys(name for keys in found for name, _ in keys):
        own = "ns2" if "_ns2@" in name else unit
        yield Measure(name, own, lambda cpu: None, durations=unit != "1/s")
