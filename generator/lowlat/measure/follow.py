# SPDX-License-Identifier: GPL-2.0-or-later
"""The data of ``top``: the harness's lines, one a second, and the threads that ran meanwhile, as an
account of the time lost on each CPU."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Optional

from lowlat.base.errors import LowlatError
from lowlat.base.typed_json import decode
from lowlat.catalogue.remedies import Remedies
from lowlat.measure.occupants import Look
from lowlat.trace.context import PARTS, row_name

SCHEMA, ACCOUNTED = "lowlat.follow/1", "lowlat.top/1"

#: The digits behind the point of times and rates; the sums of an account are those of the rounded.
_DIGITS = 3

#: The assumed cost of an interrupt in us at most, to rank counted sources beside timed ones.
_USUAL_US = 5.0


@dataclass(frozen=True)
class Interrupter:
    """One source of interruptions: its count per second, None for a thread; its time in us per
    second, an estimate where it is only counted; the ID of a thread; and the setting that removes
    it, None if none does."""

    kind: str = field(metadata={"json": "class"})
    name: str
    times_per_s: Optional[float]
    us_per_s: float
    task: Optional[int] = None
    remedy: Optional[str] = None


@dataclass(frozen=True)
class Account:
    """The time lost on a CPU in us per second, which the sources, the most costly first, and what
    they do not explain add up to; ``explained`` is their share, None if nothing was lost."""

    cpu: int
    gaps_per_s: float
    noise_ppm: float
    max_ns: int
    lost_us_per_s: float
    sources: tuple[Interrupter, ...]
    not_explained_us_per_s: float
    explained: Optional[float]


@dataclass(frozen=True)
class AccountedSecond:
    """A second for people and for ``top --json``; ``threads_started`` on all CPUs."""

    schema: str
    time_s: float
    interval_s: float
    threads_started: int
    cpus: tuple[Account, ...]


@dataclass(frozen=True)
class CpuSecond:
    """The counts of one CPU in a line's time, interrupts and softirqs by their row."""

    cpu: int
    gaps: int
    noise_ns: int
    noise_ppm: float
    max_ns: int
    interrupts: Mapping[str, float]
    softirqs: Mapping[str, float]


@dataclass(frozen=True)
class Second:
    """One line of ``lowlat-measure --follow``: s since the start, the line's own time, its CPUs,
    and what ran meanwhile."""

    schema: str
    time_s: float
    interval_s: float
    cpus: tuple[CpuSecond, ...]
    look: Look = Look()

    def accounted(self, remedies: Remedies) -> AccountedSecond:
        accounts = tuple(self._account(cpu, remedies) for cpu in self.cpus)
        times = (round(self.time_s, 3), round(self.interval_s, 6))
        return AccountedSecond(ACCOUNTED, *times, self.look.started, accounts)

    def _account(self, cpu: CpuSecond, remedies: Remedies) -> Account:
        lost = round(cpu.noise_ns / 1000 / self.interval_s, _DIGITS)
        sources = self._sources(cpu, lost, remedies)
        known = sum(one.us_per_s for one in sources)
        return Account(
            cpu.cpu,
            round(cpu.gaps / self.interval_s, _DIGITS),
            round(cpu.noise_ppm, _DIGITS),
            cpu.max_ns,
            lost,
            tuple(sorted(sources, key=lambda one: -one.us_per_s)),
            round(lost - known, _DIGITS),
            round(known / lost, _DIGITS) if lost else None,
        )

    def _sources(self, cpu: CpuSecond, lost: float, remedies: Remedies) -> list[Interrupter]:
        """The sources of interruptions of a CPU; together they take no more than what was lost."""
        threads = self._threads(cpu.cpu, lost, remedies)
        left = max(lost - sum(one.us_per_s for one in threads), 0.0)
        counted = [
            *((row_name(label), n) for label, n in cpu.interrupts.items() if label not in PARTS),
            *((("softirq", label), n) for label, n in cpu.softirqs.items()),
        ]
        rates = [n / self.interval_s for _, n in counted]
        each = min(_USUAL_US, left / max(sum(rates), 1e-9))
        for (who, _), rate in zip(counted, rates):
            if rate:
                times = (round(rate, _DIGITS), round(rate * each, _DIGITS))
                threads.append(Interrupter(*who, *times, remedy=remedies.of(*who)))
        return threads

    def _threads(self, cpu: int, lost: float, remedies: Remedies) -> list[Interrupter]:
        """The threads that ran there; one from another CPU may have run elsewhere too."""
        own = [one for one in self.look.occupants if one.cpu == cpu]
        known = sum(one.ran_ns for one in own) / 1000 / self.interval_s
        away = self.look.waited_ns.get(cpu)
        most = min(lost, known if away is None else away / 1000 / self.interval_s)
        share = min(most / known, 1.0) if known else 0.0
        threads = [
            Interrupter(
                *("thread", one.name, None),
                round(share * one.ran_ns / 1000 / self.interval_s, _DIGITS),
                one.task,
                remedies.of_thread(one.name, one.thread),
            )
            for one in own
        ]
        gone = round(most - known * share, _DIGITS)
        if gone > 1.0:
            name = f"gone or moved on, {self.look.started} started on all CPUs"
            threads.append(Interrupter("thread", name, None, gone))
        return threads


def parse_line(text: str, look: Optional[Look] = None) -> Second:
    """A line, with what ran meanwhile. Raises LowlatError if it is malformed."""
    try:
        second = decode(Second, json.loads(text))
        if second.schema != SCHEMA or not second.interval_s:
            raise ValueError(f"schema {second.schema}, {second.interval_s:g} s")
    except ValueError as error:
        raise LowlatError(f"lowlat-measure wrote a line that cannot be read: {error}") from error
    return replace(second, look=look or second.look)
