# SPDX-License-Identifier: GPL-2.0-or-later
"""One measurement as a frozen value: the document ``lowlat.run/1`` that lowlat-measure writes.

Names and units are those of the document (``_ns``, ``_ppm``, ``_per_s``). Figures that the
measuring side did not know are None or missing from their mapping. Unknown keys are ignored.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Optional

from lowlat.base.typed_json import Mistyped, decode_fields, encode
from lowlat.model.cmdline import without_virtme
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import Core, Cpus, Machine, Processor

SCHEMA = "lowlat.run/1"


@dataclass(frozen=True)
class RunClock:
    """How time was read: frequency in Hz, and the cost of one read in ns."""

    source: str
    hz: float
    floor_ns: Optional[float]


@dataclass(frozen=True)
class ToolResult:
    """What another program printed, by stressor, CPU or thread. ``version`` is its own, with all
    that has to be the same for its figures to compare, "" where it does not tell."""

    version: str
    figures: Mapping[str, float]


@dataclass(frozen=True)
class MemoryGroup:
    """What bounds a load: how often a second a page fault in it had to read from a disk."""

    major_faults_per_s: Optional[float] = None


@dataclass(frozen=True)
class Load:
    """Another program that ran beside or after the detector.

    ``exit`` is its exit status, None where it was not recorded; ``result`` is None where it printed
    none (it was ended early).
    """

    tool: str = ""
    version: str = ""
    kind: str = ""
    argv: object = field(default="", metadata={"json": "command"})
    exit: Optional[int] = None
    result: Optional[ToolResult] = field(default=None, metadata={"json": "parsed"})
    memory_group: Optional[MemoryGroup] = None

    @property
    def command(self) -> str:
        """As it was recorded, an argument vector as a shell would need it."""
        if isinstance(self.argv, list):
            return shlex.join(map(str, self.argv))
        return self.argv if isinstance(self.argv, str) else json.dumps(self.argv)


@dataclass(frozen=True)
class WorkRun:
    """One run of stress-ng's matrix: bogo operations a second on all measured CPUs, 0 where one
    gave no figure."""

    value: float = 0.0


@dataclass(frozen=True)
class Work(Load):
    """stress-ng's matrix on ``cpus``, or a kind of work on one CPU: what one piece of it took. A
    sleep takes the ``requested_ns`` that it asks for, and longer."""

    cpus: str = ""
    #: The other CPUs worked at other kinds meanwhile.
    mixed: bool = False
    requested_ns: float = 0.0
    mean_ns: Optional[float] = None
    variance_ns2: Optional[float] = None
    p50_ns: Optional[float] = None
    p99_ns: Optional[float] = None
    p999_ns: Optional[float] = field(default=None, metadata={"json": "p99.9_ns"})
    max_ns: Optional[float] = None
    runs: tuple[WorkRun, ...] = ()

    @property
    def cpu(self) -> Optional[int]:
        """Of a kind of work."""
        return int(self.cpus) if self.mean_ns is not None and self.cpus.isdecimal() else None

    @property
    def late_ns(self) -> Optional[float]:
        """The mean of a sleep beyond what it asked for."""
        return (self.mean_ns or 0.0) - self.requested_ns if self.requested_ns else None


@dataclass(frozen=True)
class Cause:
    """A cause of gaps, by the kernel's trace: how many gaps, how long they took together, and the
    tunable that removes it, where one is known."""

    kind: str = field(metadata={"json": "class"})
    cause: str
    events: float
    time_ns: float
    remedy: Optional[str] = None


@dataclass(frozen=True)
class Steps:
    """When each step of a run ended, in seconds since the beginning."""

    ends_s: tuple[float, ...]


@dataclass(frozen=True)
class Series:
    """Each step of a run on one CPU: ns lost, gaps, and interrupts (empty where they could not be
    counted); and the pace, 0 in a step without a moment undisturbed, empty under emulation."""

    noise_ns: tuple[float, ...]
    gaps: tuple[float, ...]
    interrupts: tuple[float, ...] = ()
    readings_per_ms: tuple[float, ...] = ()

    def worst(self, ends_s: Sequence[float]) -> float:
        """The share of the time that was lost in the noisiest step; the steps' ends are the
        run's."""
        times = zip(self.noise_ns, (0.0, *ends_s), ends_s)
        return max((lost / 1e9 / (end - begin) for lost, begin, end in times), default=0.0)


@dataclass(frozen=True)
class Histogram:
    """The gaps as (lower, upper, count), limits in ns."""

    rows: tuple[tuple[float, float, float], ...] = ()

    @classmethod
    def from_json(cls, value: object) -> Histogram:
        if not isinstance(value, dict) or value.get("unit") != "ns":
            raise Mistyped("ns is expected", ".unit")
        rows = value.get("counts")
        # There are many thousand of these.
        if not isinstance(rows, list) or not all(map(_is_row, rows)):
            raise Mistyped("a list of 3 numbers each is expected", ".counts")
        return cls(tuple(map(tuple, rows)))


