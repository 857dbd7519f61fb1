# SPDX-License-Identifier: GPL-2.0-or-later
"""One measurement as a frozen value: the document ``lowlat.run/1`` that lowlat-measure writes.

Names and units are those of the document (``_ns``, ``_ppm``, ``_per_s``). Figures that the
measuring side did not know are None or missing from their mapping. Unknown keys are ignored.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.base.json_fields import Fields
from lowlat.model.cmdline import without_virtme
from lowlat.model.cpuset import CpuSet, CpuSetError
from lowlat.model.machine import Core, Cpus, Machine, Processor

SCHEMA = "lowlat.run/1"

#: Where a core lies, as numbers.
_PLACE = ("package", "die", "cache")


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
class Load:
    """Another program that ran beside or after the detector.

    ``exit`` is its exit status, None where it was not recorded; ``result`` is None where it printed
    none (it was ended early).
    """

    tool: str
    version: str
    command: str
    exit: Optional[int]
    result: Optional[ToolResult]


@dataclass(frozen=True)
class Cause:
    """What made gaps, by the kernel's trace: how many, and how long they took together."""

    kind: str
    cause: str
    events: float
    time_ns: float


@dataclass(frozen=True)
class Series:
    """A run in steps: when each ended, in seconds since the beginning, and what it showed on one
    CPU: ns lost, gaps, and interrupts, empty where nobody could count those."""

    ends_s: tuple[float, ...]
    noise_ns: tuple[float, ...]
    gaps: tuple[float, ...]
    interrupts: tuple[float, ...]


@dataclass(frozen=True)
class PowerReading:
    """What a processor did during a run: its pace against the nominal one, the time in idle states
    (us), and how often the firmware interrupted it; None where it was not known."""

    pace: Optional[float]
    governor: str
    idle_us: Mapping[str, float]
    smi: Optional[float]


@dataclass(frozen=True)
class Comb:
    """Gaps of one CPU that came at one period: its name, how often a second they came, how far they
    stand out (-ln of the probability by chance), and what mostly made them, "" where not known."""

    frequency_hz: float
    name: str
    rate_per_s: float
    power: float
    cause: str


@dataclass(frozen=True)
class CpuRun:
    """What one CPU showed; ``histogram`` has the gaps as (lower, upper, count), limits in ns."""

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
    histogram: tuple[tuple[float, ...], ...] = ()
    causes: tuple[Cause, ...] = ()
    #: None in a run of a harness that kept none.
    series: Optional[Series] = None
    #: None where no power control was read, and where no period was looked for.
    power: Optional[PowerReading] = None
    combs: Optional[tuple[Comb, ...]] = None


@dataclass(frozen=True)
class Run:
    """One run of the harness."""

    path: Path
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
    #: As far as it was recorded; without cores where the run does not tell how it is built.
    machine: Machine
    #: The version of lowlat-measure, "" where it was not recorded.
    harness: str
    #: Of stress-ng's matrix, measured alone.
    throughput: Optional[ToolResult]
    #: What other measuring programs than oslat said: cyclictest, rtla's osnoise and timerlat.
    second_opinions: tuple[Load, ...]
    #: What causes were told from: trace, switches, none, or "" where they were not looked for.
    observer: str

    @property
    def measured(self) -> CpuSet:
        return CpuSet.of(self._by_number)

    @property
    def machine_words(self) -> str:
        """Architecture, processor and hypervisor as far as they were recorded, else ""."""
        known = (self.machine.arch, self.machine.processor.model, self.machine.hypervisor)
        return ", ".join(filter(None, known))

    def cpu(self, number: int) -> CpuRun:
        return self._by_number[number]

    @cached_property
    def _by_number(self) -> Mapping[int, CpuRun]:
        return {cpu.cpu: cpu for cpu in self.cpus}

    def seconds(self, cpus: Iterable[int]) -> float:
        """The measured time of these CPUs together."""
        return sum(self.cpu(number).runtime_ns for number in cpus) / 1e9


def from_json(path: Path, fields: Fields) -> Run:
    """The run in a document, whose tools' results were added (measure/run_file.py).

    Raises Refused where a key is missing or something else.
    """
    ends = _ends(fields.child("series")) if fields.has("series") else ()
    cpus = tuple(_cpu(item, ends) for item in fields.children("cpus"))
    if len({cpu.cpu for cpu in cpus}) != len(cpus):
        raise Refused(f"{path}: a CPU occurs twice in 'cpus'", hint="measure again")
    works = [item for item in fields.maybe_children("work") if item.has("parsed")]
    return fields.build(
        Run,
        path=path,
        cmdline=without_virtme(fields.text("cmdline")),
        isolated=_cpu_list(fields, "isolated"),
        clock=fields.child("clock").build(RunClock),
        cpus=cpus,
        loads=tuple(_load(item) for item in fields.children("loads")),
        oslat=_load(fields.child("oslat"), "oslat") if fields.has("oslat") else None,
        machine=_machine(fields.part("host"), CpuSet.of(cpu.cpu for cpu in cpus)),
        harness=_text(fields, "harness"),
        throughput=_result(works[0]) if works else None,
        second_opinions=tuple(_load(item) for item in fields.maybe_children("second_opinions")),
        observer=_text(fields.part("attribution"), "observer"),
    )


