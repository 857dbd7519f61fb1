# SPDX-License-Identifier: GPL-2.0-or-later
"""All arms at a glance: each one's ratio to the first with its interval, on a logarithmic axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Optional

from lowlat.report import summary
from lowlat.report.comparison import ArmReport, Comparison
from lowlat.report.wording import change, interval, number
from lowlat.view.plot.axis import Ratio, short
from lowlat.view.plot.canvas import BOTTOM, RIGHT, WIDTH, Canvas
from lowlat.view.plot.figure import Data, Figure

_ROW, _TOP = 34.0, 22.0

#: Between two lines of text.
_LINE = 14.0

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
    def ends(self) -> tuple[float, ...]:
        return tuple(value for value in (self.ratio, self.low, self.high) if value)


def lines(found: Comparison) -> tuple[ForestRow, ...]:
    """A line for each arm, in their order."""
    return tuple(_line(arm, arm.name.removeprefix(f"{found.first}-")) for arm in found.arms)


def _line(arm: ArmReport, label: str) -> ForestRow:
    primary = arm.report.primary
    verdict = arm.report.verdict.replace("-", " ")
    if primary is None:
        return ForestRow(arm.name, label, verdict, "", "", None, None, None)
    low, high = primary.ci95 or (primary.ratio_at_least, None)
    words = change(primary), interval(primary)
    return ForestRow(arm.name, label, verdict, *words, primary.ratio, low, high)


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
    below = 0.0 if all(len(x.label) + len(_finding(x)) < _WIDE for x in drawn) else _LINE
    row = _ROW + below
    canvas = Canvas(f"{title}: {'; '.join(map(_told, drawn))}.", _TOP + len(drawn) * row + BOTTOM)
    across = _scale(drawn, 12.0, WIDTH - RIGHT)
    _axis(canvas, across, found.first)
    for place, line in enumerate(drawn):
        _draw(canvas, line, across, (_TOP + place * row, below))
    caption = (
        f"{what}: right of 1 it is quieter than {found.first}, left of 1 it is noisier. The square "
        "is the ratio, the line its interval (95 %), each arm's own; an arrow is a bound, where "
        "some boots or all counted nothing. The verdicts allow for the number of arms."
    )
    return (Figure(title, caption, canvas.svg(), _data(drawn)),)


def _axis(canvas: Canvas, across: Ratio, first: str) -> None:
    for value in across.ticks():
        x = across.at(value)
        canvas.line(x, _TOP - 6, x, canvas.bottom, "one" if value == 1 else "grid")
        canvas.text(x, canvas.bottom + 14, _times(value), anchor="middle")
    one = across.at(1.0)
    side = "start" if one < WIDTH / 3 else "end" if one > 2 * WIDTH / 3 else "middle"
    canvas.text(one, 11, f"as {first}", anchor=side)
    canvas.text(12, canvas.bottom + 32, "more than it", "name")
    canvas.text(WIDTH - RIGHT, canvas.bottom + 32, "less than it", "name", "end")
    canvas.line(12.0, canvas.bottom, WIDTH - RIGHT, canvas.bottom, "base")


def _draw(canvas: Canvas, line: ForestRow, across: Ratio, place: tuple[float, float]) -> None:
    top, below = place
    y = top + below + 24
    kind = f"verdict {line.verdict.replace(' ', '-')}"
    canvas.text(12, top + 12, clipped(line.label, _WIDE), "name over")
    canvas.text(WIDTH - RIGHT, top + below + 12, _finding(line), "name over", "end")
    if line.low:
        far = across.end if line.high is None else across.at(line.high)
        canvas.line(across.at(line.low), y, far, y, f"interval {kind}")
        if line.high is None:
            canvas.path([(far - 6, y - 4), (far, y), (far - 6, y + 4)], f"arrow {kind}")
        for end in (line.low, *((line.high,) if line.high else ())):
            canvas.line(across.at(end), y - 4, across.at(end), y + 4, f"interval {kind}")
    if line.ratio:
        hint = f"{line.name}: {number(line.ratio)}"
        canvas.rect(across.at(line.ratio) - 3.5, y - 3.5, 7, 7, f"point {kind}", hint)


def clipped(label: str, room: int) -> str:
    """What tells arms apart stands at the end of their names."""
    return label if len(label) <= room else f"…{label[1 - room :]}"


def _finding(line: ForestRow) -> str:
    return f"{line.words}, {line.verdict}" if line.words else line.verdict


def _told(line: ForestRow) -> str:
    between = f", ratio {line.between}" if line.between else ""
    return f"{line.name} {_finding(line)}{between}"


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


def _times(ratio: float) -> str:
    """How far from 1, on either side."""
    return "1" if ratio == 1 else f"{short(float(f'{max(ratio, 1 / ratio):.3g}'))}x"


def _scale_text(across: Ratio) -> str:
    cells = [" "] * (round(across.end) + 7)
    for value in across.ticks():
        written = f"|{_times(value)}"
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
