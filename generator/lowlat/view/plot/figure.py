# SPDX-License-Identifier: GPL-2.0-or-later
"""A drawing with what belongs to it: its title, a sentence, and its data as a table and a file."""

import base64
import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Optional, Union

from lowlat.base import encode
from lowlat.report.tables import Table

Cell = Union[str, int, float]

#: Rows of data that a page shows; the file holds all of them.
_SHOWN = 60


@dataclass(frozen=True)
class Data:
    """Rows of texts and numbers below a header; ``name`` becomes the file's name."""

    name: str
    header: tuple[str, ...]
    rows: Sequence[Sequence[Cell]]

    @property
    def shown(self) -> tuple[tuple[str, ...], ...]:
        """The first rows as texts for the page."""
        return tuple(tuple(_text(cell) for cell in row) for row in self.rows[:_SHOWN])

    @property
    def hidden(self) -> int:
        """How many rows are in the file only."""
        return max(len(self.rows) - _SHOWN, 0)

    @property
    def link(self) -> str:
        """The CSV file as an address of its own, so that a page alone can hand it out."""
        encoded = base64.b64encode(csv_text(self.header, self.rows).encode())
        return f"data:text/csv;charset=utf-8;base64,{encoded.decode()}"


@dataclass(frozen=True)
class Figure:
    """One drawing of a section: ``chart`` has what the macro of this ``kind`` (charts.html.j2)
    draws, and as ``label`` what it shows to those who cannot see it. ``key`` tells what its
    numbered parts are, a row each."""

    kind: str
    title: str
    caption: str
    chart: Mapping[str, object]
    data: Data
    key: Optional[Table] = None


def csv_text(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """The rows as a CSV file (RFC 4180)."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(header)
    writer.writerows([encode.cell(cell) for cell in row] for row in rows)
    return out.getvalue()


def _text(cell: Cell) -> str:
    return f"{cell:.6g}" if isinstance(cell, float) else str(cell)