def _ends(fields: Fields) -> tuple[float, ...]:
    ends = fields.row("ends_s")
    if any(end <= begin for begin, end in zip((0.0, *ends), ends)):
        raise Refused(f"{fields.where}: 'ends_s' does not rise", hint="measure again")
    return ends


def _cpu(fields: Fields, ends: tuple[float, ...]) -> CpuRun:
    number = fields.number("cpu")
    if number != int(number):
        raise Refused(f"{fields.where}: 'cpu' is not a CPU number", hint="measure again")
    return fields.build(
        CpuRun,
        cpu=int(number),
        histogram=_histogram(fields.child("histogram")) if fields.has("histogram") else (),
        causes=tuple(
            item.build(Cause, kind=item.text("class")) for item in fields.maybe_children("causes")
        ),
        series=_series(fields.child("series"), ends) if fields.has("series") and ends else None,
        power=_power(fields.child("power")) if fields.has("power") else None,
        combs=tuple(map(_comb, fields.children("periods"))) if fields.has("periods") else None,
    )


def _series(fields: Fields, ends: tuple[float, ...]) -> Series:
    interrupts = fields.row("interrupts") if fields.has("interrupts") else ()
    found = fields.build(Series, ends_s=ends, interrupts=interrupts)
    if {len(found.noise_ns), len(found.gaps), len(interrupts or ends)} != {len(ends)}:
        raise Refused(f"{fields.where}: not a figure for each step", hint="measure again")
    return found


def _histogram(fields: Fields) -> tuple[tuple[float, ...], ...]:
    if fields.text("unit") != "ns":
        raise Refused(f"{fields.where}: 'unit' is not ns", hint="measure again")
    return fields.rows("counts", 3)


def _power(fields: Fields) -> PowerReading:
    return PowerReading(
        pace=fields.number("aperf_mperf") if fields.has("aperf_mperf") else None,
        governor=_text(fields, "governor"),
        idle_us=fields.numbers("idle_us") if fields.has("idle_us") else {},
        smi=fields.number("smi") if fields.has("smi") else None,
    )


def _comb(fields: Fields) -> Comb:
    return fields.build(Comb, cause=_text(fields, "cause"))


def facts(machine: Machine) -> dict[str, object]:
    """A summary of the machine for the run's ``host`` key; unknown facts are null."""
    return {
        "arch": machine.arch,
        "processor": machine.processor.model,
        "hypervisor": machine.hypervisor,
        "online": str(machine.cpus.online),
        "cores": len(machine.cores),
        "smt": any(len(core.cpus) > 1 for core in machine.cores),
        "nodes": len(machine.nodes),
        "clocksource": machine.clock.current,
        "realtime": machine.kernel.realtime,
        "idle_driver": machine.power.idle_driver,
        "frequency_driver": machine.power.frequency_driver,
        "governors": list(machine.power.governors),
        "tuned_profile": machine.services.tuned_profile,
        "layout": [_place(core) for core in machine.cores],
    }


def _place(core: Core) -> dict[str, object]:
    """Where a core lies, so that the machine can be drawn from a run alone."""
    return {
        "cpus": str(core.cpus),
        "package": core.package,
        "die": core.die,
        "nodes": ",".join(map(str, core.nodes)),
        "cache": core.cache,
    }


def _machine(host: Fields, measured: CpuSet) -> Machine:
    """What facts() wrote of it."""
    online = _cpu_list(host, "online") if host.has("online") else measured
    return Machine(
        arch=_text(host, "arch") or None,
        cpus=Cpus(online, CpuSet(), possible=online, boot=next(iter(online), 0)),
        cores=tuple(map(_core, host.maybe_children("layout"))),
        processor=Processor(model=_text(host, "processor") or None),
        hypervisor=_text(host, "hypervisor") or None,
    )


def _core(fields: Fields) -> Core:
    known = {key: int(fields.number(key)) for key in _PLACE if fields.has(key)}
    return Core(_cpu_list(fields, "cpus"), nodes=tuple(_cpu_list(fields, "nodes")), **known)


def _load(fields: Fields, tool: str = "") -> Load:
    return Load(
        tool=tool or fields.text("tool"),
        version=_text(fields, "version"),
        command=_joined(fields, "command"),
        exit=fields.status("exit"),
        result=_result(fields) if fields.has("parsed") else None,
    )


def _result(fields: Fields) -> ToolResult:
    parsed = fields.child("parsed")
    return ToolResult(parsed.text("version"), parsed.numbers("figures"))


def _text(fields: Fields, key: str) -> str:
    return fields.text(key) if fields.has(key) else ""


def _joined(fields: Fields, key: str) -> str:
    """Text as it is, an argument vector as a shell would need it, anything else as JSON again."""
    value = fields.value(key) if fields.has(key) else ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return shlex.join(str(item) for item in value)
    return json.dumps(value)


def _cpu_list(fields: Fields, key: str) -> CpuSet:
    try:
        return CpuSet.parse_list(fields.text(key))
    except CpuSetError as error:
        raise Refused(f"{fields.where}: '{key}': {error}", hint="measure again") from error
