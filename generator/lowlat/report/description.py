# SPDX-License-Identifier: GPL-2.0-or-later
"""One arm alone: the figures of its runs, without a comparison."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Callable, Optional

from lowlat.base.errors import Refused
from lowlat.base.typed_json import encode_fields
from lowlat.model.cpuset import CpuSet
from lowlat.report import comparable, osnoise, pace, siblings, throughput, wakeup, work
from lowlat.report.arm import Arm, ArmGap, typical
from lowlat.report.endpoint import INTERRUPTS, SUMMARY
from lowlat.report.figures import CAUSES, TOGETHER
from lowlat.report.measure import Cpu, Key, size
from lowlat.report.osnoise import OsnoiseArm
from lowlat.report.pair import measures
from lowlat.report.tables import MOST_CPUS, MOST_SOURCES, Table, with_rows
from lowlat.report.throughput import Rate
from lowlat.report.wording import noise, number, source

SCHEMA = "lowlat.description/1"


@dataclass(frozen=True)
class DescribedFigure:
    """One figure of a CPU, or of "all" CPUs."""

    key: Key
    unit: str
    value: float


@dataclass(frozen=True)
class Description:
    """The document ``lowlat.description/1``. ``kernels`` is a text, with HZ; ``seconds`` is the
    time for which each CPU was measured in all runs; ``longest_gaps`` have their causes in order,
    ``throughput`` is the rate of stress-ng's matrix, ``sets`` are CPUs by the plan's names,
    ``flags`` are the problems of the runs."""

    label: str
    kernel: str
    kernels: str
    runs: int
    boots: int
    seconds: float
    emulated: bool
    complete: bool
    valid: bool
    isolated: str
    figures: tuple[DescribedFigure, ...]
    longest_gaps: tuple[ArmGap, ...]
    throughput: Optional[Rate]
    sets: Mapping[str, CpuSet]
    flags: tuple[str, ...]

    def get(self, name: str, cpu: Cpu = "all") -> Optional[float]:
        return self.by_key.get(Key(name, cpu))

    @cached_property
    def by_key(self) -> Mapping[Key, float]:
        return {figure.key: figure.value for figure in self.figures}

    @property
    def cpus(self) -> CpuSet:
        return CpuSet.of(f.key.cpu for f in self.figures if isinstance(f.key.cpu, int))


def describe(arm: Arm) -> Description:
    """The figures of at least one run. Raises Refused if no CPU was measured in all of them."""
    cpus = comparable.common_cpus(arm.runs)
    if not len(cpus):
        raise Refused(f"{arm.name}: no CPU was measured in every run", hint="give fewer runs")
    first = arm.runs[0]
    wanted = measures(arm.runs, cpus, emulated=first.emulated)
    values = arm.values(cpus, wanted)
    each = ((*siblings.busy(r), *pace.told(r), *r.problems) for r in arm.runs)
    notes = (text for texts in each for text in texts)
    return Description(
        label=arm.name,
        kernel=first.kernel,
        kernels=arm.kernels,
        runs=len(arm.runs),
        boots=len(arm.boots),
        seconds=sum(arm.seconds(cpus)) / len(cpus),
        emulated=first.emulated,
        complete=all(run.complete for run in arm.runs),
        valid=all(run.valid for run in arm.runs),
        isolated=str(first.isolated),
        figures=tuple(
            DescribedFigure(key, one.unit, fmean(found) if one.counted else typical(found))
            for one in wanted
            for cpu in ("all", *cpus)
            if (found := values.get(key := one.key(cpu)))
        ),
        longest_gaps=tuple(arm.longest(cpus)),
        throughput=None if first.emulated else throughput.rate(arm),
        sets=arm.sets,
        flags=tuple(dict.fromkeys(notes)),
    )


def as_json(found: Description) -> str:
    """Indented JSON, the schema key first."""
    figures = [
        {"name": one.key.text, "unit": one.unit, "cpu": one.key.cpu, "value": one.value}
        for one in found.figures
    ]
    whole = {"schema": SCHEMA, **encode_fields(found), "figures": figures}
    return json.dumps(whole, indent=2, allow_nan=False) + "\n"


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
    shown = parts_of(found, name)[:MOST_SOURCES]
    rows = tuple((words(row), number(value)) for row, value in shown)
    return Table((title, found.label), rows, wide=True)


def parts_of(found: Description, name: str) -> list[tuple[str, float]]:
    """The rows of a figure over all CPUs, the largest first."""
    parts = [
        (key.row, value)
        for key, value in found.by_key.items()
        if key.name == name and key.row and key.cpu == "all"
    ]
    return sorted(parts, key=lambda part: part[1], reverse=True)


def _per_cpu(found: Description, arm: OsnoiseArm) -> Table:
    worst = sorted(found.cpus, key=lambda cpu: found.get("noise_ppm", cpu) or 0.0, reverse=True)
    left = len(found.cpus) - MOST_CPUS
    note = f"the worst {MOST_CPUS}; {left} more in --json" if left > 0 else ""
    return Table.of(osnoise.rows((arm,), sorted(worst[:MOST_CPUS]), found.sets), note)
