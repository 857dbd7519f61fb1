# SPDX-License-Identifier: GPL-2.0-or-later
"""What only a page needs of a run: how its machine is built, what its power control did, and which
of its gaps came at a fixed period."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.base.json_fields import Fields, read_document
from lowlat.model.cpuset import CpuSet, CpuSetError
from lowlat.model.machine import Core
from lowlat.model.run import SCHEMA, Run


@dataclass(frozen=True)
class Power:
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
class Detail:
    """One run. ``power`` and ``combs`` have the measured CPUs of which something is known, and
    ``cores`` is empty where the run does not tell how its machine is built. ``observer`` is what
    causes were told from: trace, switches, none, or "" where nobody looked."""

    run: Run
    observer: str
    power: Mapping[int, Power]
    combs: Mapping[int, tuple[Comb, ...]]
    processor: str
    online: CpuSet
    cores: tuple[Core, ...]


def read_detail(run: Run) -> Detail:
    """Read the run's file once more. Raises Refused where a part is not what it should be."""
    fields = read_document(run.path, SCHEMA, "'lowlat-gen measure'")
    host = fields.child("host") if fields.has("host") else Fields({}, fields.where)
    told = fields.child("attribution") if fields.has("attribution") else Fields({}, fields.where)
    cpus = {int(item.number("cpu")): item for item in fields.children("cpus")}
    return Detail(
        run=run,
        observer=told.text("observer") if told.has("observer") else "",
        power={n: _power(cpu.child("power")) for n, cpu in cpus.items() if cpu.has("power")},
        combs={
            n: tuple(_combs(cpu.child("periodicity")))
            for n, cpu in cpus.items()
            if cpu.has("periodicity")
        },
        processor=host.text("processor") if host.has("processor") else "",
        online=_list(host, "online") if host.has("online") else run.measured,
        cores=tuple(_core(item) for item in host.children("layout")) if host.has("layout") else (),
    )


def _power(fields: Fields) -> Power:
    return Power(
        pace=fields.number("aperf_mperf") if fields.has("aperf_mperf") else None,
        governor=fields.text("governor") if fields.has("governor") else "",
        idle_us=fields.numbers("idle_us") if fields.has("idle_us") else {},
        smi=fields.number("smi") if fields.has("smi") else None,
    )


def _combs(fields: Fields) -> Iterator[Comb]:
    span = fields.number("span_s")
    for item in fields.children("combs"):
        yield Comb(
            frequency_hz=item.number("frequency_hz"),
            name=item.text("name"),
            rate_per_s=item.number("events") / span if span else 0.0,
            power=item.number("power"),
            cause=item.text("cause") if item.has("cause") else "",
        )


def _core(fields: Fields) -> Core:
    return Core(
        cpus=_list(fields, "cpus"),
        package=_maybe(fields, "package"),
        die=_maybe(fields, "die"),
        nodes=tuple(_list(fields, "nodes")),
        cache=_maybe(fields, "cache"),
    )


def _maybe(fields: Fields, key: str) -> Optional[int]:
    return int(fields.number(key)) if fields.has(key) else None


def _list(fields: Fields, key: str) -> CpuSet:
    try:
        return CpuSet.parse_list(fields.text(key))
    except CpuSetError as error:
        raise Refused(f"{fields.where}: '{key}': {error}", hint="measure again") from error
