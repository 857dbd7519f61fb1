# SPDX-License-Identifier: GPL-2.0-or-later
"""The report's tables as rows of text, the same for the terminal and for a ticket."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Callable, Optional

from lowlat.claim.build import Report
from lowlat.claim.pair import ComparedFigure
from lowlat.figures import cross_check, levels, work
from lowlat.figures.endpoint import (
    COLUMNS,
    INTERRUPTS,
    POOLED_INTERRUPTS,
    SOFTIRQS,
    SUBJECTS,
    SUMMARY,
    THROUGHPUT,
    in_words,
)
from lowlat.figures.figures import CAUSE_RATES, CAUSES, CLASSES, TOGETHER
from lowlat.figures.measure import Cpu, Endpoint, Key, size
from lowlat.model.cpuset import CpuSet
from lowlat.model.plan import NOISE
from lowlat.present import osnoise
from lowlat.present.osnoise import OsnoiseArm
from lowlat.present.wording import (
    BETTER,
    change,
    interval,
    noise,
    number,
    per,
    probability,
    source,
    values,
)

#: More rows than this do not fit on one screen; the JSON has all of them.
MOST_CPUS = 8
MOST_SOURCES = 6

#: The row above the parts of a figure.
WHOLE = "all of these"

_TESTED = ("95 %", "p")
_TYPICAL = "noise, gaps and delays: a boot's median run"
_ADJUSTED = (
    "the primary endpoint is {}; the p of the others is adjusted; rows without p are untested"
)


@dataclass(frozen=True)
class Table:
    """A header and rows; the first column is text, the others are numbers. ``note`` may be "";
    ``wide`` tables have the same layout, one below the other."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    wide: bool = False

    @classmethod
    def of(cls, rows: Iterable[tuple[str, ...]], note: str = "") -> Table:
        """From the header and the rows."""
        header, *others = [*rows] or [()]
        return cls(header, tuple(others), note)


def with_rows(tables: Iterable[Table]) -> tuple[Table, ...]:
    """The tables that are not empty."""
    return tuple(table for table in tables if table.rows)


def tables(report: Report) -> tuple[Table, ...]:
    """All tables, without empty ones."""
    return with_rows((*figures(report), throughput((report,))))


def figures(report: Report, *, parts: bool = True) -> tuple[Table, ...]:
    """The tables of the noise, without the costs; with ``parts``, causes and interrupts."""
    sources = _by_row(
        report, INTERRUPTS, "interrupts by source, /s", source, whole=POOLED_INTERRUPTS
    )
    softirqs = _by_row(report, SOFTIRQS, "softirqs by kind, /s", str, whole=SOFTIRQS)
    title = "noise by cause, ppm (and /s)"
    causes = _by_row(report, CAUSES, title, str, CAUSE_RATES, whole=CAUSES)
    together = _by_row(report, TOGETHER, "away at the same time, ppm", str)
    made_of = (causes, sources) if parts else ()
    worst = _worst(report)
    told = of_tools(worst, lambda key: _arrow(report.get(*key), 1))
    each = (_per_cpu(report), *told, by_class((report,), worst), longest_gaps((report,)))
    # The time of a piece of work is the mean of the CPUs.
    timed = {e.key: _arrow(e, 1) for e in report.endpoints if e.cpu == "all"}
    means = (e for e in report.endpoints if e.name == work.MEAN and e.cpu == "all")
    tested = {e.row: (interval(e), probability(e.p)) for e in means if e.p is not None}
    worked = Table.of(work.rows(timed, tested), work.NOTE)
    woken = Table.of(osnoise.wakeup_rows((_side(report, 0), _side(report, 1))), osnoise.WAKEUP_NOTE)
    return with_rows((_summary(report), *each, *made_of, softirqs, together, worked, woken))


def _summary(report: Report) -> Table:
    tested = report.primary and report.primary.p is not None and report.primary.name
    return Table(
        (cpus_noun(report.cpus), *_arms(report), *(_TESTED if tested else ())),
        tuple(
            (*_figure(report, e, one.title), *((interval(e), probability(e.p)) if tested else ()))
            for one in with_levels(SUMMARY, (e.key for e in report.endpoints))
            if (e := report.get(*one.key())) is not None
        ),
        note=f"{BETTER}; {_ADJUSTED.format(in_words(tested))}"
        if tested
        else f"{BETTER}; {_TYPICAL}",
        wide=True,
    )


def with_levels(rows: Iterable[Endpoint], keys: Iterable[Key]) -> list[Endpoint]:
    """The rows of a table, those of the levels among the figures too."""
    return sorted((*rows, *levels.shown(keys)), key=lambda one: one.section)


def cpus_noun(cpus: CpuSet) -> str:
    return f"CPU {cpus}" if len(cpus) == 1 else f"CPUs {cpus}"


def _arms(report: Report) -> tuple[str, str, str]:
    return report.first, report.name, "change"


def _figure(report: Report, e: ComparedFigure, title: str) -> tuple[str, str, str, str]:
    """Title, both values and their ratio."""
    if e.unit == "1/s":
        return (f"{title}, {per(e, report)}", *values(e, report), change(e))
    if e.unit == "ppm":
        return title, noise(e.before), noise(e.after), change(e)
    return (title, *values(e, report), change(e))


