# SPDX-License-Identifier: GPL-2.0-or-later
"""What only a page needs of a run: how its machine is built, what its power control did, and which
of its gaps came at a fixed period."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.base.json_fields import Fields, read_document
from lowlat.model.cpuset import CpuSet, CpuSetError
from lowlat.model.machine import Core
from lowlat.model.run import SCHEMA, Run


@dataclass(frozen=True)
class PowerReading:
    """What a processor did during a run: its pace against the nominal one, the time in idle states
    (us), and how often the firmware interrupted it; None where it was not known."""

    pace: Optional[float]
    governor: str
    idle_us: Mapping[str, float]
    smi: Optional[float]


@dataclass(frozen=True)
class RecordedComb:
    """Gaps of one CPU that came at one period: its name, how often a second they came, how far they
    stand out (-ln of the probability by chance), and what mostly made them, "" where not known."""

    frequency_hz: float
    name: str
    rate_per_s: float
    power: float
    cause: str


@dataclass(frozen=True)
class Detail:
    """One run. ``power`` and ``combs`` have the measured CPUs of which something is known, and
    ``cores`` is empty where the run does not tell how its machine is built. ``observer`` is what
    causes were told from: trace, switches, none, or "" where they were not traced."""

    run: Run
    observer: str
    power: Mapping[int, PowerReading]
    combs: Mapping[int, tuple[RecordedComb, ...]]
    processor: str
    online: CpuSet
    cores: tuple[Core, ...]


def read_detail(run: Run) -> Detail:
    """Read the run's file once more. Raises Refused where a part is not what it should be."""
    fields = read_document(run.path, SCHEMA, "'lowlat-gen measure'")
    host = fields.child("host") if fields.has("host") else Fields({}, fields.where)
    told = fields.child("attribution") if fields.has("attribution") else Fields({}, fields.where)
    cpus = {int(item.number("cpu")): item for item in fields.children("cpus")}
    searched = {number: cpu for number, cpu in cpus.items() if cpu.has("periods")}
    return Detail(
        run=run,
        observer=_text(told, "observer"),
        power={n: _power(cpu.child("power")) for n, cpu in cpus.items() if cpu.has("power")},
        combs={n: tuple(map(_comb, c.children("periods"))) for n, c in searched.items()},
        processor=_text(host, "processor"),
        online=_list(host, "online") if host.has("online") else run.measured,
        cores=tuple(map(_core, host.maybe_children("layout"))),
    )


def _power(fields: Fields) -> PowerReading:
    return PowerReading(
        pace=fields.number("aperf_mperf") if fields.has("aperf_mperf") else None,
        governor=_text(fields, "governor"),
        idle_us=fields.numbers("idle_us") if fields.has("idle_us") else {},
        smi=fields.number("smi") if fields.has("smi") else None,
    )


def _comb(fields: Fields) -> RecordedComb:
    return RecordedComb(
        frequency_hz=fields.number("frequency_hz"),
        name=fields.text("name"),
        rate_per_s=fields.number("rate_per_s"),
        power=fields.number("power"),
        cause=_text(fields, "cause"),
    )


def _core(fields: Fields) -> Core:
    return Core(
        cpus=_list(fields, "cpus"),
        package=_maybe(fields, "package"),
        die=_maybe(fields, "die"),
        nodes=tuple(_list(fields, "nodes")),
        cache=_maybe(fields, "cache"),
    )


def _text(fields: Fields, key: str) -> str:
    return fields.text(key) if fields.has(key) else ""


def _maybe(fields: Fields, key: str) -> Optional[int]:
    return int(fields.number(key)) if fields.has(key) else None


def _list(fields: Fields, key: str) -> CpuSet:
    try:
        return CpuSet.parse_list(fields.text(key))
    except CpuSetError as error:
        raise Refused(f"{fields.where}: '{key}': {error}", hint="measure again") from error
