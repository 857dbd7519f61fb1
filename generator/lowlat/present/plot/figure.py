# SPDX-License-Identifier: GPL-2.0-or-later
"""A drawing with its title, a sentence, and its data as a table and a file."""

import base64
import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Optional, Union

from lowlat.base import encode
from lowlat.present.tables import Table

Cell = Union[str, int, float, None]

#: The rows of data on a page; the file has all.
_SHOWN = 60


@dataclass(frozen=True)
class Data:
    """Rows of texts and numbers below a header; the file takes its name from ``name``."""

    name: str
    header: tuple[str, ...]
    rows: Sequence[Sequence[Cell]]

    @property
    def shown(self) -> tuple[tuple[str, ...], ...]:
        """The first rows as texts for the page."""
        return tuple(tuple(_text(cell) for cell in row) for row in self.rows[:_SHOWN])

    @property
    def hidden(self) -> int:
        """The number of rows that only the file has."""
        return max(len(self.rows) - _SHOWN, 0)

    @property
    def link(self) -> str:
        """The CSV file as a data: address, so that a page can offer it without other files."""
        encoded = base64.b64encode(csv_text(self.header, self.rows).encode())
        return f"data:text/csv;charset=utf-8;base64,{encoded.decode()}"


@dataclass(frozen=True)
class Figure:
    """One drawing of a section: ``chart`` is the input of the macro of this ``kind``
    (charts.html.j2), with a ``label`` for screen readers. ``key`` explains its numbered parts, a
    row each."""

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
