# SPDX-License-Identifier: GPL-2.0-or-later
"""One measurement as a frozen value: the document ``lowlat.run/1`` that lowlat-measure writes.

Names and units are those of the document (``_ns``, ``_ppm``, ``_per_s``). A figure that
lowlat-measure did not know is None or missing from its mapping. Unknown keys are ignored.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Optional

from lowlat.base.typed_json import Mistyped, Positive, decode_fields
from lowlat.model.campaign import Place, moment
from lowlat.model.cmdline import without_virtme
from lowlat.model.cpuset import CpuSet
from lowlat.model.histogram import Histogram
from lowlat.model.machine import Core, Cpus, Machine, Processor
from lowlat.model.plan import NOISE
from lowlat.model.tool import ToolFile, ToolResult

SCHEMA = "lowlat.run/1"

#: The name of the host in the guests of rehearse.
GUEST = "rehearsal"


@dataclass(frozen=True)
class RunClock:
    """How time was read: frequency in Hz, and the cost of one read in ns."""

    source: str
    hz: float
    floor_ns: Optional[float]


@dataclass(frozen=True)
class Load:
    """Another program that ran beside or after the detector.

    ``exit`` is its exit status, None if not recorded; ``result`` is None if it printed none,
    because it was ended early.
    """

    tool: str = ""
    version: str = ""
    kind: str = ""
    argv: object = field(default="", metadata={"json": "command"})
    exit: Optional[int] = None
    result: Optional[ToolResult] = field(default=None, metadata={"json": "parsed"})
    #: The numbers of the group that limits the memory of a load; empty without one.
    memory_group: Mapping[str, float] = field(default_factory=dict)

    @property
    def command(self) -> str:
        """The recorded command; an argument vector is quoted for a shell."""
        if isinstance(self.argv, list):
            return shlex.join(map(str, self.argv))
        return self.argv if isinstance(self.argv, str) else json.dumps(self.argv)


@dataclass(frozen=True)
class WorkRun:
    """One run of stress-ng's matrix: bogo operations a second on all measured CPUs, 0 if one of
    them gave no figure."""

    value: float = 0.0


@dataclass(frozen=True)
class Work(Load):
    """stress-ng's matrix on ``cpus``, or one kind of work on one CPU with the time of each piece. A
    sleep takes ``requested_ns`` or longer."""

    cpus: str = ""
    #: The other CPUs did other kinds of work meanwhile.
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
        """The CPU of a kind of work; None for the matrix."""
        return int(self.cpus) if self.mean_ns is not None and self.cpus.isdecimal() else None

    @property
    def varies_percent(self) -> Optional[float]:
        """The standard deviation of the time of a piece, in percent of its mean."""
        known = self.mean_ns and self.variance_ns2 is not None
        return 100 * (self.variance_ns2 or 0.0) ** 0.5 / (self.mean_ns or 1.0) if known else None

    @property
    def late_ns(self) -> Optional[float]:
        """For a sleep: its mean time beyond the requested time."""
        return (self.mean_ns or 0.0) - self.requested_ns if self.requested_ns else None


@dataclass(frozen=True)
class Cause:
    """A cause of gaps, from the kernel's trace: the number of its events, their total time, the
    tunable that removes it, if one is known, and the time of its longest event in a gap."""

    kind: str = field(metadata={"json": "class"})
    cause: str
    events: float
    time_ns: float
    remedy: Optional[str] = None
    max_ns: Optional[float] = None


@dataclass(frozen=True)
class Steps:
    """The end of each step of a run, in seconds since its beginning."""

    ends_s: tuple[float, ...]


@dataclass(frozen=True)
class Series:
    """Each step of a run on one CPU: ns lost, gaps, interrupts (empty if they could not be
    counted), pace (0 in a step without an undisturbed moment, empty under emulation), and the
    frequency at its end (empty where reading it may interrupt the CPU)."""

    noise_ns: tuple[float, ...]
    gaps: tuple[float, ...]
    interrupts: tuple[float, ...] = ()
    readings_per_ms: tuple[float, ...] = ()
    khz: tuple[float, ...] = ()


@dataclass(frozen=True)
class PowerReading:
    """A processor during a run: its pace relative to the nominal one, its frequency before and
    after, its time in idle states (us), and its firmware interrupts (SMI); None or empty if
    unknown."""

    pace: Optional[float] = field(default=None, metadata={"json": "aperf_mperf"})
    khz: tuple[float, ...] = ()
    governor: str = ""
    idle_us: Mapping[str, float] = field(default_factory=dict)
    smi: Optional[float] = None


@dataclass(frozen=True)
class PeriodicSource:
    """Periodic gaps of one CPU: the period's name, the gaps per second, their significance (-ln of
    the probability by chance), and their main cause, None if unknown."""

    frequency_hz: float
    name: str
    rate_per_s: float
    power: float
    cause: Optional[str] = None


@dataclass(frozen=True)
class Pace:
    """Clock readings per window of ``window_ns``: "min", "p1", "p50", "p99" and "max"."""

    work: Mapping[str, float]
    window_ns: Positive = Positive(1e6)


@dataclass(frozen=True)
class ChainLink:
    """One of the causes of a gap, and its time without the other causes."""

    kind: str = field(metadata={"json": "class"})
    cause: str
    time_ns: float


@dataclass(frozen=True)
class LongGap:
    """One of a CPU's longest gaps: its begin since the start of the measurement, and its causes in
    the order in which they began."""

    begin_s: float
    length_ns: float
    chain: tuple[ChainLink, ...]


@dataclass(frozen=True)
class Wakeup:
    """How late a thread ran after each moment of a schedule, "p50" to "max", and all its delays.
    ``skipping_ns`` and ``skipping`` omit moments that passed during a delay, as cyclictest does.
    ``longest``: the causes of the latest. A histogram is None if it is not recorded."""

    interval_ns: float
    late_ns: Mapping[str, float]
    skipping_ns: Mapping[str, float]
    histogram: Optional[Histogram] = None
    skipping: Optional[Histogram] = None
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
    #: By row, only rows that counted; None if the kernel's counters could not be read.
    interrupts_per_s: Optional[Mapping[str, float]]
    softirqs_per_s: Optional[Mapping[str, float]]
    switches_per_s: Optional[float]
    #: rtla's HW: noise without any interrupt; None of all other tools.
    hardware_per_s: Optional[float] = None
    histogram: Histogram = Histogram()
    #: None if no causes were sought.
    causes: Optional[tuple[Cause, ...]] = None
    #: None if the harness recorded none.
    series: Optional[Series] = None
    #: None if no power control was read; for ``periods``, if no period was sought.
    power: Optional[PowerReading] = None
    periods: Optional[tuple[PeriodicSource, ...]] = None
    #: None under emulation.
    pace: Optional[Pace] = None
    longest: tuple[LongGap, ...] = ()
    #: None if it was not requested.
    wakeup: Optional[Wakeup] = None

    @property
    def counted_ns(self) -> float:
        """The time in which a gap would have been seen."""
        return max(self.runtime_ns - (self.dead_ns or 0.0), 1.0)


@dataclass(frozen=True)
class Together:
    """CPUs that were away from their detectors at the same time, without any other CPU: how often,
    for how long in total, and the total expected by chance."""

    cpus: str
    events: float
    time_ns: float
    longest_ns: float
    by_chance_ns: float


@dataclass(frozen=True)
class HostFacts:
    """The host's name, which lowlat-measure writes, and the part of probe.facts() that is read
    again; "" or None if not recorded."""

    name: str = ""
    arch: str = ""
    processor: str = ""
    hypervisor: str = ""
    online: Optional[CpuSet] = None
    layout: tuple[Core, ...] = ()
    #: The kernel's ticks per second on each CPU.
    hz: Optional[int] = None
    #: Of the plan in whose boot it was made: its profile, the endpoint that this is judged by, and
    #: the isolated CPUs by the names of their sets.
    profile: str = ""
    judged_by: str = NOISE
    sets: Mapping[str, CpuSet] = field(default_factory=dict)
    #: By CPU, the share of the run in which the CPU was busy.
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
    #: The version of lowlat-measure, "" if not recorded.
    harness: str = ""
    #: Results of measuring programs other than oslat: cyclictest, rtla's osnoise and timerlat.
    second_opinions: tuple[Load, ...] = ()
    work: tuple[Work, ...] = ()
    series: Optional[Steps] = None
    attribution: Attribution = Attribution()
    together: tuple[Together, ...] = ()
    #: None for a run of no campaign.
    campaign: Optional[Place] = None
    path: Path = Path()
    #: The file of another tool that takes a run's place.
    imported: Optional[ToolFile] = None
    #: Its place among the pairs that the names of files declare, from 0.
    pair: Optional[int] = None
    #: The part of its boot that a test counts by itself; "" if it counts the boot.
    part: str = ""

    @classmethod
    def from_json(cls, value: object) -> Run:
        """The run in a document. Raises Mistyped if it is no run."""
        run = replace(decode_fields(cls, value, measured=True), part="")
        if len(run.measured) != len(run.cpus):
            raise Mistyped("a CPU occurs twice", ".cpus")
        if any(end <= begin for begin, end in zip((0.0, *run.ends_s), run.ends_s)):
            raise Mistyped("does not rise", ".series.ends_s")
        steps = len(run.ends_s)
        for series in (cpu.series for cpu in run.cpus if cpu.series and steps):
            optional = (series.interrupts, series.readings_per_ms, series.khz)
            known = {len(own) or steps for own in optional}
            if {len(series.noise_ns), len(series.gaps), *known} != {steps}:
                raise Mistyped("not a figure for each step", ".cpus")
        cpus = run.cpus
        if run.attribution.observer in ("", "none"):
            # The harness writes an empty list, which measure fills in later.
            cpus = tuple(replace(cpu, causes=cpu.causes or None) for cpu in cpus)
        return replace(run, cmdline=without_virtme(run.cmdline), cpus=cpus)

    @property
    def ends_s(self) -> tuple[float, ...]:
        """The end of each step; empty if the harness recorded no series."""
        return self.series.ends_s if self.series else ()

    @property
    def side_by_side(self) -> bool:
        """Whether it may be of a guest that others were booted beside, all of one name."""
        return self.emulated or self.host.name == GUEST

    @property
    def unit(self) -> str:
        """What a test counts once: its boot or the part of it; "" if the boot is not known."""
        return self.boot_id and f"{self.boot_id}{self.part}"

    @property
    def began(self) -> Optional[float]:
        """Its start in seconds since 1970, None if it is not known."""
        return moment(self.started)

    @cached_property
    def measured(self) -> CpuSet:
        return CpuSet.of(self._by_number)

    @cached_property
    def machine(self) -> Machine:
        """The machine as far as recorded; without cores if the run does not record the topology."""
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
        """Architecture, processor and hypervisor as far as recorded, else ""."""
        return ", ".join(filter(None, (self.host.arch, self.host.processor, self.host.hypervisor)))

    @property
    def throughput(self) -> Optional[ToolResult]:
        """The result of stress-ng's matrix, which ran alone."""
        return next((one.result for one in self.work if one.result), None)

    @property
    def matrix_rates(self) -> tuple[float, ...]:
        """The rate of each matrix run, in bogo operations a second."""
        return tuple(run.value for one in self.work if one.result for run in one.runs if run.value)

    @property
    def kernel_words(self) -> str:
        """The kernel and, if known, its tick rate and the hypervisor; "" if it is not known."""
        hz = f", HZ={self.host.hz}" if self.host.hz else ""
        beneath = f", under {self.host.hypervisor}" if self.host.hypervisor else ""
        return f"Linux {self.kernel}{hz}{beneath}" if self.kernel else ""

    def cpu(self, number: int) -> CpuRun:
        return self._by_number[number]

    @cached_property
    def _by_number(self) -> Mapping[int, CpuRun]:
        return {cpu.cpu: cpu for cpu in self.cpus}

    def seconds(self, cpus: Iterable[int]) -> float:
        """The measured seconds of these CPUs together."""
        return sum(self.cpu(number).runtime_ns for number in cpus) / 1e9
