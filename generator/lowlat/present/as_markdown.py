# SPDX-License-Identifier: GPL-2.0-or-later
"""The report for a ticket, as GitHub-flavoured Markdown: the finding, then tables, then notes."""

from collections.abc import Iterator

from lowlat.base.encode import markdown
from lowlat.claim.comparison import Comparison
from lowlat.present import summary
from lowlat.present.tables import Table


def render(comparison: Comparison) -> str:
    """The report of one arm, or of all of them in one table; the first line is the finding."""
    lines = [f"**{markdown(summary.headline(comparison))}**", ""]
    for table in summary.shown(comparison):
        lines += [*ruled(table), ""]
    lines += [f"- **Not in effect:** {markdown(text)}" for text in summary.missing(comparison)]
    notes = *summary.kernels(comparison), *summary.notes(comparison)
    lines += [f"- {markdown(text)}" for text in notes]
    return "\n".join(lines).rstrip() + "\n"


def ruled(table: Table) -> Iterator[str]:
    """The lines of a table."""
    ruler = ("---", *("---:" for _ in table.header[1:]))
    rows = [tuple(map(markdown, row)) for row in (table.header, *table.rows)]
    for row in (rows[0], ruler, *rows[1:]):
        yield f"| {' | '.join(row)} |"
    if table.note:
        yield ""
        yield f"({markdown(table.note)})"