def _is_row(row: object) -> bool:
    return isinstance(row, list) and len(row) == 3 and all(map(_is_count, row))


def _is_count(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value <= sys.float_info.max  # type: ignore[operator]


@dataclass(frozen=True)
class PowerReading:
    """A processor during a run: its pace against the nominal one, its frequency before and after,
    the time in idle states (us), and how often the firmware interrupted it; None or empty where
    unknown."""

    pace: Optional[float] = field(default=None, metadata={"json": "aperf_mperf"})
    khz: tuple[float, ...] = ()
    governor: str = ""
    idle_us: Mapping[str, float] = field(default_factory=dict)
    smi: Optional[float] = None


@dataclass(frozen=True)
class Comb:
    """Gaps of one CPU that came at one period: its name, how often a second they came, how far they
    stand out (-ln of the probability by chance), and what mostly made them, None where unknown."""

    frequency_hz: float
    name: str
    rate_per_s: float
    power: float
    cause: Optional[str] = None


@dataclass(frozen=True)
class Pace:
    """Readings of the clock in windows of ``window_ns``: "min", "p1", "p50", "p99" and "max"."""

    work: Mapping[str, float]
    window_ns: float = 1e6


@dataclass(frozen=True)
class ChainLink:
    """One of the causes of a gap, and the time it took without the others."""

    kind: str = field(metadata={"json": "class"})
    cause: str
    time_ns: float


@dataclass(frozen=True)
class LongGap:
    """One of a CPU's longest gaps: when it began after the measurement did, and its causes in the
    order in which they began."""

    begin_s: float
    length_ns: float
    chain: tuple[ChainLink, ...]


@dataclass(frozen=True)
class Wakeup:
    """How late a thread ran after each moment of a schedule, "p50" to "max"; skipping those that
    passed while it was held up, as cyclictest does; and the causes of its latest one."""

    interval_ns: float
    late_ns: Mapping[str, float]
    skipping_ns: Mapping[str, float]
    longest: tuple[LongGap, ...] = ()


@dataclass(frozen=True)
class CpuRun:
    """The results of one CPU."""

    cpu: int
    runtime_ns: float
    noise_ns: Optional[float]
    noise_ppm: Optional[float]
    dead_ns: Optional[float]
    events: Optional[float]
    lost_events: Optional[float]
    max_ns: Optional[float]
    rates_per_s: Mapping[str, float]
    time_weighted_ns: Mapping[str, float]
    #: By row, those that counted; None where the kernel's counters could not be read.
    interrupts_per_s: Optional[Mapping[str, float]]
    softirqs_per_s: Optional[Mapping[str, float]]
    switches_per_s: Optional[float]
    histogram: Histogram = Histogram()
    #: None where they were not looked for.
    causes: Optional[tuple[Cause, ...]] = None
    #: None in a run of a harness that kept none.
    series: Optional[Series] = None
    #: None where no power control was read, and where no period was looked for.
    power: Optional[PowerReading] = None
    combs: Optional[tuple[Comb, ...]] = field(default=None, metadata={"json": "periods"})
    #: None under emulation.
    pace: Optional[Pace] = None
    longest: tuple[LongGap, ...] = ()
    #: None where it was not asked for.
    wakeup: Optional[Wakeup] = None


@dataclass(frozen=True)
class Together:
    """CPUs that were away from their detectors at the same time, and no others with them: how often
    and for how long, and how long they would be by chance."""

    cpus: str
    events: float
    time_ns: float
    longest_ns: float
    by_chance_ns: float


@dataclass(frozen=True)
class HostFacts:
    """The part of facts() that is read again, "" and None where it was not recorded."""

    name: str = ""
    arch: str = ""
    processor: str = ""
    hypervisor: str = ""
    online: Optional[CpuSet] = None
    layout: tuple[Core, ...] = ()
    #: Ticks a second of a CPU of this kernel.
    hz: Optional[int] = None
    #: The isolated CPUs by the names of their sets.
    sets: Mapping[str, CpuSet] = field(default_factory=dict)
    #: By CPU, the share of the run in which it was not idle.
    busy: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Attribution:
    """``observer`` is the source of the causes: trace, switches, none, or "" if none were
    sought."""

    observer: str = ""


@dataclass(frozen=True)
class Run:
    """One run of the harness."""

    label: str
    started: str
    boot_id: str
    kernel: str
    cmdline: str
    duration_s: float
    threshold_ns: float
    policy: str
    emulated: bool
    complete: bool
    valid: bool
    problems: tuple[str, ...]
    isolated: CpuSet
    clock: RunClock
    cpus: tuple[CpuRun, ...]
    loads: tuple[Load, ...]
    oslat: Optional[Load]
    host: HostFacts = HostFacts()
    #: The version of lowlat-measure, "" where it was not recorded.
    harness: str = ""
    #: The results of other measuring programs than oslat: cyclictest, rtla's osnoise and timerlat.
    second_opinions: tuple[Load, ...] = ()
    work: tuple[Work, ...] = ()
    series: Optional[Steps] = None
    attribution: Attribution = Attribution()
    together: tuple[Together, ...] = ()
    path: Path = Path()

    @classmethod
    def from_json(cls, value: object) -> Run:
        """The run in a document. Raises Mistyped where it is something else."""
        run = decode_fields(cls, value, measured=True)
        if len(run.measured) != len(run.cpus):
            raise Mistyped("a CPU occurs twice", ".cpus")
        if any(end <= begin for begin, end in zip((0.0, *run.ends_s), run.ends_s)):
            raise Mistyped("does not rise", ".series.ends_s")
        steps = len(run.ends_s)
        for series in (cpu.series for cpu in run.cpus if cpu.series and steps):
            known = {len(own) or steps for own in (series.interrupts, series.readings_per_ms)}
            if {len(series.noise_ns), len(series.gaps), *known} != {steps}:
                raise Mistyped("not a figure for each step", ".cpus")
        cpus = run.cpus
        if run.attribution.observer in ("", "none"):
            # The harness writes an empty list, for another to fill.
            cpus = tuple(replace(cpu, causes=cpu.causes or None) for cpu in cpus)
        return replace(run, cmdline=without_virtme(run.cmdline), cpus=cpus)

    @property
    def ends_s(self) -> tuple[float, ...]:
        """When each step ended; none in a run of a harness that kept no series."""
        return self.series.ends_s if self.series else ()

    @cached_property
    def measured(self) -> CpuSet:
        return CpuSet.of(self._by_number)

    @cached_property
    def machine(self) -> Machine:
        """As far as it was recorded; without cores where the run does not tell how it is built."""
        online = self.measured if self.host.online is None else self.host.online
        return Machine(
            arch=self.host.arch or None,
            cpus=Cpus(online, CpuSet(), possible=online, boot=next(iter(online), 0)),
            cores=self.host.layout,
            processor=Processor(model=self.host.processor or None),
            hypervisor=self.host.hypervisor or None,
        )

    @property
    def machine_words(self) -> str:
        """Architecture, processor and hypervisor as far as they were recorded, else ""."""
        return ", ".join(filter(None, (self.host.arch, self.host.processor, self.host.hypervisor)))

    @property
    def throughput(self) -> Optional[ToolResult]:
        """Of stress-ng's matrix, measured alone."""
        return next((one.result for one in self.work if one.result), None)

    @property
    def matrix_rates(self) -> tuple[float, ...]:
        """The rate of each run of that matrix, in bogo operations a second."""
        return tuple(run.value for one in self.work if one.result for run in one.runs if run.value)

    @property
    def kernel_words(self) -> str:
        """Its kernel and, where they are known, its tick and what it runs under."""
        hz = f", HZ={self.host.hz}" if self.host.hz else ""
        beneath = f", under {self.host.hypervisor}" if self.host.hypervisor else ""
        return f"Linux {self.kernel}{hz}{beneath}"

    def cpu(self, number: int) -> CpuRun:
        return self._by_number[number]

    @cached_property
    def _by_number(self) -> Mapping[int, CpuRun]:
        return {cpu.cpu: cpu for cpu in self.cpus}

    def seconds(self, cpus: Iterable[int]) -> float:
        """The measured time of these CPUs together."""
        return sum(self.cpu(number).runtime_ns for number in cpus) / 1e9


def facts(machine: Machine, name: Optional[str]) -> dict[str, object]:
    """A summary of the machine of this name for the run's ``host`` key; unknown facts are null."""
    return {
        "name": name,
        "arch": machine.arch,
        "processor": machine.processor.model,
        "hypervisor": machine.hypervisor,
        "online": str(machine.cpus.online),
        "cores": len(machine.cores),
        "smt": any(len(core.cpus) > 1 for core in machine.cores),
        "nodes": len(machine.nodes),
        "clocksource": machine.clock.current,
        "hz": machine.kernel.hz,
        "realtime": machine.kernel.realtime,
        "idle_driver": machine.power.idle_driver,
        "frequency_driver": machine.power.frequency_driver,
        "governors": list(machine.power.governors),
        "tuned_profile": machine.services.tuned_profile,
        "layout": encode(machine.cores),
    }
