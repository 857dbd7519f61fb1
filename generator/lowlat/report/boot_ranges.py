# SPDX-License-Identifier: GPL-2.0-or-later
"""The noise of each set-up with the range of its boots, and how much its seconds differ."""

from collections.abc import Iterator, Sequence

from lowlat.model.endpoint import NOISE
from lowlat.report.build import Report
from lowlat.report.endpoint import SPREAD
from lowlat.report.pair import ComparedFigure
from lowlat.report.wording import number

#: The parts per million in a percent.
_PERCENT = 1e4


def rows(reports: Sequence[Report]) -> Iterator[tuple[str, ...]]:
    """The header, then a row for each arm that has the figure, if boots differ in some arm."""
    yield "noise, % of the time", "mean of boots", "least", "greatest", "sd of a second"
    known = [(report, e) for report in reports if (e := report.get(NOISE)) and e.ranges]
    sides = (
        [(known[0][0].first, *known[0], 0), *((r.name, r, e, 1) for r, e in known)] if known else []
    )
    if any(low < high for _, _, e, place in sides for low, high in [_range(e, place)]):
        yield from (_row(*side) for side in sides)


def _row(name: str, report: Report, noise: ComparedFigure, place: int) -> tuple[str, ...]:
    spread = report.get(SPREAD.name)
    figures = ((noise.before, noise.after)[place], *_range(noise, place))
    differs = number((spread.before, spread.after)[place] / _PERCENT) if spread else "-"
    return (name, *(number(one / _PERCENT) for one in figures), differs)


def _range(noise: ComparedFigure, place: int) -> tuple[float, float]:
    return noise.ranges[place] if noise.ranges else (0.0, 0.0)
