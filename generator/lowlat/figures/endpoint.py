# SPDX-License-Identifier: GPL-2.0-or-later
"""The endpoints of a claim and the figures beside them: each is one row, from which every table,
drawing and gate takes it."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import inf
from typing import Callable, Optional

from lowlat.figures import cross_check
from lowlat.figures.cross_check import LONGEST
from lowlat.figures.measure import Counts, Endpoint, Pooling, Subject, TableSection
from lowlat.model.plan import NOISE, WAKEUP
from lowlat.model.run import CpuRun

INTERRUPTS = "interrupts_per_s"
SOFTIRQS = "softirqs_per_s"
GAPS = "events_per_s"
THROUGHPUT = "bogo_ops_per_s"

#: The lengths of gaps in ns from which on they are counted, by row.
LEVELS = {"100ns": 100.0, "1us": 1e3, "10us": 1e4, "100us": 1e5}

#: The percentiles of wake-up latency.
WAKEUPS = ("p50", "p99", "p99.9", "p99.99", "max")

#: Before the name of a figure that is tested over boots: the same figure of all runs together.
_POOLED = "pooled_"


def _total(rows: Optional[Mapping[str, float]]) -> Optional[float]:
    return None if rows is None else rows.get("total", sum(rows.values()))


def _gaps(level: str) -> Endpoint:
    return Endpoint(
        GAPS,
        "1/s",
        lambda cpu: cpu.rates_per_s.get(level),
        level,
        counted=True,
        title=f"gaps of {level} and more",
        column="gaps 1us+, /s" if level == "1us" else "",
        claimed=True,
    )


def _time_weighted(share: str, beyond: float, title: str) -> Endpoint:
    return Endpoint(
        f"tw_{share}_ns",
        "ns",
        lambda cpu: cpu.time_weighted_ns.get(share),
        beyond=beyond,
        counts=lambda cpu: (cpu.histogram, cpu.max_ns or 0.0),
        title=title,
        claimed=True,
    )


def _late(share: str, end: str = "") -> Callable[[CpuRun], Optional[float]]:
    def value(cpu: CpuRun) -> Optional[float]:
        late = cpu.wakeup and (cpu.wakeup.skipping_ns if end else cpu.wakeup.late_ns)
        return late.get(share) if late else None

    return value


def _woken(cpu: CpuRun) -> Optional[Counts]:
    late = cpu.wakeup
    return (late.histogram, late.late_ns.get("max", inf)) if late and late.histogram else None


def _skipped(cpu: CpuRun) -> Optional[Counts]:
    late = cpu.wakeup
    return (late.skipping, late.skipping_ns.get("max", inf)) if late and late.skipping else None


def _wakeups(end: str = "") -> Iterator[Endpoint]:
    counts = _skipped if end else _woken
    for share in WAKEUPS:
        if (name := f"wakeup_{share}{end}_ns") == WAKEUP:
            continue
        one = Endpoint(name, "ns", _late(share, end), pooling=Pooling.LARGEST)
        if share != "max":
            part = float(share[1:]) / 100
            one = replace(one, pooling=Pooling.QUANTILE, share=part, counts=counts)
        yield one


def pooled(one: Endpoint) -> Endpoint:
    """A figure that is tested over boots, of all runs together; one that is not stays itself."""
    if not one.claimed:
        return one
    pooling = Pooling.QUANTILE if one.share else Pooling.DELAY if one.beyond else Pooling.TIME
    return replace(one, name=_POOLED + one.name, pooling=pooling, claimed=False)


def _pace(share: str, title: str) -> Endpoint:
    def value(cpu: CpuRun) -> Optional[float]:
        pace = cpu.pace
        return pace.work[share] * 1e6 / pace.window_ns if pace and share in pace.work else None

    return Endpoint(f"pace_{share}", "1/ms", value, section=TableSection.PACE, title=title)


#: In the order of the documents.
_OF_CPUS = (
    Endpoint(
        NOISE,
        "ppm",
        lambda cpu: cpu.noise_ppm,
        title="noise, of the time",
        column="noise, ppm",
        osnoise="noise, %",
        subject=Subject(
            *("Noise", "ppm of the time", "ppm of each CPU's time lost", "noise, of the time")
        ),
        drawn=True,
        claimed=True,
    ),
    *map(_gaps, LEVELS),
    _time_weighted("p99.99", 1e-4, "delay at p99.99 of the time, us"),
    _time_weighted("p99.9999", 1e-6, "delay at p99.9999, us"),
    Endpoint(
        WAKEUP,
        "ns",
        _late("p99.9"),
        share=0.999,
        counts=_woken,
        section=TableSection.WAKEUP,
        title="wake-up latency at p99.9, us",
        subject=Subject(
            "Wake-up latency (p99.9)",
            "us",
            "us, p99.9 of each CPU's wake-ups",
            "wake-up latency, p99.9",
        ),
        claimed=True,
    ),
    Endpoint(
        INTERRUPTS,
        "1/s",
        lambda cpu: _total(cpu.interrupts_per_s),
        durations=False,
        counted=True,
        section=TableSection.ENTRIES,
        title="interrupts",
        column="interrupts, /s",
        osnoise="interrupts/s",
        subject=Subject(*("Interrupts", "a second", "a second on each CPU", "interrupts of a CPU")),
        drawn=True,
        claimed=True,
    ),
    Endpoint(
        "max_ns",
        "ns",
        lambda cpu: cpu.max_ns,
        pooling=Pooling.LARGEST,
        title="longest gap, us",
        column="longest gap, us",
        osnoise="longest, us",
        subject=Subject("Longest gap", "us", "us"),
        drawn=True,
    ),
    _pace("p50", "pace, readings in 1 ms"),
    _pace("p1", "pace in the slowest 1 % of them"),
    *_wakeups(),
    *_wakeups("_skipping"),
    Endpoint(
        "switches_per_s",
        "1/s",
        lambda cpu: cpu.switches_per_s,
        pooling=Pooling.TIME,
        durations=False,
        counted=True,
        section=TableSection.SWITCHES,
        title="context switches",
    ),
    Endpoint(
        "hardware_per_s",
        "1/s",
        lambda cpu: cpu.hardware_per_s,
        pooling=Pooling.TIME,
        counted=True,
        section=TableSection.SWITCHES,
        title="noise of hardware or firmware (HW)",
    ),
    Endpoint(
        SOFTIRQS,
        "1/s",
        lambda cpu: _total(cpu.softirqs_per_s),
        pooling=Pooling.TIME,
        durations=False,
        counted=True,
        section=TableSection.ENTRIES,
        title="softirqs",
    ),
)

#: The noisiest second.
WORST_SECOND = Endpoint(
    "worst_second_ppm",
    "ppm",
    pooling=Pooling.LARGEST,
    section=TableSection.WORST_SECOND,
    title="worst second, of the time",
    osnoise="worst second, %",
)

#: How much the noise of the seconds differs.
SPREAD = Endpoint(
    "noise_sd_ppm",
    "ppm",
    pooling=Pooling.SPREAD,
    section=TableSection.WORST_SECOND,
    title="standard deviation of a second's noise",
)

#: The load's memory group.
MAJOR_FAULTS = Endpoint(
    "major_faults_per_s",
    "1/s",
    pooling=Pooling.TIME,
    section=TableSection.LOAD,
    title="major page faults of the load",
)

#: From oslat's own output.
OSLAT_MAX = LONGEST["oslat"]

_ALL = (
    *(*_OF_CPUS, WORST_SECOND, SPREAD, MAJOR_FAULTS),
    *(*cross_check.TESTED.values(), *cross_check.ENDPOINTS),
)

#: The endpoints of a claim, and the figures of a CPU that are shown beside them, never claimed.
ENDPOINTS = tuple(one for one in _OF_CPUS if one.claimed)
OBSERVATIONS = tuple(one for one in _OF_CPUS if not one.claimed)

#: The endpoints' figures of all runs together.
POOLED = tuple(map(pooled, ENDPOINTS))

POOLED_NOISE, POOLED_INTERRUPTS = _POOLED + NOISE, _POOLED + INTERRUPTS

#: What each table shows, in its order; like the tracer's, times come before counts. A table without
#: a test shows the figures of all runs together.
SUMMARY = sorted((one for one in _ALL if one.title), key=lambda one: one.section)
COLUMNS = [one for one in SUMMARY if one.column]
OSNOISE = sorted((pooled(one) for one in SUMMARY if one.osnoise), key=lambda one: one.counted)
ALONE = tuple(map(pooled, SUMMARY))
DRAWN = sorted((one for one in SUMMARY if one.drawn), key=lambda one: one.counted)


def pooled_name(name: str) -> str:
    """The name of a figure where all runs count together."""
    return _POOLED + name if any(one.name == name for one in ENDPOINTS) else name


#: By the name that --require gives.
GATED = {one.key().text: one for one in (*_OF_CPUS, OSLAT_MAX)}

#: What a verdict may be about, by the endpoint's name.
SUBJECTS = {
    **{one.name: one.subject for one in ENDPOINTS if one.subject.column},
    **cross_check.SUBJECTS,
    THROUGHPUT: Subject(
        *("Throughput of stress-ng", "a second", "bogo operations a second", "bogo ops, /s")
    ),
}


def in_words(name: str) -> str:
    """The name of an endpoint in a sentence, in which its key says nothing to people."""
    if name in SUBJECTS:
        return SUBJECTS[name].name.lower()
    return next(one.title for one in ENDPOINTS if one.name == name).removesuffix(", us")
