# SPDX-License-Identifier: GPL-2.0-or-later
"""The endpoints of a claim and the figures beside them: each is one row, from which every table,
drawing and gate takes it."""

from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import Callable, Optional

from lowlat.model.endpoint import NOISE, WAKEUP
from lowlat.model.run import CpuRun
from lowlat.report.cross_check import LONGEST
from lowlat.report.measure import Endpoint, Subject, TableSection

INTERRUPTS = "interrupts_per_s"
SOFTIRQS = "softirqs_per_s"
GAPS = "events_per_s"

#: The lengths of gaps in ns from which on they are counted, by row.
LEVELS = {"100ns": 100.0, "1us": 1e3, "10us": 1e4, "100us": 1e5}

#: The percentiles of wake-up latency.
WAKEUPS = ("p50", "p99", "p99.9", "p99.99", "max")


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
        title=title,
        claimed=True,
    )


def _late(share: str, end: str = "") -> Callable[[CpuRun], Optional[float]]:
    def value(cpu: CpuRun) -> Optional[float]:
        late = cpu.wakeup and (cpu.wakeup.skipping_ns if end else cpu.wakeup.late_ns)
        return late.get(share) if late else None

    return value


def _wakeups(end: str = "") -> Iterator[Endpoint]:
    for share in WAKEUPS:
        name, pool = f"wakeup_{share}{end}_ns", max if share == "max" else fmean
        if name != WAKEUP:
            yield Endpoint(name, "ns", _late(share, end), pool=pool)


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
        pool=max,
        title="longest gap of a run, us",
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
        durations=False,
        counted=True,
        section=TableSection.SWITCHES,
        title="context switches",
    ),
    Endpoint(
        SOFTIRQS,
        "1/s",
        lambda cpu: _total(cpu.softirqs_per_s),
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
    pool=max,
    section=TableSection.WORST_SECOND,
    title="worst second, of the time",
    osnoise="worst second, %",
)

#: The load's memory group.
MAJOR_FAULTS = Endpoint(
    "major_faults_per_s",
    "1/s",
    section=TableSection.LOAD,
    title="major page faults of the load",
)

#: From oslat's own output.
OSLAT_MAX = LONGEST["oslat"]

_ALL = (*_OF_CPUS, WORST_SECOND, MAJOR_FAULTS, *LONGEST.values())

#: The endpoints of a claim, and the figures of a CPU that are shown beside them, never claimed.
ENDPOINTS = tuple(one for one in _OF_CPUS if one.claimed)
OBSERVATIONS = tuple(one for one in _OF_CPUS if not one.claimed)

#: What each table shows, in its order; like the tracer's, times come before counts.
SUMMARY = sorted((one for one in _ALL if one.title), key=lambda one: one.section)
COLUMNS = [one for one in SUMMARY if one.column]
OSNOISE = sorted((one for one in SUMMARY if one.osnoise), key=lambda one: one.counted)
DRAWN = sorted((one for one in SUMMARY if one.drawn), key=lambda one: one.counted)

#: By the name that --require gives.
GATED = {one.key().text: one for one in (*_OF_CPUS, OSLAT_MAX)}

#: What a verdict may be about, by the endpoint's name.
SUBJECTS = {one.name: one.subject for one in ENDPOINTS if one.subject.column}
