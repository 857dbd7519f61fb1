# SPDX-License-Identifier: GPL-2.0-or-later
"""What the quiet costs: throughput, power, and what the catalogue says of each setting."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean
from typing import Callable, Optional

from lowlat.catalogue import CATALOGUE
from lowlat.catalogue.entry import Risk
from lowlat.model.run import PowerReading
from lowlat.report.tables import Table
from lowlat.report.wording import number
from lowlat.view.arm import ViewArm, many

_BY_NAME = {entry.name: entry for entry in CATALOGUE}


def stated(names: Iterable[str]) -> Iterator[Table]:
    """What the settings with these names cost by the catalogue."""
    entries = [_BY_NAME[name] for name in dict.fromkeys(names) if name in _BY_NAME]
    costly = [e for e in entries if e.cost != "none" or e.risk is not Risk.NONE]
    rows = tuple((entry.name, entry.cost, entry.risk.value) for entry in costly)
    if rows:
        yield Table(("setting", "what it costs, by the catalogue", "risk"), rows)


def power(arms: Sequence[ViewArm]) -> Table:
    """What the runs tell of the processors' power control, without rows where nothing."""
    clock = "clock of the measured CPUs, of the nominal one"
    rows = [
        _row(clock, arms, lambda power: power.pace, "{:.0%}".format),
        *_idle(arms),
        _row("interruptions by the firmware (SMI), a run", arms, lambda power: power.smi),
    ]
    lines = [("Power", *(arm.name for arm in arms)), *filter(None, rows)]
    if many(arms):
        lines = list(zip(*lines))  # a row for each arm
    header, *known = lines
    return Table(header, tuple(known), _governors(arms))


def _idle(arms: Sequence[ViewArm]) -> Iterator[tuple[str, ...]]:
    states = {state: None for power in _powers(arms) for state in power.idle_us}
    for state in states:
        yield _row(
            f"in idle state {state}, ms of a run",
            arms,
            lambda power, state=state: power.idle_us.get(state, 0.0) / 1e3,  # type: ignore[misc]
        )


def _powers(arms: Iterable[ViewArm]) -> Iterator[PowerReading]:
    for run in (run for arm in arms for run in arm.runs):
        yield from (cpu.power for cpu in run.cpus if cpu.power)


def _row(
    title: str,
    arms: Sequence[ViewArm],
    of: Callable[[PowerReading], Optional[float]],
    form: Callable[[float], str] = number,
) -> tuple[str, ...]:
    """The mean over CPUs and runs of each arm; empty where nobody knows it."""
    found = []
    for arm in arms:
        values = [value for power in _powers([arm]) if (value := of(power)) is not None]
        found.append(form(fmean(values)) if values else "-")
    return (title, *found) if any(cell != "-" for cell in found) else ()


def _governors(arms: Sequence[ViewArm]) -> str:
    told: dict[str, list[str]] = {}
    for arm in arms:
        names = sorted({power.governor for power in _powers([arm])} - {""})
        if names:
            told.setdefault(" and ".join(names), []).append(arm.name)
    words = (f"{' and '.join(owners)} {names}" for names, owners in told.items())
    return f"Frequency governor: {', '.join(words)}." if told else ""
