# SPDX-License-Identifier: GPL-2.0-or-later
"""The report on one screen: by rich if it is installed and a person looks, else plain text."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from lowlat.base.terminal import Encoded, bold, colour_wanted, printable
from lowlat.model.cpuset import CpuSet
from lowlat.report import as_text, summary
from lowlat.report.comparison import Comparison
from lowlat.report.tables import Table
from lowlat.report.verdict import DESCRIPTIVE, INCREASED, REDUCED, REFUSED, UNCHANGED
from lowlat.view import next_steps
from lowlat.view.arm import common_cpus, drawn, emulated, noisiest
from lowlat.view.plot import forest_plot, histogram

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

#: The lines reserved for the finding and for all below the tables, and the number of parts of one
#: arm that are always shown.
_AROUND = 12
_LEAST = 2

#: The number of notes below the tables.
_NOTES = 6

_COLOURS = {
    REDUCED: "green",
    INCREASED: "red",
    REFUSED: "red",
    UNCHANGED: "yellow",
    DESCRIPTIVE: "yellow",
}

#: The columns between two columns of a table, and the fewest for a name.
_PADDING = 3
_NAME = 12


def render(comparison: Comparison) -> str:
    """The whole report for standard output, be it a terminal or not."""
    if comparison.described:
        return as_text.render(comparison)
    watched = sys.stdout.isatty() or bool(os.environ.get("FORCE_COLOR"))
    if watched and find_spec("rich") is not None:
        return _rich(comparison)
    first, _, rest = as_text.render(comparison).partition("\n")
    charts = [*forest_plot.text(comparison), *_histograms(comparison)]
    lines = map(printable, (*rest.splitlines(), *(["", *charts] if charts else [])))
    return Encoded("\n".join((bold(first), *lines, "")))


def _histograms(comparison: Comparison) -> Iterator[str]:
    shown = CpuSet() if emulated(comparison) else noisiest(comparison, histogram.MOST)
    lines = list(histogram.text(drawn(comparison), shown, blocks=_blocks()))
    yield from lines
    left = len(common_cpus(comparison)) - len(shown)
    if lines and left:
        yield f"{left} more CPUs: --html FILE draws them"


def _blocks() -> bool:
    """Whether the encoding of standard output has block elements."""
    try:
        "\u2581\u2588".encode(sys.stdout.encoding or "ascii")
    except (UnicodeError, LookupError):
        return False
    return True


def _rich(comparison: Comparison) -> str:
    from rich.console import Console, Group

    out = io.StringIO()
    console = Console(
        file=out,
        width=shutil.get_terminal_size((100, 40)).columns,
        force_terminal=True,
        color_system="standard" if colour_wanted(sys.stdout) else None,
        highlight=False,
    )
    colour = _COLOURS[comparison.reports[0].verdict] if not comparison.several else ""
    console.print(_line(summary.headline(comparison), f"bold {colour}".strip()))
    glance = list(forest_plot.text(comparison, console.width))
    tables = summary.shown(comparison, brief=bool(glance))
    parts = [_table(table, console.width) for table in tables]
    parts[1:1] = [Group("", *map(_line, _histograms(comparison)))]
    if glance:
        parts.insert(0, Group(*map(_line, glance), ""))
    _stack(console, parts, least=1 if glance else _LEAST)
    for style, line in _ending(comparison):
        console.print(_line(line, style))
    return Encoded(out.getvalue())


def _stack(console: Console, parts: Sequence[RenderableType], *, least: int) -> None:
    """The parts below each other, as many as fit on a screen, but ``least`` at least."""
    room = float(shutil.get_terminal_size().lines - _AROUND if sys.stdout.isatty() else "inf")
    for number, part in enumerate(parts):
        room -= len(console.render_lines(part))
        if room < 0 and number >= least:
            left = f"{len(parts) - number} of {len(parts)} parts"
            console.print(_line(f"{left} do not fit here: --html FILE has all", "dim"))
            return
        console.print(part)


def _table(table: Table, width: int) -> RenderableType:
    """One row each; if rows are too wide, the first cells lose their beginnings."""
    from rich import box
    from rich.table import Table as Grid

    drawn = Grid(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, caption=table.note or None)
    for place, title in enumerate(table.header):
        drawn.add_column(_line(title), justify="right" if place else "left")
    widths = [max(map(len, column)) for column in zip(table.header, *table.rows)]
    first = max(width - sum(_PADDING + wide for wide in widths[1:]) - _PADDING, _NAME)
    for name, *row in table.rows:
        drawn.add_row(_line(forest_plot.clipped(name, first)), *map(_line, row))
    return drawn


def _ending(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """The settings not in effect, the notes and the next step, each with its style."""
    yield "", ""
    for words in summary.missing(comparison):
        yield "red", f"Not in effect: {words}"
    yield from (("dim", f"Note: {words}") for words in summary.kernels(comparison))
    notes = list(summary.notes(comparison))
    for note in notes[:_NOTES]:
        yield "dim", f"Note: {note}"
    if len(notes) > _NOTES:
        yield "dim", f"Note: {len(notes) - _NOTES} more in --json"
    for step in next_steps.steps(comparison)[:1]:
        yield "", f"Next: {step.command} ({step.why.rstrip('.:')})"


def _line(words: str, style: str = "") -> RenderableType:
    from rich.text import Text

    # Text, not rich's markup: a name in brackets stays as it is.
    return Text(printable(words), style=style)
