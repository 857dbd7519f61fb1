# SPDX-License-Identifier: GPL-2.0-or-later
"""The report as text: the finding first, then tables, then notes; for a terminal, or for a ticket
as GitHub-flavoured Markdown."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Callable

from lowlat.base.encode import markdown
from lowlat.base.terminal import plain
from lowlat.report import summary
from lowlat.report.comparison import Comparison
from lowlat.report.tables import Table

_FIRST = 36
_GAP = "  "


@dataclass(frozen=True)
class Form:
    """The format of each part; {} is a text that ``encode`` made harmless."""

    encode: Callable[[str], str]
    table: Callable[[Table], Iterator[str]]
    finding: str
    missing: str
    note: str


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


def _ruled(table: Table) -> Iterator[str]:
    ruler = ("---", *("---:" for _ in table.header[1:]))
    rows = [tuple(map(markdown, row)) for row in (table.header, *table.rows)]
    for row in (rows[0], ruler, *rows[1:]):
        yield f"| {' | '.join(row)} |"
    if table.note:
        yield ""
        yield f"({markdown(table.note)})"


TEXT = Form(plain, aligned, "{}", "Not in effect: {}", "Note: {}")
MARKDOWN = Form(markdown, _ruled, "**{}**", "- **Not in effect:** {}", "- {}")


def render(comparison: Comparison, form: Form = TEXT) -> str:
    """The report of one arm, or of all of them in one table; the first line is the finding."""
    lines = [form.finding.format(form.encode(summary.headline(comparison))), ""]
    for table in summary.shown(comparison):
        lines += [*form.table(table), ""]
    lines += [form.missing.format(form.encode(text)) for text in summary.missing(comparison)]
    notes = *summary.kernels(comparison), *summary.notes(comparison)
    lines += [form.note.format(form.encode(text)) for text in notes]
    return "\n".join(lines).rstrip() + "\n"
