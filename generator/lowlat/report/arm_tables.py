# SPDX-License-Identifier: GPL-2.0-or-later
"""The finding and the tables of one arm by itself, the same for the terminal and for a ticket."""

from typing import Callable

from lowlat.report import osnoise, wakeup, work
from lowlat.report.description import Description
from lowlat.report.endpoint import INTERRUPTS, SUMMARY
from lowlat.report.figures import CAUSES, TOGETHER
from lowlat.report.measure import size
from lowlat.report.osnoise import OsnoiseArm
from lowlat.report.tables import MOST_CPUS, MOST_SOURCES, Table, with_rows
from lowlat.report.wording import noise, number, source


def finding(found: Description) -> tuple[str, str]:
    """The main figures of the runs, and whether they are complete and valid."""
    told = [f"{number(rate)} interrupts/s"] if (rate := found.get(INTERRUPTS)) is not None else []
    if (ppm := found.get("noise_ppm")) is not None:
        longest = (found.get("max_ns") or 0.0) / 1e3
        told = [f"noise {noise(ppm)}", f"the longest gap {number(longest)} us", *told]
    noun = "CPU" if len(found.cpus) == 1 else "CPUs"
    times = f" in {found.runs} runs of {found.boots} boots" if found.runs > 1 else ""
    state = "complete" if found.complete else "PARTIAL"
    state += "" if found.valid else ", NOT VALID"
    where = f"{noun} {found.cpus}, {found.seconds:.4g} s{times}"
    return f"{found.label} on {where}: {', '.join(told)}", state


def tables(found: Description, *, parts: bool = True) -> tuple[Table, ...]:
    """The figures over all CPUs, those of each CPU, the work; with ``parts``, causes and
    interrupts."""
    rows = tuple(
        (
            f"{one.title}, /s" if one.unit == "1/s" else one.title,
            noise(value) if one.unit == "ppm" else number(value / size(one.unit)),
        )
        for one in SUMMARY
        if (value := found.by_key.get(one.key())) is not None
    )
    noun = "CPU" if len(found.cpus) == 1 else "mean of CPUs"
    arm = OsnoiseArm(found.label, found.seconds, found.by_key)
    rate = (("stress-ng's matrix", str(found.throughput)),) if found.throughput else ()
    timed = {key: number(value) for key, value in found.by_key.items() if key.cpu == "all"}
    causes = _by_row(found, CAUSES, "noise by cause, ppm", str)
    sources = _by_row(found, INTERRUPTS, "interrupts by source, /s", source)
    candidates = (
        Table((f"{noun} {found.cpus}", found.label), rows, wide=True),
        _per_cpu(found, arm),
        Table.of(osnoise.gaps(found.longest_gaps, found.sets)),
        Table(("throughput", found.label), rate),
        Table.of(work.rows(timed), work.NOTE),
        Table.of(wakeup.rows((arm,)), wakeup.NOTE),
        *((causes, sources) if parts else ()),
        _by_row(found, TOGETHER, "away at the same time, ppm", str),
    )
    return with_rows(candidates)


def _by_row(found: Description, name: str, title: str, words: Callable[[str], str]) -> Table:
    shown = [*found.parts(name).items()][:MOST_SOURCES]
    rows = tuple((words(row), number(value)) for row, value in shown)
    return Table((title, found.label), rows, wide=True)


def _per_cpu(found: Description, arm: OsnoiseArm) -> Table:
    worst = sorted(found.cpus, key=lambda cpu: found.get("noise_ppm", cpu) or 0.0, reverse=True)
    left = len(found.cpus) - MOST_CPUS
    note = f"the worst {MOST_CPUS}; {left} more in --json" if left > 0 else ""
    return Table.of(osnoise.rows((arm,), sorted(worst[:MOST_CPUS]), found.sets), note)
