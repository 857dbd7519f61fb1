# SPDX-License-Identifier: GPL-2.0-or-later
"""The costs: throughput, power, and the catalogue's cost of each setting."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Callable

from lowlat.catalogue import BY_NAME
from lowlat.catalogue.entry import Risk
from lowlat.figures.beside import CLOCK, FIRMWARE, IDLE, POWER
from lowlat.present.drawn_arm import ViewArm
from lowlat.present.tables import Table
from lowlat.present.wording import number


def stated(names: Iterable[str]) -> Table:
    """The catalogue's costs of the settings with these names; empty if none has costs."""
    entries = [BY_NAME[name] for name in dict.fromkeys(names) if name in BY_NAME]
    costly = [e for e in entries if e.cost != "none" or e.risk is not Risk.NONE]
    rows = tuple((entry.name, entry.cost, entry.risk.value) for entry in costly)
    return Table(("setting", "cost, from the catalogue", "risk"), rows)


def power(arms: Sequence[ViewArm], of: Callable[[str, str], Mapping[str, float]]) -> Table:
    """Power control of the processors over all CPUs and runs, a row for each arm: ``of`` gives the
    figures of an arm's name and a kind. Empty if none is known."""
    told = {arm.name: of(arm.name, POWER) for arm in arms}
    columns = sorted({row for own in told.values() for row in own}, key=_place)
    rows = tuple(
        (name, *(number(own[row]) if row in own else "-" for row in columns))
        for name, own in told.items()
        if columns
    )
    return Table(("Power", *map(_title, columns)), rows, _governors(arms))


def _place(row: str) -> tuple[bool, bool, str]:
    """The clock first, then the idle states."""
    return row != CLOCK, row == FIRMWARE, row


def _title(row: str) -> str:
    if row == CLOCK:
        return "clock, % of the nominal one"
    if row == FIRMWARE:
        return "interruptions by the firmware (SMI), /s"
    return f"in {row[: -len(IDLE)]}, % of the time"


def _governors(arms: Sequence[ViewArm]) -> str:
    told: dict[str, list[str]] = {}
    for arm in arms:
        read = (cpu.power for run in arm.runs for cpu in run.cpus if cpu.power)
        names = sorted({power.governor for power in read} - {""})
        if names:
            told.setdefault(" and ".join(names), []).append(arm.name)
    words = (f"{' and '.join(owners)} {names}" for names, owners in told.items())
    return f"Frequency governor: {', '.join(words)}." if told else ""
