# SPDX-License-Identifier: GPL-2.0-or-later
"""All arms on one scale: each boot, the arm's figure, and the interval of the change."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Optional

from lowlat.claim.build import Report
from lowlat.claim.comparison import Comparison
from lowlat.claim.pair import ComparedFigure
from lowlat.claim.verdict import in_words
from lowlat.figures.endpoint import ENDPOINTS
from lowlat.figures.measure import Subject, size
from lowlat.present import summary
from lowlat.present.drawn_arm import common_cpus
from lowlat.present.plot.axis import END, Axis, fitting, short
from lowlat.present.plot.figure import Data, Figure
from lowlat.present.wording import change, number

#: Characters in a line of a drawing; the most and the fewest characters of a terminal's axis.
_WIDE = 50
_CHARACTERS = 40
_FEWEST = 16

#: The gap between columns on a terminal.
_GAP = "  "


@dataclass(frozen=True)
class ForestRow:
    """One arm: its primary figure, that of each boot, and the ends of its interval (the first arm's
    figure divided by the ratio's ends; None if there is none). ``label`` is the name without the
    first arm's name, if it begins with that."""

    name: str
    label: str
    verdict: str
    words: str
    value: float
    boots: tuple[float, ...]
    low: Optional[float] = None
    high: Optional[float] = None

    @property
    def clipped(self) -> str:
        return clipped(self.label, _WIDE)

    @property
    def finding(self) -> str:
        return f"{self.words}, {self.verdict}" if self.verdict else self.words

    @property
    def ends(self) -> tuple[float, ...]:
        given = (self.low, self.high)
        return (self.value, *self.boots, *(end for end in given if end is not None))


def rows(comparison: Comparison) -> tuple[ForestRow, ...]:
    """A row for each arm that has the figure, the first arm first; empty if no other arm has it."""
    known = [(report, report.primary) for report in comparison.reports if report.primary]
    if not known:
        return ()
    _, one = known[0]
    measures = [measure for measure in ENDPOINTS if measure.key() == one.key]
    compared = {comparison.first, *(report.name for report, _ in known)}
    own, cpus = size(one.unit), common_cpus(comparison)
    boots = {
        arm.name: tuple(v / own for v in arm.values(cpus, measures).get(one.key, ()))
        for arm in comparison.arms
        if arm.name in compared
    }
    begin = one.before / own
    name = comparison.first
    first = ForestRow(name, name, "", number(begin), begin, boots[name])
    return (first, *(_row(name, report, end, boots[report.name]) for report, end in known))


def _row(
    first: str, report: Report, primary: ComparedFigure, boots: tuple[float, ...]
) -> ForestRow:
    low, high = primary.ci95 or (primary.ratio_at_least, None)
    before, after = (value / size(primary.unit) for value in (primary.before, primary.after))
    return ForestRow(
        name=report.name,
        label=report.name.removeprefix(f"{first}-"),
        verdict=in_words(report.verdict),
        words=f"{number(after)}, {change(primary)}",
        value=after,
        boots=boots,
        low=(before / high if high else 0.0) if low else None,
        high=before / low if low else None,
    )


def _scale(drawn: Sequence[ForestRow], start: float, end: float) -> Axis:
    return fitting([value for row in drawn for value in row.ends], start, end)


def figure(comparison: Comparison) -> tuple[Figure, ...]:
    """The drawing; none if no arm can be compared."""
    drawn = rows(comparison)
    of = summary.subject(comparison)
    return _figure(f"{of.name}, {of.unit}", of.unit, drawn, _caption(drawn)) if drawn else ()


def of_cpus(values: Mapping[int, float], of: Subject) -> tuple[Figure, ...]:
    """One arm by itself, with a row for each CPU."""
    named = ((f"CPU {cpu}", value) for cpu, value in values.items())
    drawn = [ForestRow(name, name, "", number(value), value, ()) for name, value in named]
    return _figure(f"{of.name}, {of.unit}", of.unit, drawn, "")


def of_hosts(named: Iterable[tuple[str, Report]]) -> tuple[Figure, ...]:
    """Each host's after/before with its interval, a row each if known; all begin at 1."""
    known = [(name, report, report.primary) for name, report in named if report.primary]
    others = [_of_host(name, report, end) for name, report, end in known if end.ratio]
    drawn = [ForestRow("before", "before", "", "1", 1.0, ()), *others]
    caption = "A square is a host, its bar the 95 % interval of its own change."
    title, unit = "Each host beside itself", "after / before"
    return _figure(title, unit, drawn, caption) if others else ()


def _of_host(name: str, report: Report, primary: ComparedFigure) -> ForestRow:
    row = _row("", report, primary, ())
    scale = size(primary.unit) / primary.before
    ends = (None if end is None else end * scale for end in (row.low, row.high))
    words = change(primary)
    return ForestRow(name, name, row.verdict, words, row.value * scale, (), *ends)


def _figure(title: str, unit: str, drawn: Sequence[ForestRow], caption: str) -> tuple[Figure, ...]:
    told = "; ".join(f"{row.name} {row.finding}" for row in drawn)
    chart = {
        "label": f"{title}: {told}.",
        "across": _scale(drawn, 12.0, END),
        "unit": unit,
        "rows": drawn,
        # If a name and a finding do not fit side by side, they stand one below the other.
        "below": any(len(row.label) + len(row.finding) >= _WIDE for row in drawn),
        # Arms are compared with the first one; CPUs are not compared.
        "compared": bool(caption),
    }
    return (Figure("forest", title, caption, chart, _data(drawn, unit)),)


def _caption(drawn: Sequence[ForestRow]) -> str:
    first = drawn[0].name
    words = [
        "A dot is a boot, the thin line reaches from the least to the greatest, a square is all "
        f"boots of an arm; the dashed line is {first}."
    ]
    if any(row.low is not None for row in drawn):
        words.append(f"The bar is the 95 % interval of the change, seen from {first}.")
    if len(drawn) > 2:
        words.append("The verdicts allow for the number of arms, the intervals do not.")
    return " ".join(words)


def clipped(label: str, room: int) -> str:
    """The label cut at its beginning, since names of arms differ at their ends."""
    return label if len(label) <= room else f"…{label[1 - room :]}"


def _data(drawn: Sequence[ForestRow], unit: str) -> Data:
    header = ("arm", unit, "95 % from", "95 % to", "verdict", "boots")
    rows = [
        (
            *(row.name, row.value, *("" if end is None else end for end in (row.low, row.high))),
            *(row.verdict, " ".join(f"{boot:.6g}" for boot in row.boots)),
        )
        for row in drawn
    ]
    return Data("arms.csv", header, rows)


def text(comparison: Comparison, width: Optional[int] = None) -> Iterator[str]:
    """The drawing of at least two compared arms in characters. If ``width`` (columns) is given, the
    axis shrinks to fit and long names lose their beginnings."""
    drawn = rows(comparison)
    if len(drawn) < 3:
        return
    name, words, verdict = (
        max(map(len, column)) for column in zip(*((r.label, r.words, r.verdict) for r in drawn))
    )
    room = _CHARACTERS
    if width is not None:
        left = width - words - verdict - 3 * len(_GAP)
        room = min(max(left - name, _FEWEST), _CHARACTERS)
        name = max(min(name, left - room), 1)
    across = _scale(drawn, 0, room - 1)
    of = summary.subject(comparison)
    yield f"{of.name}, {of.unit}: boots (.), all of them (o), interval of the change []"
    yield f"{' ' * name}{_GAP}{_scale_text(across)}"
    for row in drawn:
        label = clipped(row.label, name).ljust(name)
        line = _GAP.join((label, _characters(row, across), row.words.ljust(words), row.verdict))
        yield line.rstrip()


def _scale_text(across: Axis) -> str:
    cells = [" "] * (round(across.end) + 7)
    for value in across.ticks():
        written = f"|{short(value)}"
        place = round(across.at(value))
        if not "".join(cells[max(place - 1, 0) : place + len(written)]).strip():
            cells[place : place + len(written)] = written
    return "".join(cells).rstrip()


def _characters(row: ForestRow, across: Axis) -> str:
    cells = [" "] * (round(across.end) + 1)
    if row.low is not None and row.high is not None:
        first, last = round(across.at(row.low)), round(across.at(row.high))
        cells[first : last + 1] = "-" * (last + 1 - first)
        cells[first], cells[last] = "[", "]"
    for boot in row.boots:
        place = round(across.at(boot))
        cells[place] = "." if cells[place] in " -" else cells[place]
    cells[round(across.at(row.value))] = "o"
    return "".join(cells)
