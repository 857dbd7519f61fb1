# SPDX-License-Identifier: GPL-2.0-or-later
"""The summary of all arms: for one arm its report, for several one table, in which the first arm is
the reference of the others; for an arm by itself its figures."""

from collections.abc import Iterator, Sequence

from lowlat.claim import limits, requirement
from lowlat.claim.build import Report
from lowlat.claim.comparison import Comparison
from lowlat.claim.description import describe
from lowlat.claim.pair import ComparedFigure
from lowlat.claim.verdict import INCREASED, REDUCED, in_words
from lowlat.figures.endpoint import SPREAD, SUBJECTS
from lowlat.figures.measure import Subject
from lowlat.model.plan import NOISE
from lowlat.present import arm_tables, limit_words, wording
from lowlat.present.tables import Table, by_class, longest_gaps, parts_of, tables, with_rows
from lowlat.present.wording import change, interval, noise, number, per, probability, values

#: Up to so many arms are named in a sentence; more are only counted.
_FEW = 4

#: The columns of the table beside a chart, which shows the change and the verdict.
_BRIEF = (0, 2, 4, 5)

#: The parts per million in a percent.
_PERCENT = 1e4


def headline(comparison: Comparison) -> str:
    """The finding in one sentence."""
    if comparison.described:
        return "{} ({}).".format(*arm_tables.finding(comparison.described))
    if not comparison.several:
        return wording.headline(comparison.reports[0])
    few = len(comparison.reports) <= _FEW
    told = map(_told, comparison.reports) if few else _counted(comparison)
    return f"{subject(comparison).name} against {comparison.first}: {', '.join(told)}."


def subject(comparison: Comparison) -> Subject:
    """The subject of the verdicts."""
    known = (report.primary.name for report in comparison.reports if report.primary)
    return SUBJECTS[next(known, NOISE)]


def _told(report: Report) -> str:
    words = f"{report.name} {in_words(report.verdict)}"
    primary = report.primary
    if primary is None or report.verdict not in (REDUCED, INCREASED):
        return words
    return f"{words} ({change(primary)})"


def _counted(comparison: Comparison) -> Iterator[str]:
    """The number of arms with each verdict, and their names if they are few."""
    verdicts: dict[str, list[str]] = {}
    for report in comparison.reports:
        verdicts.setdefault(report.verdict, []).append(report.name)
    for word, names in verdicts.items():
        which = f" ({', '.join(names)})" if len(names) <= _FEW else ""
        yield f"{word.replace('-', ' ')} in {len(names)} of {len(comparison.reports)} arms{which}"


def shown(comparison: Comparison, *, brief: bool = False) -> tuple[Table, ...]:
    """All tables of one arm, or the common ones of several, below that of the limits."""
    return (*asked(comparison), *_shown(comparison, brief=brief))


def asked(comparison: Comparison) -> tuple[Table, ...]:
    """The table of the limits, if some were asked for."""
    return with_rows([Table.of(limit_words.rows(comparison.limits), _sources(comparison))])


def _sources(comparison: Comparison) -> str:
    """What the public limits among those of the comparison ask for, and where that is published."""
    names = dict.fromkeys(one.limit for one in comparison.limits if one.limit in limits.PRESETS)
    known = (limits.PRESETS[name] for name in names)
    return "; ".join(f"{one.name}: {one.words}; {one.source}" for one in known)


def _shown(comparison: Comparison, *, brief: bool) -> tuple[Table, ...]:
    if comparison.described:
        return arm_tables.tables(comparison.described)
    if not comparison.several:
        return tables(comparison.reports[0])
    whole = table(comparison)
    ranges = Table.of(boot_range_rows(comparison.reports))
    others = with_rows(
        (ranges, by_class(comparison.reports, ("all",)), longest_gaps(comparison.reports))
    )
    if not brief:
        return whole, *others
    rows = (tuple(row[place] for place in _BRIEF) for row in (whole.header, *whole.rows))
    return Table.of(rows, whole.note), *others


