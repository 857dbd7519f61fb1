# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs as tidy tables for a notebook: one row per observation, the same columns in every row.

from lowlat.report import load

tables = load("runs/stock-1.json", "runs/tuned-1.json")
tables.cpus[0]["noise_ppm"]        # rows are plain dictionaries
tables.frame("histogram")          # a pandas.DataFrame, if pandas is installed
"""

import importlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Callable, Optional, Union

from lowlat.base.errors import Refused
from lowlat.figures.endpoint import ENDPOINTS, OBSERVATIONS
from lowlat.measure.run_file import read_run
from lowlat.model.run import CpuRun, Run

#: Columns of ``runs``.
_RUN = (
    *("run", "label", "started", "boot_id", "kernel", "cmdline", "duration_s", "threshold_ns"),
    *("policy", "emulated", "complete", "valid", "isolated", "machine", "harness"),
)

#: A row's columns are named as in ``lowlat.run/1``.
TableRow = Mapping[str, Union[str, int, float, bool, None]]


@dataclass(frozen=True)
class Tables:
    """Every table has the column ``run``, the file's path; all but ``runs`` have ``cpu`` too.

    ``runs``: a row per run, with label, boot, kernel, command line, times, and its validity.
    ``cpus``: a row per CPU of a run, with every figure of a report (units in the names).
    ``histogram``: gaps by size, ``lower_ns`` and ``upper_ns`` and their ``count``.
    ``interrupts`` and ``softirqs``: a row per source, with its rate ``per_s``.
    ``causes``: the causes of gaps by the kernel's trace, with ``events`` and ``time_ns``.
    ``series``: a row per step of a run (1 s, longer in long runs), ``begin_s`` to ``end_s``:
    ``noise_ns`` lost, ``gaps``, and ``interrupts``, the pace, ``readings_per_ms``, and the
    frequency at its end, ``khz``, None if they are not known.
    ``longest``: a row for each cause of each of the longest gaps, in order.
    ``work``: the time of a piece of each kind of work, with ``mean_ns`` and ``variance_ns2``.
    """

    runs: tuple[TableRow, ...]
    cpus: tuple[TableRow, ...]
    histogram: tuple[TableRow, ...]
    interrupts: tuple[TableRow, ...]
    softirqs: tuple[TableRow, ...]
    causes: tuple[TableRow, ...]
    series: tuple[TableRow, ...]
    longest: tuple[TableRow, ...]
    work: tuple[TableRow, ...]

    def frame(self, name: str) -> Any:
        """One of the tables as a pandas.DataFrame. Raises Refused if there is no such table or
        pandas is not installed."""
        names = [field.name for field in fields(self)]
        if name not in names:
            raise Refused(f"no table {name!r}", hint=f"one of {', '.join(names)}")
        try:
            pandas = importlib.import_module("pandas")
        except ImportError as error:
            hint = "the tables are lists without it"
            raise Refused("pandas is not installed", hint=hint) from error
        return pandas.DataFrame(list(getattr(self, name)))


def load(*paths: Union[str, os.PathLike[str]]) -> Tables:
    """Read runs of ``lowlat-gen measure`` into tables. Raises Refused if a file is missing or is
    another document."""
    runs = [read_run(Path(path)) for path in paths]

    def each(rows: Callable[[Run, CpuRun], Iterable[TableRow]]) -> tuple[TableRow, ...]:
        return tuple(
            {"run": str(run.path), "cpu": cpu.cpu, **row}
            for run in runs
            for cpu in run.cpus
            for row in rows(run, cpu)
        )

    return Tables(
        runs=tuple(map(_run, runs)),
        cpus=each(_cpu),
        histogram=each(_histogram),
        interrupts=each(lambda _, cpu: _rates(cpu.interrupts_per_s)),
        softirqs=each(lambda _, cpu: _rates(cpu.softirqs_per_s)),
        causes=each(_causes),
        series=each(_series),
        longest=each(_longest),
        work=each(_work),
    )


def _run(run: Run) -> TableRow:
    words = {"run": str(run.path), "isolated": str(run.isolated), "machine": run.machine_words}
    return {name: words[name] if name in words else getattr(run, name) for name in _RUN}


def _cpu(_: Run, cpu: CpuRun) -> Iterator[TableRow]:
    every = (*ENDPOINTS, *OBSERVATIONS)
    measures = {measure.key().text: measure.of(cpu) for measure in every if measure.of}
    yield {"runtime_ns": cpu.runtime_ns, **measures}


def _histogram(_: Run, cpu: CpuRun) -> Iterator[TableRow]:
    for lower, upper, count in cpu.histogram.rows:
        yield {"lower_ns": lower, "upper_ns": upper, "count": int(count)}


def _rates(rates: Optional[Mapping[str, float]]) -> Iterator[TableRow]:
    for source, rate in (rates or {}).items():
        if source != "total":
            yield {"source": source, "per_s": rate}


def _causes(_: Run, cpu: CpuRun) -> Iterator[TableRow]:
    for one in cpu.causes or ():
        yield {"class": one.kind, "cause": one.cause, "events": one.events, "time_ns": one.time_ns}


def _longest(_: Run, cpu: CpuRun) -> Iterator[TableRow]:
    for gap in cpu.longest:
        for link in gap.chain:
            yield {
                **{"begin_s": gap.begin_s, "length_ns": gap.length_ns},
                **{"class": link.kind, "cause": link.cause, "time_ns": link.time_ns},
            }


def _work(run: Run, cpu: CpuRun) -> Iterator[TableRow]:
    columns = ("mixed", "mean_ns", "variance_ns2", "p50_ns", "p99_ns", "p999_ns", "max_ns")
    for one in run.work:
        if one.cpu == cpu.cpu:
            yield {"kind": one.kind, **{name: getattr(one, name) for name in columns}}


def _series(run: Run, cpu: CpuRun) -> Iterator[TableRow]:
    columns = ("begin_s", "end_s", "noise_ns", "gaps", "interrupts", "readings_per_ms", "khz")
    if (series := cpu.series) is not None:
        none = (None,) * len(run.ends_s)
        more = (series.interrupts or none, series.readings_per_ms or none, series.khz or none)
        ends = (0.0, *run.ends_s), run.ends_s
        for step in zip(*ends, series.noise_ns, series.gaps, *more):
            yield dict(zip(columns, step))
