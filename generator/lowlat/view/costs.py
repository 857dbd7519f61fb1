# SPDX-License-Identifier: GPL-2.0-or-later
"""What the quiet costs: throughput, power, and what the catalogue says of each setting."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean
from typing import Callable, Optional

from lowlat.catalogue import CATALOGUE
from lowlat.catalogue.entry import Risk
from lowlat.report.comparison import Comparison
from lowlat.report.tables import Table, throughput
from lowlat.report.wording import number
from lowlat.view.arm import ViewArm, many
from lowlat.view.run_details import PowerReading

_BY_NAME = {entry.name: entry for entry in CATALOGUE}


def measured(found: Comparison, sides: Sequence[ViewArm]) -> tuple[Table, Table]:
    """What the runs tell of the cost: of throughput and of power, without rows where nothing."""
    return throughput(found.arms), _power(sides)


def stated(names: Iterable[str]) -> Iterator[Table]:
    """What the settings with these names cost by the catalogue."""
    entries = [_BY_NAME[name] for name in dict.fromkeys(names) if name in _BY_NAME]
    costly = [e for e in entries if e.cost != "none" or e.risk is not Risk.NONE]
    rows = tuple((entry.name, entry.cost, entry.risk.value) for entry in costly)
    if rows:
        yield Table(("setting", "what it costs, by the catalogue", "risk"), rows)


def unknown(done: Table, power: Table) -> Iterator[str]:
    """What was not measured, and how to have it."""
    if not done.rows:
        yield (
            "Throughput was not measured alike on both sides. "
            "'lowlat-gen measure --load mixed' counts what the loads get done."
        )
    if not power.rows:
        yield (
            "The runs hold no reading of the processor's clocks and idle states: a machine lends "
            "them to root only, and a virtual one to nobody."
        )


def _power(sides: Sequence[ViewArm]) -> Table:
    clock = "clock of the measured CPUs, of the nominal one"
    rows = [
        _row(clock, sides, lambda power: power.pace, "{:.0%}".format),
        *_idle(sides),
        _row("interruptions by the firmware (SMI), a run", sides, lambda power: power.smi),
    ]
    lines = [("Power", *(side.name for side in sides)), *filter(None, rows)]
    if many(sides):
        lines = list(zip(*lines))  # a row for each side
    header, *known = lines
    return Table(header, tuple(known), _governors(sides))


def _idle(sides: Sequence[ViewArm]) -> Iterator[tuple[str, ...]]:
    states = {state: None for power in _powers(sides) for state in power.idle_us}
    for state in states:
        yield _row(
            f"in idle state {state}, ms of a run",
            sides,
            lambda power, state=state: power.idle_us.get(state, 0.0) / 1e3,  # type: ignore[misc]
        )


def _powers(sides: Iterable[ViewArm]) -> Iterator[PowerReading]:
    for side in sides:
        for detail in side.details:
            yield from detail.power.values()


def _row(
    title: str,
    sides: Sequence[ViewArm],
    of: Callable[[PowerReading], Optional[float]],
    form: Callable[[float], str] = number,
) -> tuple[str, ...]:
    """The mean over CPUs and runs of each side; empty where nobody knows it."""
    found = []
    for side in sides:
        values = [value for power in _powers([side]) if (value := of(power)) is not None]
        found.append(form(fmean(values)) if values else "-")
    return (title, *found) if any(cell != "-" for cell in found) else ()


def _governors(sides: Sequence[ViewArm]) -> str:
    told: dict[str, list[str]] = {}
    for side in sides:
        names = sorted({power.governor for power in _powers([side])} - {""})
        if names:
            told.setdefault(" and ".join(names), []).append(side.name)
    words = (f"{' and '.join(owners)} {names}" for names, owners in told.items())
    return f"Frequency governor: {', '.join(words)}." if told else ""
