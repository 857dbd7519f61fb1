# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``top`` shows: the harness's lines of a second each, as who interrupted which CPU."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Optional

from lowlat.base.errors import LowlatError
from lowlat.measure.causes.context import row_name
from lowlat.measure.causes.remedy import remedy
from lowlat.measure.causes.threads import Occupant

SCHEMA = "lowlat.follow/1"

#: To order what is counted beside what is timed: about what an interrupt takes, in us.
_USUAL_US = 5.0

#: Counted again under another name: TLB shoot-downs are function calls.
_PARTS = ("TLB",)


@dataclass(frozen=True)
class Interrupter:
    """One source of interruptions: how often a second, or for how many us a second it ran."""

    kind: str
    name: str
    per_s: Optional[float]
    us_per_s: Optional[float]

    @property
    def remedy(self) -> str:
        return remedy(self.kind, self.name) or ""

    @property
    def weight(self) -> float:
        """About how much it takes, in us a second."""
        return (self.per_s or 0.0) * _USUAL_US if self.us_per_s is None else self.us_per_s


@dataclass(frozen=True)
class CpuSecond:
    """What one CPU showed in one line's time."""

    cpu: int
    gaps_per_s: float
    noise_ppm: float
    max_ns: int
    switches_per_s: float
    interrupters: tuple[Interrupter, ...]


@dataclass(frozen=True)
class Second:
    """One line: s since the start, and the CPUs."""

    time_s: float
    cpus: tuple[CpuSecond, ...]


def parse_line(text: str, occupants: Iterable[Occupant] = ()) -> Second:
    """One line of ``lowlat-measure --follow``, with the threads that ran meanwhile.

    Raises LowlatError where it is not one.
    """
    ran = tuple(occupants)
    try:
        line = json.loads(text)
        if line["schema"] != SCHEMA:
            raise ValueError(f"schema {line['schema']}")
        interval = float(line["interval_s"])
        cpus = tuple(_cpu(item, interval, ran) for item in line["cpus"])
        return Second(float(line["time_s"]), cpus)
    except (ValueError, KeyError, TypeError, AttributeError, ZeroDivisionError) as error:
        raise LowlatError(f"lowlat-measure wrote a line that cannot be read: {error}") from error


def _cpu(item: Mapping[str, object], interval: float, occupants: Iterable[Occupant]) -> CpuSecond:
    number = int(_number(item, "cpu"))
    found = [
        *_counted(item["interrupts"], interval),
        *_running(number, occupants, interval),
        *_softirqs(item["softirqs"], interval),
    ]
    return CpuSecond(
        cpu=number,
        gaps_per_s=_number(item, "gaps") / interval,
        noise_ppm=_number(item, "noise_ppm"),
        max_ns=int(_number(item, "max_ns")),
        switches_per_s=_number(item, "switches") / interval,
        interrupters=tuple(sorted(found, key=lambda one: -one.weight)),
    )


def _number(item: Mapping[str, object], key: str) -> float:
    value = item[key]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"'{key}' is not a number")
    return float(value)


def _items(counts: object) -> Iterator[tuple[str, float]]:
    if not isinstance(counts, dict):
        raise ValueError("counts are missing")
    yield from ((str(label), float(count)) for label, count in counts.items())


def _counted(counts: object, interval: float) -> Iterator[Interrupter]:
    for label, count in _items(counts):
        if label in _PARTS:
            continue
        yield Interrupter(*row_name(label), count / interval, None)


def _softirqs(counts: object, interval: float) -> Iterator[Interrupter]:
    for label, count in _items(counts):
        yield Interrupter("softirq", label, count / interval, None)


def _running(cpu: int, occupants: Iterable[Occupant], interval: float) -> Iterator[Interrupter]:
    for one in occupants:
        if one.cpu == cpu:
            # It may have come from another CPU, but cannot have run for longer than there was time.
            ran_us = min(one.ran_ns / 1000 / interval, 1e6)
            yield Interrupter("thread", one.name, None, ran_us)
