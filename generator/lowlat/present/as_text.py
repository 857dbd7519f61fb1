# SPDX-License-Identifier: GPL-2.0-or-later
"""A table as text, as wide as the terminal at most."""

from collections.abc import Iterator, Sequence
from itertools import accumulate, zip_longest
from textwrap import wrap

from lowlat.base.terminal import columns, filled, plain
from lowlat.present.tables import Table

#: The least widths of the columns of tables that have the same layout.
_FIRST, _OTHERS = 32, (12, 12)
_GAP = "  "

#: The lengths at which the cells of a table that is too wide may be wrapped.
_CELLS = (24, 18, 16)

#: A blank at which no line ends.
_TIED = "\u00a0"


def aligned(table: Table) -> Iterator[str]:
    """The lines of a table, none longer than columns(). If the table is wider, its cells are
    wrapped, or its last columns follow below, whichever takes fewer lines a column."""
    rows = [tuple(map(plain, row)) for row in (table.header, *table.rows)]
    yield from _fitted(rows, (min(_FIRST, columns() // 2), *_OTHERS) if table.wide else ())
    yield from filled(f"({table.note})") if table.note else ()


def _fitted(rows: Sequence[tuple[str, ...]], least: Sequence[int]) -> list[str]:
    """The lines of a table; ``least`` are the least widths of its first columns."""
    tried = [_laid_out(rows, cell, least) for cell in (columns(), *_CELLS)]
    lines, fit = min(
        tried, key=lambda one: (max(map(len, one[0])) > columns(), len(one[0]) / one[1])
    )
    below = [(row[0], *row[fit:]) for row in rows if any(row[fit:])]
    return [*lines, "", *_fitted(below, least[:1])] if below else lines


def _laid_out(
    rows: Sequence[tuple[str, ...]], cell: int, least: Sequence[int]
) -> tuple[list[str], int]:
    """The lines of the first columns, and their number, with cells of at most so many characters;
    two of them leave the first its room."""
    first = max(cell, columns() - 2 * cell)
    wrapped = [[_wrapped(text, cell if n else first) for n, text in enumerate(row)] for row in rows]
    widths = [max(len(line) for lines in column for line in lines) for column in zip(*wrapped)]
    widths = [max(pair) for pair in zip_longest(widths, least[: len(widths)], fillvalue=0)]
    ends = [*accumulate(width + len(_GAP) for width in widths)]
    fit = max(sum(end - len(_GAP) <= columns() for end in ends), 2)
    result = []
    for row in wrapped:
        for cells in zip_longest(*row[:fit], fillvalue=""):
            others = (text.rjust(width) for text, width in zip(cells[1:], widths[1:]))
            result.append(_GAP.join((cells[0].ljust(widths[0]), *others)).rstrip())
    return result, fit


def _wrapped(text: str, width: int) -> list[str]:
    """The lines of a cell; a percent sign stays with its number."""
    if len(text) <= width:
        return [text]
    return [line.replace(_TIED, " ") for line in wrap(text.replace(" %", f"{_TIED}%"), width)]