def table(comparison: Comparison) -> Table:
    """A row for each arm: boots, the primary endpoint, its ratio, interval, p and the verdict."""
    figure = subject(comparison).column
    return Table(
        (comparison.first, "boots", figure, "change", "95 %", "p", "verdict"),
        tuple(_row(report) for report in comparison.reports),
        note=f"each arm against the first; {wording.BETTER}; p is adjusted for the number of arms, "
        "intervals are not: one that excludes 1 may be no finding",
    )


def _row(report: Report) -> tuple[str, ...]:
    boots = "{} / {}".format(*report.boots)
    primary = report.primary
    if primary is None:
        return report.name, boots, "-", "-", "", "", in_words(report.verdict)
    figure = f"{noise(primary.before)} -> {noise(primary.after)}"
    if primary.name != NOISE:
        figure = f"{' -> '.join(values(primary, report))} {per(primary, report).strip()}"
    words = change(primary), interval(primary), probability(primary.p)
    return report.name, boots, figure, *words, in_words(report.verdict)


def notes(comparison: Comparison) -> Iterator[str]:
    """Notes on the arms that the headline lacks; the same note on several arms is one sentence."""
    yield from limit_words.told(comparison.limits)
    yield from requirement.told(comparison.gates)
    if comparison.described:
        yield from comparison.described.flags
    flags: dict[str, list[str]] = {}
    for report in comparison.reports:
        told = comparison.several and report.verdict not in (REDUCED, INCREASED)
        why = [f"{in_words(report.verdict)}: {report.why}"] if told else []
        for flag in (*why, *report.flags):
            if comparison.several or flag not in report.why:
                flags.setdefault(flag, []).append(report.name)
    for flag, names in flags.items():
        everywhere = len(names) == len(comparison.reports)
        yield flag if everywhere else f"{', '.join(names)}: {flag}"


def parts(comparison: Comparison, name: str, kind: str) -> dict[str, float]:
    """The rows of a figure of an arm over all CPUs: as compared or, if the other arm
    lacks them, of this arm alone."""
    compared = {
        row.row: row.before if name == comparison.first else row.after
        for report in reversed(comparison.reports)
        for row in parts_of(report, kind)
        if name in (comparison.first, report.name)
    }
    own = next(arm for arm in comparison.arms if arm.name == name)
    return compared or (comparison.described or describe(own)).parts(kind)


def kernels(comparison: Comparison) -> Iterator[str]:
    """The common kernel of all arms, or the kernel of each arm."""
    told = dict.fromkeys(arm.kernels for arm in comparison.arms if arm.kernels)
    each = (f"{arm.kernels} in {arm.name}" for arm in comparison.arms if arm.kernels)
    yield from told if len(told) < 2 else each


def missing(comparison: Comparison) -> Iterator[str]:
    """The settings that were not in effect; with several arms, also in which."""
    lost: dict[str, list[str]] = {}
    for report in comparison.reports:
        for item in report.not_in_effect:
            lost.setdefault(f"{item.name}: {item.why}", []).append(report.name)
    for words, names in lost.items():
        yield words if not comparison.several else f"{', '.join(names)}: {words}"


def boot_range_rows(reports: Sequence[Report]) -> Iterator[tuple[str, ...]]:
    """The noise of each set-up with the range of its boots, and how much its seconds differ: the
    header, then a row for each arm that has the figure, if boots differ in some arm."""
    yield "noise, % of the time", "mean of boots", "least", "greatest", "sd of a second"
    known = [(report, e) for report in reports if (e := report.get(NOISE)) and e.ranges]
    sides = (
        [(known[0][0].first, *known[0], 0), *((r.name, r, e, 1) for r, e in known)] if known else []
    )
    if any(low < high for _, _, e, place in sides for low, high in [_boot_range(e, place)]):
        yield from (_boot_range_row(*side) for side in sides)


def _boot_range_row(
    name: str, report: Report, noise: ComparedFigure, place: int
) -> tuple[str, ...]:
    spread = report.get(SPREAD.name)
    figures = ((noise.before, noise.after)[place], *_boot_range(noise, place))
    differs = number((spread.before, spread.after)[place] / _PERCENT) if spread else "-"
    return (name, *(number(one / _PERCENT) for one in figures), differs)


def _boot_range(noise: ComparedFigure, place: int) -> tuple[float, float]:
    return noise.ranges[place] if noise.ranges else (0.0, 0.0)
