# SPDX-License-Identifier: GPL-2.0-or-later
"""A table of wrapped text, a column for each tool."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

WIDTH = 28
HEAD = 24


def table(columns: Mapping[str, Mapping[str, str]]) -> str:
    """Rows appear in the order in which the columns first name them."""
    rows = dict.fromkeys(row for column in columns.values() for row in column)
    lines = [_line("", list(columns))]
    for row in rows:
        lines += _row(row, [column.get(row, "-") for column in columns.values()])
    return "\n".join(lines)


def _row(head: str, cells: Sequence[str]) -> list[str]:
    wrapped = [textwrap.wrap(cell, WIDTH - 2) for cell in cells]
    height = max(map(len, wrapped))
    padded = [[*cell, *[""] * (height - len(cell))] for cell in wrapped]
    return [_line("" if at else head, [cell[at] for cell in padded]) for at in range(height)]


def _line(head: str, cells: Sequence[str]) -> str:
    return (f"{head:{HEAD}}" + "".join(f"{cell:{WIDTH}}" for cell in cells)).rstrip()
