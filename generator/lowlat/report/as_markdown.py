# SPDX-License-Identifier: GPL-2.0-or-later
"""The report for a ticket: GitHub-flavoured Markdown."""

from collections.abc import Iterator

from lowlat.base.encode import markdown
from lowlat.report import description, summary
from lowlat.report.comparison import Comparison
from lowlat.report.description import Description
from lowlat.report.tables import Table


def described(found: Description) -> str:
    """Runs by themselves, in the same form."""
    lines = [f"**{markdown(description.headline(found))}**", ""]
    for table in description.tables(found):
        lines += [*_table(table), ""]
    lines += [f"- {markdown(text)}" for text in found.flags]
    return "\n".join(lines).rstrip() + "\n"


def render(found: Comparison) -> str:
    """The report of one arm, or all of them in one table; the first line is the finding."""
    lines = [f"**{markdown(summary.headline(found))}**", ""]
    for table in summary.shown(found):
        lines += [*_table(table), ""]
    lines += [f"- **Not in effect:** {markdown(text)}" for text in summary.missing(found)]
    lines += [f"- {markdown(text)}" for text in summary.notes(found)]
    return "\n".join(lines).rstrip() + "\n"


def _table(table: Table) -> Iterator[str]:
    yield _row(table.header)
    yield _row(("---", *("---:" for _ in table.header[1:])), escape=False)
    for row in table.rows:
        yield _row(row)
    if table.note:
        yield ""
        yield f"({markdown(table.note)})"


def _row(cells: tuple[str, ...], *, escape: bool = True) -> str:
    return f"| {' | '.join(markdown(cell) if escape else cell for cell in cells)} |"
