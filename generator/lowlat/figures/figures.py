# SPDX-License-Identifier: GPL-2.0-or-later
"""The figures of a run, by name and CPU; pooling.py makes one of several."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Callable, Optional

from lowlat.figures import beside, step_figures, work
from lowlat.figures.endpoint import (
    INTERRUPTS,
    MAJOR_FAULTS,
    SOFTIRQS,
    SPREAD,
    THROUGHPUT,
    WORST_SECOND,
)
from lowlat.figures.measure import Key, Measure, Pooling
from lowlat.model.cpuset import CpuSet
from lowlat.model.run import Cause, CpuRun, Run
from lowlat.model.tool import ToolResult

#: Rates per second of a CPU's rows in /proc/interrupts or /proc/softirqs; None if unknown.
_Rows = Callable[[CpuRun], Optional[Mapping[str, float]]]

CAUSES = "cause_ppm"
CAUSE_RATES = "cause_per_s"
CLASSES = "osnoise_ppm"
CLASS_RATES = "osnoise_per_s"
CLASS_MAXIMA = "osnoise_max_ns"
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
    "exception": ("exception",),
    "not recorded": ("not-recorded",),
    "other": (),
}

#: The kind and the name of the noise without a cause.
NOT_RECORDED = ("not-recorded", "no cause")

#: The classes that are zero if a trace has none of their events.
_TRACED = ("HW", "NMI", "IRQ", "softirq", "thread")


def sources(runs: Iterable[Run], cpus: CpuSet) -> tuple[Measure, ...]:
    """A measure for each row of /proc/interrupts and /proc/softirqs that ever counted, and for what
    stands beside the noise."""
    known = [run.cpu(number) for run in runs for number in cpus]
    entries = _sources(INTERRUPTS, known, lambda cpu: cpu.interrupts_per_s)
    softirqs = _sources(SOFTIRQS, known, lambda cpu: cpu.softirqs_per_s)
    return (*entries, *softirqs, *beside.measures(known))


def causes(runs: Sequence[Run], cpus: CpuSet) -> Iterator[Measure]:
    """For each cause of gaps, and each class of causes, its time in ppm and its rate, as far as the
    observer recorded them; and the time of all, of which the causes are the parts."""
    known = [run.cpu(number) for run in runs for number in cpus]
    told = {_by_class(one) for cpu in known for one in cpu.causes or ()}
    every = [one for cpu in known for one in _all_causes(cpu)] if told else []
    for name in dict.fromkeys(["", *map(_by_name, every)] if told else ()):
        yield from _shares((CAUSES, CAUSE_RATES), name, _by_name)
    seen = set(map(_by_class, every))
    if told - {"thread", "IRQ or HW"} or any(run.attribution.observer == "trace" for run in runs):
        seen.update(_TRACED)
    whole = all(one.max_ns is not None for cpu in known for one in cpu.causes or ())
    for title in KINDS:
        if title in seen:
            yield from _shares((CLASSES, CLASS_RATES), title, _by_class)
            if whole and title != "not recorded":
                of = partial(_longest, title)
                yield Measure(CLASS_MAXIMA, "ns", of, title, pooling=Pooling.LARGEST)


def _all_causes(cpu: CpuRun) -> tuple[Cause, ...]:
    """The causes of a CPU's noise, and the rest of it, beyond what rounding to whole ns leaves."""
    own = cpu.causes or ()
    rest = (cpu.noise_ns or 0.0) - sum(one.time_ns for one in own)
    if cpu.causes is None or rest <= len(own) + 1:
        return own
    events = max((cpu.events or 0.0) - sum(one.events for one in own), 0.0)
    return (*own, Cause(*NOT_RECORDED, events, rest))


def _by_name(cause: Cause) -> str:
    return f"{cause.kind}: {cause.cause}"


def _by_class(cause: Cause) -> str:
    return next((title for title, own in KINDS.items() if cause.kind in own), "other")


def _shares(names: tuple[str, str], title: str, named: Callable[[Cause], str]) -> Iterator[Measure]:
    def share(cpu: CpuRun, of: Callable[[Cause], float]) -> Optional[float]:
        own = [of(one) for one in _all_causes(cpu) if title in ("", named(one))]
        return None if cpu.causes is None else sum(own) / cpu.counted_ns

    time = partial(share, of=lambda one: 1e6 * one.time_ns)
    often = partial(share, of=lambda one: 1e9 * one.events)
    for name, unit, of in zip(names, ("ppm", "1/s"), (time, often)):
        yield Measure(name, unit, of, title, pooling=Pooling.TIME)


