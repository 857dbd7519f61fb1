# SPDX-License-Identifier: GPL-2.0-or-later
"""The costs: throughput, power, and the catalogue's cost of each setting."""

from collections.abc import Container, Iterable, Iterator, Sequence
from statistics import fmean

from lowlat.catalogue import BY_NAME
from lowlat.catalogue.entry import Risk
from lowlat.model.run import PowerReading
from lowlat.report.tables import Table
from lowlat.report.wording import number
from lowlat.view.arm import ViewArm


def stated(names: Iterable[str]) -> Table:
    """The catalogue's costs of the settings with these names; empty if none has costs."""
    entries = [BY_NAME[name] for name in dict.fromkeys(names) if name in BY_NAME]
    costly = [e for e in entries if e.cost != "none" or e.risk is not Risk.NONE]
    rows = tuple((entry.name, entry.cost, entry.risk.value) for entry in costly)
    return Table(("setting", "cost, from the catalogue", "risk"), rows)


def power(arms: Sequence[ViewArm]) -> Table:
    """Power control of the processors, averaged over CPUs and runs: a row for each arm, without the
    idle states that no CPU entered; empty if unknown."""
    idle = {n for arm in arms for one in _readings(arm) for n, us in one.idle_us.items() if us}
    readings = {arm.name: [dict(_known(one, idle)) for one in _readings(arm)] for arm in arms}
    columns = dict.fromkeys(name for own in readings.values() for one in own for name in one)
    rows = tuple(
        (name, *(_mean([one[column] for one in own if column in one]) for column in columns))
        for name, own in readings.items()
        if columns
    )
    return Table(("Power", *columns), rows, _governors(arms))


def _known(one: PowerReading, idle: Container[str]) -> Iterator[tuple[str, float]]:
    if one.pace is not None:
        yield "clock, % of the nominal one", 100 * one.pace
    spent = ((name, us / 1e3) for name, us in one.idle_us.items() if name in idle)
    yield from ((f"in {name}, ms of a run", ms) for name, ms in spent)
    if one.smi is not None:
        yield "interruptions by the firmware (SMI), a run", one.smi


def _readings(arm: ViewArm) -> list[PowerReading]:
    return [cpu.power for run in arm.runs for cpu in run.cpus if cpu.power]


def _mean(values: Sequence[float]) -> str:
    return number(fmean(values)) if values else "-"


def _governors(arms: Sequence[ViewArm]) -> str:
    told: dict[str, list[str]] = {}
    for arm in arms:
        names = sorted({power.governor for power in _readings(arm)} - {""})
        if names:
            told.setdefault(" and ".join(names), []).append(arm.name)
    words = (f"{' and '.join(owners)} {names}" for names, owners in told.items())
    return f"Frequency governor: {', '.join(words)}." if told else ""
