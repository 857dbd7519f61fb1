# SPDX-License-Identifier: GPL-2.0-or-later
"""All arms at a glance: each one's ratio to the first with its interval, on a logarithmic axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Optional

from lowlat.report import summary
from lowlat.report.build import Report
from lowlat.report.comparison import Comparison
from lowlat.report.wording import change, interval
from lowlat.view.plot.axis import END, Ratio, short
from lowlat.view.plot.figure import Data, Figure

#: Letters of a line of a drawing; characters of an axis on a terminal, at most and at least.
_WIDE = 48
_CHARACTERS = 40
_FEWEST = 16

#: Between the columns there.
_GAP = "  "


@dataclass(frozen=True)
class ForestRow:
    """One arm: first/arm of the primary figure, None where nothing is left of it or nothing known;
    ``low`` and ``high`` are the ends of the interval, a bound where ``high`` is None. ``label`` is
    the name without that of the first, where it begins with it."""

    name: str
    label: str
    verdict: str
    words: str
    between: str
    ratio: Optional[float]
    low: Optional[float]
    high: Optional[float]

    @property
    def clipped(self) -> str:
        return clipped(self.label, _WIDE)

    @property
    def finding(self) -> str:
        return f"{self.words}, {self.verdict}" if self.words else self.verdict

    @property
    def ends(self) -> tuple[float, ...]:
        return tuple(value for value in (self.ratio, self.low, self.high) if value)


def lines(found: Comparison) -> tuple[ForestRow, ...]:
    """A line for each arm, in their order."""
    return tuple(
        _line(report, report.name.removeprefix(f"{found.first}-")) for report in found.reports
    )


def _line(report: Report, label: str) -> ForestRow:
    primary = report.primary
    verdict = report.verdict.replace("-", " ")
    if primary is None:
        return ForestRow(report.name, label, verdict, "", "", None, None, None)
    low, high = primary.ci95 or (primary.ratio_at_least, None)
    words = change(primary), interval(primary)
    return ForestRow(report.name, label, verdict, *words, primary.ratio, low, high)


def _scale(drawn: Sequence[ForestRow], start: float, end: float) -> Ratio:
    return Ratio.around([value for line in drawn for value in line.ends], start, end)


def figure(found: Comparison) -> tuple[Figure, ...]:
    """The drawing; none where no arm has a ratio."""
    drawn = lines(found)
    if not any(line.ends for line in drawn):
        return ()
    what = f"{summary.subject(found)} of {found.first}, divided by those of each arm"
    title = f"{summary.subject(found)}: how many times less than {found.first}"
    # Where a name and a finding do not fit side by side, they stand one below the other.
    below = any(len(line.label) + len(line.finding) >= _WIDE for line in drawn)
    chart = {
        "label": f"{title}: {'; '.join(map(_told, drawn))}.",
        "across": _scale(drawn, 12.0, END),
        "first": found.first,
        "rows": drawn,
        "below": below,
    }
    caption = (
        f"{what}: right of 1 it is quieter than {found.first}, left of 1 it is noisier. The square "
        "is the ratio, the line its interval (95 %), each arm's own; an arrow is a bound, where "
        "some boots or all counted nothing. The verdicts allow for the number of arms."
    )
    return (Figure("forest", title, caption, chart, _data(drawn)),)


def clipped(label: str, room: int) -> str:
    """What tells arms apart stands at the end of their names."""
    return label if len(label) <= room else f"…{label[1 - room :]}"


def _told(line: ForestRow) -> str:
    between = f", ratio {line.between}" if line.between else ""
    return f"{line.name} {line.finding}{between}"


def _data(drawn: Sequence[ForestRow]) -> Data:
    header = ("arm", "ratio", "95 % from", "95 % to", "verdict")
    known = ((line, (line.ratio, line.low, line.high)) for line in drawn)
    rows = [
        (line.name, *("" if v is None else v for v in values), line.verdict)
        for line, values in known
    ]
    return Data("arms.csv", header, rows)


def text(found: Comparison, width: Optional[int] = None) -> Iterator[str]:
    """The same in characters: the ratio, between the ends of its interval; none where no arm has a
    ratio, or there is but one. In ``width`` columns, where they are given, the axis is shorter and
    long names lose their beginnings."""
    drawn = lines(found)
    if len(drawn) < 2 or not any(line.ends for line in drawn):
        return
    name = max(len(line.label) for line in drawn)
    words = max(len(line.words) for line in drawn)
    room = _CHARACTERS
    if width is not None:
        left = width - words - max(len(line.verdict) for line in drawn) - 3 * len(_GAP)
        room = min(max(left - name, _FEWEST), _CHARACTERS)
        name = max(min(name, left - room), 1)
    across = _scale(drawn, 0, room - 1)
    yield f"how many times less than {found.first} (left of 1: more), and its interval (95 %)"
    yield f"{'':{name}}{_GAP}{_scale_text(across)}"
    for line in drawn:
        label = f"{clipped(line.label, name):{name}}"
        yield _GAP.join((label, _characters(line, across), f"{line.words:{words}}", line.verdict))


def times(ratio: float) -> str:
    """How far from 1, on either arm."""
    return "1" if ratio == 1 else f"{short(float(f'{max(ratio, 1 / ratio):.3g}'))}x"


def _scale_text(across: Ratio) -> str:
    cells = [" "] * (round(across.end) + 7)
    for value in across.ticks():
        written = f"|{times(value)}"
        place = round(across.at(value))
        if not "".join(cells[max(place - 1, 0) : place + len(written)]).strip():
            cells[place : place + len(written)] = written
    return "".join(cells).rstrip()


def _characters(line: ForestRow, across: Ratio) -> str:
    cells = [" "] * (round(across.end) + 1)
    cells[round(across.at(1.0))] = ":"
    if line.low:
        first = round(across.at(line.low))
        last = round(across.end) if line.high is None else round(across.at(line.high))
        cells[first : last + 1] = "-" * (last + 1 - first)
        cells[first], cells[last] = "[", ">" if line.high is None else "]"
    if line.ratio:
        cells[round(across.at(line.ratio))] = "o"
    return "".join(cells)