def _longest(title: str, cpu: CpuRun) -> Optional[float]:
    """The longest event of a class."""
    own = [one.max_ns or 0.0 for one in cpu.causes or () if _by_class(one) == title]
    return None if cpu.causes is None else max(own, default=0.0)


def _sources(name: str, cpus: Iterable[CpuRun], of: _Rows) -> Iterator[Measure]:
    def rate(row: str, cpu: CpuRun) -> Optional[float]:
        rows = of(cpu)
        # A missing row did not grow.
        return None if rows is None else rows.get(row, 0.0)

    rates = (item for cpu in cpus for item in (of(cpu) or {}).items())
    for row in dict.fromkeys(row for row, rate in rates if rate and row != "total"):
        own = partial(rate, row)
        yield Measure(name, "1/s", own, row, Pooling.TIME, durations=False, counted=True)


def values(run: Run, cpus: CpuSet, measures: Iterable[Measure]) -> dict[Key, float]:
    """The values of one run, by figure and CPU; unknown ones are missing. A figure of the run as a
    whole is one of "all" CPUs."""
    result = told(run, cpus)
    for measure in measures:
        for number in cpus if measure.of else ():
            value = measure.of(run.cpu(number)) if measure.of else None
            if value is not None:
                result[measure.key(number)] = value
    return result


def told(run: Run, cpus: CpuSet) -> dict[Key, float]:
    """What the run tells besides its CPUs' figures: its steps, its loads, and other programs."""
    others = coincidence_figures(run) | throughput(run) | major_faults(run)
    return _seconds(run, cpus) | others | work.values(run, cpus)


def _seconds(run: Run, cpus: CpuSet) -> dict[Key, float]:
    return {
        measure.key(cpu): of(run.cpu(cpu), run.ends_s)
        for cpu in cpus
        if run.cpu(cpu).series and run.ends_s
        for measure, of in (
            (WORST_SECOND, step_figures.worst_ppm),
            (SPREAD, step_figures.deviation_ppm),
        )
    }


def coincidence_figures(run: Run) -> dict[Key, float]:
    """The share of time, in ppm, with CPUs away at once, and the share expected by chance."""
    result: dict[Key, float] = {}
    for one in run.together if run.duration_s else ():
        row, span_s = f"CPUs {one.cpus}", 1e3 * run.duration_s
        result[Key(TOGETHER, row=row)] = one.time_ns / span_s
        result[Key(TOGETHER, row=f"{row} by chance")] = one.by_chance_ns / span_s
    return result


def throughput(run: Run) -> dict[Key, float]:
    """stress-ng's bogo operations per second of real time, by stressor."""
    rates = _summed(*(load.result for load in run.loads), run.throughput)
    return {Key(THROUGHPUT, row=stressor): rate for stressor, rate in rates.items()}


def major_faults(run: Run) -> dict[Key, float]:
    """The parts of a load share one memory group."""
    rate = run.loads[0].memory_group.get("major_faults_per_s") if run.loads else None
    return {} if rate is None else {MAJOR_FAULTS.key(): rate}


def dose(run: Run) -> dict[str, float]:
    """The work of the load beside the detector: bogo operations per second, by stressor."""
    return _summed(*(load.result for load in run.loads))


def _summed(*results: Optional[ToolResult]) -> dict[str, float]:
    rates: dict[str, float] = {}
    for one in filter(None, results):
        for stressor, rate in one.figures.items():
            rates[stressor] = rates.get(stressor, 0.0) + rate
    return rates


#: The units of figures by the end of their names.
_UNITS = {"_ns2": "ns2", "_percent": "%"}

#: How the figures that tools printed are pooled; others are tested over boots or stand beside such.
_PRINTED = {
    work.LONGEST: Pooling.LARGEST,
    TOGETHER: Pooling.TIME,
}


def printed(unit: str, known: Iterable[Mapping[Key, float]]) -> Iterator[Measure]:
    """A measure for each figure that a tool printed, among those of told()."""
    for name, row in dict.fromkeys((key.name, key.row) for keys in known for key in keys):
        own = next((own for end, own in _UNITS.items() if name.endswith(end)), unit)
        pooling = _PRINTED.get(name, Pooling.BOOTS)
        yield Measure(name, own, row=row, pooling=pooling, durations=unit != "1/s")
