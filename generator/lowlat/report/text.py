# SPDX-License-Identifier: GPL-2.0-or-later
"""The report for a terminal: the finding first, then aligned tables, then what to know."""

from __future__ import annotations

from collections.abc import Iterator

from lowlat.report.build import Report
from lowlat.report.tables import Table, tables
from lowlat.report.words import headline, plain

_FIRST = 36
_GAP = "  "


def render(report: Report) -> str:
    """The whole report; its first line is the finding."""
    lines = [plain(headline(report))]
    for table in tables(report):
        lines += ["", *_aligned(table)]
    lines += ["", *_missing(report), *_flags(report)]
    return "\n".join(lines).rstrip() + "\n"


def _aligned(table: Table) -> Iterator[str]:
    rows = (table.header, *table.rows)
    widths = [max(len(row[n]) for row in rows) for n in range(len(table.header))]
    narrow = len(widths) == 4
    widths = [max(_FIRST, widths[0]), *(max(12, w) for w in widths[1:])] if narrow else widths
    for row in rows:
        first = row[0].ljust(widths[0])
        yield _GAP.join([first, *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:]))]).rstrip()
    if table.note:
        yield f"({table.note})"


def _missing(report: Report) -> Iterator[str]:
    for missing in report.not_in_effect:
        yield plain(f"Not in effect: {missing.name}: {missing.why}")


def _flags(report: Report) -> Iterator[str]:
    for flag in report.flags:
        yield plain(f"Note: {flag}")
