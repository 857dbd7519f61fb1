# SPDX-License-Identifier: GPL-2.0-or-later
"""The finding and the tables of one arm by itself, the same for the terminal and for a ticket."""

from collections.abc import Iterator
from typing import Callable

from lowlat.claim.description import Description
from lowlat.figures import cross_check, work
from lowlat.figures.endpoint import ALONE, INTERRUPTS, POOLED_INTERRUPTS, POOLED_NOISE, THROUGHPUT
from lowlat.figures.figures import CAUSES, TOGETHER
from lowlat.figures.measure import Key, size
from lowlat.present import osnoise
from lowlat.present.osnoise import OsnoiseArm
from lowlat.present.tables import (
    MOST_CPUS,
    MOST_SOURCES,
    WHOLE,
    Table,
    cpus_noun,
    of_tools,
    with_levels,
    with_rows,
)
from lowlat.present.wording import lasted, noise, number, source

_RATE = "bogo operations a second"


def finding(description: Description) -> tuple[str, str]:
    """The main figures of the runs, and whether they are complete and valid."""
    rate = description.get(POOLED_INTERRUPTS)
    told = [] if rate is None else [f"{number(rate)} interrupts/s"]
    if (ppm := description.get(POOLED_NOISE)) is not None:
        longest = (description.get("max_ns") or 0.0) / 1e3
        told = [f"noise {noise(ppm)}", f"the longest gap {number(longest)} us", *told]
    told += _of_file(description)
    time = lasted(description.seconds) if description.seconds else "a time not known"
    noun = cpus_noun(description.cpus)
    where = f"on {noun}, {time}" if description.cpus else f"for {time}"
    if description.runs > 1 and description.tool:
        where += f" in {description.runs} files"
    elif description.runs > 1:
        where += f" in {description.runs} runs of {_boots(description.boots)}"
    state = "complete" if description.complete else "PARTIAL"
    state += "" if description.valid else ", NOT VALID"
    state = description.forms or state
    what = f"{description.tool}, {description.label}" if description.tool else description.label
    what = f"{description.pooled}. {what}" if description.pooled else what
    return f"{what} {where}: {', '.join(told)}", state


def _of_file(description: Description) -> Iterator[str]:
    """The main figures of another tool's files."""
    for tool, part in cross_check.SERIES if description.tool else ():
        for shown in ("p99.9", "max"):
            us = description.by_key.get(Key(f"{tool}_{shown}_us", row=part))
            if us is not None:
                word = "maximum" if shown == "max" else shown
                yield f"{f'{part} ' if part else ''}{word} {number(us)} us"
    for stressor, rate in description.parts(THROUGHPUT).items() if description.tool else ():
        yield f"{stressor} {number(rate)} {_RATE}"


def _boots(count: int) -> str:
    return f"{count} boot{'s' if count > 1 else ''}"


def tables(description: Description, *, parts: bool = True) -> tuple[Table, ...]:
    """The figures over all CPUs, those of each CPU, the work; with ``parts``, causes and
    interrupts."""
    rows = tuple(
        (
            f"{one.title}, /s" if one.unit == "1/s" else one.title,
            noise(value) if one.unit == "ppm" else number(value / size(one.unit)),
        )
        for one in with_levels(ALONE, description.by_key)
        if (value := description.by_key.get(one.key())) is not None
    )
    arm = OsnoiseArm(description.label, description.seconds, description.by_key)
    rate = (("stress-ng's matrix", str(description.throughput)),) if description.throughput else ()
    timed = {key: number(value) for key, value in description.by_key.items() if key.cpu == "all"}
    causes = _by_row(description, CAUSES, "noise by cause, ppm", str, CAUSES)
    title = "interrupts by source, /s"
    sources = _by_row(description, INTERRUPTS, title, source, POOLED_INTERRUPTS)
    candidates = (
        Table((cpus_noun(description.cpus), description.label), rows, wide=True),
        _per_cpu(description, arm),
        *of_tools(_worst(description), lambda key: osnoise.cell(description.by_key.get(key))),
        Table.of(osnoise.gaps(description.longest_gaps, description.sets)),
        Table(("throughput", description.label), rate),
        *([_by_row(description, THROUGHPUT, _RATE, str)] if description.tool else ()),
        Table.of(work.rows(timed, {}), work.NOTE),
        Table.of(osnoise.wakeup_rows((arm,)), osnoise.WAKEUP_NOTE),
        *((causes, sources) if parts else ()),
        _by_row(description, TOGETHER, "away at the same time, ppm", str),
    )
    return with_rows(candidates)


def _by_row(
    description: Description, name: str, title: str, words: Callable[[str], str], whole: str = ""
) -> Table:
    parts = [*description.parts(name).items()]
    rows = [(words(row), number(value)) for row, value in parts[:MOST_SOURCES]]
    if rows and (value := description.get(whole)) is not None:
        rows.insert(0, (WHOLE, number(value)))
    if rest := parts[MOST_SOURCES:]:
        rows.append((f"{len(rest)} more", number(sum(value for _, value in rest))))
    return Table((title, description.label), tuple(rows), wide=True)


def _per_cpu(description: Description, arm: OsnoiseArm) -> Table:
    left = len(description.cpus) - MOST_CPUS
    note = f"the worst {MOST_CPUS}; {left} more in --json" if left > 0 else ""
    return Table.of(osnoise.rows((arm,), _worst(description), description.sets), note)


def _worst(description: Description) -> list[int]:
    """The CPUs for which there is room."""
    value = {cpu: description.get(description.primary, cpu) or 0.0 for cpu in description.cpus}
    return sorted(sorted(value, key=value.__getitem__, reverse=True)[:MOST_CPUS])
