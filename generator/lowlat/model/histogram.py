# SPDX-License-Identifier: GPL-2.0-or-later
"""A histogram as rows of (lower, upper, count), in order: several as one, its percentiles, and the
delays that its gaps cause."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Optional

from lowlat.base.typed_json import GREATEST, Mistyped

Row = tuple[float, float, float]


@dataclass(frozen=True)
class Histogram:
    """Gaps as (lower, upper, count); both limits in ns."""

    rows: tuple[Row, ...] = ()

    @classmethod
    def from_json(cls, value: object) -> "Histogram":
        if not isinstance(value, dict) or value.get("unit") != "ns":
            raise Mistyped("ns is expected", ".unit")
        rows = value.get("counts")
        # Checked in one pass, for there are many thousands of rows.
        if not isinstance(rows, list) or not all(map(_is_row, rows)):
            raise Mistyped("a list of 3 numbers each is expected", ".counts")
        return cls(tuple(map(tuple, rows)))


def _is_row(row: object) -> bool:
    return isinstance(row, list) and len(row) == 3 and all(map(_is_count, row))


def _is_count(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value <= GREATEST  # type: ignore[operator]


def summed(rows: Iterable[Row]) -> tuple[Row, ...]:
    """The rows of several histograms as those of one."""
    counts: dict[tuple[float, float], float] = {}
    for lower, upper, count in rows:
        counts[lower, upper] = counts.get((lower, upper), 0.0) + count
    return tuple((*ends, count) for ends, count in sorted(counts.items()))


def row_at(rows: Iterable[Row], share: float, total: float) -> Optional[Row]:
    """The row that has this share of ``total`` values; None if it lies above the rows, or nothing
    was counted."""
    # A share is rounded up to whole values, with room for rounding errors.
    left = share * total * (1 - 1e-12)
    for row in rows:
        left -= row[2]
        if total and left <= 0:
            return row
    return None


def delay_at(rows: Iterable[Row], beyond_ns: float, longest: float) -> float:
    """The delay in ns that what arrives at any moment exceeds for ``beyond_ns`` of the time: it
    waits for the rest of the gap. ``rows`` are in order."""
    lost = count = 0.0
    for lower, upper, gaps in reversed(tuple(rows)):
        # The time spent waiting longer than d is that of the longer gaps, less d for each of them.
        middle = (lower + upper - 1) / 2
        if lost - count * middle >= beyond_ns:
            break
        lost += middle * gaps
        count += gaps
    return min((lost - beyond_ns) / count, longest) if lost > beyond_ns else 0.0
