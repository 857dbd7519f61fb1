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
from pathlib import Path
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.base.json_fields import Fields, read_document
from lowlat.model.cmdline import without_virtme
from lowlat.model.cpuset import CpuSet, CpuSetError

SCHEMA = "lowlat.run/1"


@dataclass(frozen=True)
class RunClock:
    """How time was read: frequency in Hz, and the cost of one read in ns."""

    source: str
    hz: float
    floor_ns: Optional[float]


@dataclass(frozen=True)
class Load:
    """Another program that ran beside or after the detector, with its raw output.

    ``exit`` is its exit status, None where it was not recorded.
    """

    tool: str
    version: str
    command: str
    output: str
    exit: Optional[int] = None


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
    #: Architecture, processor and hypervisor as far as they were recorded, else "".
    machine: str = ""
    #: The version of lowlat-measure, "" where it was not recorded.
    harness: str = ""
    #: Figures of other kinds of work (getting the time, memory, ...), as they were recorded.
    work: tuple[Mapping[str, object], ...] = ()
    #: What other measuring programs than oslat said: cyclictest, rtla's osnoise and timerlat.
    second_opinions: tuple[Load, ...] = ()

    @property
    def measured(self) -> CpuSet:
        return CpuSet.of(cpu.cpu for cpu in self.cpus)

    def cpu(self, number: int) -> CpuRun:
        return next(cpu for cpu in self.cpus if cpu.cpu == number)

    def seconds(self, cpus: Iterable[int]) -> float:
        """The measured time of these CPUs together."""
        return sum(self.cpu(number).runtime_ns for number in cpus) / 1e9


def read_run(path: Path) -> Run:
    """Read a file that ``lowlat-gen measure`` or ``lowlat-measure --json`` wrote.

    Raises Refused where it is missing, not JSON, of another schema, or lacks a key.
    """
    fields = read_document(path, SCHEMA, "'lowlat-gen measure'")
    ends = _ends(fields.child("series")) if fields.has("series") else ()
    cpus = tuple(_cpu(item, ends) for item in fields.children("cpus"))
    if len({cpu.cpu for cpu in cpus}) != len(cpus):
        raise Refused(f"{path}: a CPU occurs twice in 'cpus'", hint="measure again")
    return fields.build(
        Run,
        path=path,
        cmdline=without_virtme(fields.text("cmdline")),
        isolated=_cpu_list(fields, "isolated"),
        clock=fields.child("clock").build(RunClock),
        cpus=cpus,
        loads=tuple(_load(item) for item in fields.children("loads")),
        oslat=_load(fields.child("oslat"), "oslat") if fields.has("oslat") else None,
        machine=_machine(fields.child("host")) if fields.has("host") else "",
        harness=fields.text("harness") if fields.has("harness") else "",
        work=tuple(item.all() for item in fields.maybe_children("work")),
        second_opinions=tuple(_load(item) for item in fields.maybe_children("second_opinions")),
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


def _machine(host: Fields) -> str:
    keys = ("arch", "processor", "hypervisor")
    return ", ".join(host.text(key) for key in keys if host.has(key))


def _load(fields: Fields, tool: str = "") -> Load:
    return Load(
        tool=tool or fields.text("tool"),
        version=fields.text("version") if fields.has("version") else "",
        command=_joined(fields, "command"),
        output=_joined(fields, "output"),
        exit=fields.status("exit"),
    )


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