def by_class(reports: Sequence[Report], cpus: Sequence[Cpu]) -> Table:
    """A row for each CPU and arm, as the kernel's osnoise tracer prints it, if the runs have the
    classes of causes."""
    traced = [one for one in reports if any(e.name == CLASSES for e in one.endpoints)]
    arms = [*(_side(one, 0) for one in traced[:1]), *(_side(one, 1) for one in traced)]
    note = "of all runs together; per boot the number of events, and their total time in ms"
    return Table.of(osnoise.rows(arms, cpus, reports[0].sets), note)


def _side(report: Report, place: int) -> OsnoiseArm:
    figures = {e.key: (e.before, e.after)[place] for e in report.endpoints}
    return OsnoiseArm((report.first, report.name)[place], report.seconds[place], figures)


def longest_gaps(reports: Sequence[Report]) -> Table:
    """The longest gaps of each arm, with their causes in the order in which they began."""
    gaps = dict.fromkeys(gap for report in reports for gap in report.longest_gaps)
    return Table.of(osnoise.gaps(gaps, reports[0].sets))


def _worst(report: Report) -> list[int]:
    """The CPUs for which there is room, the worst of the second arm."""
    primary = report.primary.name if report.primary else ""
    ends = {cpu: report.get(primary, cpu) for cpu in report.cpus}
    cpus = sorted(ends, key=lambda cpu: e.after if (e := ends[cpu]) else 0.0, reverse=True)
    return sorted(cpus[:MOST_CPUS])


def _per_cpu(report: Report) -> Table:
    shown = [one for one in COLUMNS if any(report.get(*one.key(cpu)) for cpu in report.cpus)]
    primary = report.primary.name if report.primary else ""
    kept = _worst(report)
    left = len(report.cpus) - len(kept)
    return Table(
        (
            "CPU",
            *(one.column for one in shown),
            f"change of {SUBJECTS[primary or NOISE].name.lower()}",
        ),
        tuple(
            (
                osnoise.cpu_name(cpu, report.sets),
                *(_arrow(report.get(*one.key(cpu)), size(one.unit)) for one in shown),
                change(e) if (e := report.get(primary, cpu)) else "-",
            )
            for cpu in kept
        ),
        note=f"the worst {MOST_CPUS}; {left} more in --json" if left else "",
    )


def of_tools(cpus: Sequence[Cpu], cell: Callable[[Key], str]) -> Iterator[Table]:
    """What other tools told of each CPU, a table for each tool and part of its times; ``cell`` is a
    figure as text, "-" if it is not known."""
    for tool, part in cross_check.SERIES:
        each = {
            shown: [cell(Key(f"{tool}_{shown}_us", cpu, part)) for cpu in cpus]
            for shown in cross_check.SHOWN
        }
        known = {shown: column for shown, column in each.items() if set(column) != {"-"}}
        if known:
            title = f"CPU: {tool}{f' ({part})' if part else ''}, us"
            lines = zip(map(str, cpus), *known.values())
            yield Table((title, *known), tuple(lines))


def _arrow(endpoint: Optional[ComparedFigure], unit: float) -> str:
    if endpoint is None:
        return "-"
    return f"{number(endpoint.before / unit)} -> {number(endpoint.after / unit)}"


def _by_row(
    report: Report,
    name: str,
    title: str,
    words: Callable[[str], str],
    rates: str = "",
    whole: str = "",
) -> Table:
    """The rows of a figure, the largest first, with their ``rates`` if known, below their
    ``whole``."""
    parts = sorted(parts_of(report, name), key=lambda e: e.before + e.after, reverse=True)
    shown, rest = parts[:MOST_SOURCES], parts[MOST_SOURCES:]
    often = {e.row: e for e in parts_of(report, rates)}
    rows = [(words(e.row), *_both(e, often.get(e.row)), change(e)) for e in shown]
    if shown and (e := report.get(whole)):
        rows.insert(0, (WHOLE, *_both(e, report.get(rates)), change(e)))
    if rest:
        before, after = sum(e.before for e in rest), sum(e.after for e in rest)
        rows.append((f"{len(rest)} more", number(before), number(after), ""))
    note = "of all runs together" if whole else ""
    return Table((title, *_arms(report)), tuple(rows), note, wide=True)


def _both(size: ComparedFigure, rate: Optional[ComparedFigure]) -> tuple[str, str]:
    if rate is None:
        return number(size.before), number(size.after)
    one, other = (
        f"{number(ppm)} ({number(often)})" if ppm or often else "0"
        for ppm, often in ((size.before, rate.before), (size.after, rate.after))
    )
    return one, other


def throughput(reports: Sequence[Report]) -> Table:
    """The loads' throughput, a row for each load of an arm, with the arm's name if needed."""
    emulated = any(report.emulated for report in reports)
    return Table(
        ("throughput of the loads, bogo ops/s", *_arms(reports[0])),
        tuple(
            (
                f"{f'{report.name}: ' if len(reports) > 1 else ''}stress-ng {e.row}",
                *(number(e.before), number(e.after), change(e)),
            )
            for report in reports
            for e in parts_of(report, THROUGHPUT)
        ),
        note="throughput of the emulator by the host's clock: it varies with the host's load"
        if emulated
        else "",
        wide=True,
    )


def parts_of(report: Report, name: str) -> list[ComparedFigure]:
    """The rows of a figure over all CPUs."""
    return [e for e in report.endpoints if e.name == name and e.row and e.cpu == "all"]
