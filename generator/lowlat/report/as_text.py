# SPDX-License-Identifier: GPL-2.0-or-later
"""The report for a terminal: the finding first, then aligned tables, then what to know."""

from collections.abc import Iterator

from lowlat.base.terminal import plain
from lowlat.report import description, summary
from lowlat.report.comparison import Comparison
from lowlat.report.description import Description
from lowlat.report.tables import Table

_FIRST = 36
_GAP = "  "


def described(found: Description) -> str:
    """Runs by themselves, in the same form."""
    lines = [plain(description.headline(found)), ""]
    for table in description.tables(found):
        lines += [*aligned(table), ""]
    lines += [plain(f"Note: {text}") for text in found.flags]
    return "\n".join(lines).rstrip() + "\n"


def render(found: Comparison) -> str:
    """The report of one arm, or all of them in one table; the first line is the finding."""
    lines = [plain(summary.headline(found)), ""]
    for table in summary.shown(found):
        lines += [*aligned(table), ""]
    lines += [plain(f"Not in effect: {text}") for text in summary.missing(found)]
    lines += [plain(f"Note: {text}") for text in summary.notes(found)]
    return "\n".join(lines).rstrip() + "\n"


def aligned(table: Table) -> Iterator[str]:
    """The lines of a table."""
    rows = [tuple(map(plain, row)) for row in (table.header, *table.rows)]
    widths = [max(len(row[n]) for row in rows) for n in range(len(table.header))]
    if table.wide:
        widths = [max(_FIRST, widths[0]), *(max(12, w) for w in widths[1:3]), *widths[3:]]
    for row in rows:
        first = row[0].ljust(widths[0])
        yield _GAP.join([first, *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:]))]).rstrip()
    if table.note:
        yield f"({plain(table.note)})"
