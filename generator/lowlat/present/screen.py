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

from lowlat.base.terminal import Encoded, bold, colour_wanted, filled, printable
from lowlat.claim.comparison import Comparison
from lowlat.claim.verdict import DESCRIPTIVE, INCREASED, REDUCED, REFUSED, UNCHANGED
from lowlat.model.cpuset import CpuSet
from lowlat.present import as_text, next_steps, summary
from lowlat.present.drawn_arm import common_cpus, drawn, emulated, noisiest
from lowlat.present.offer import Offered, on_any_machine
from lowlat.present.plot import forest_plot, gap_histogram
from lowlat.present.tables import Table

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

#: The lines above the tables, and with those reserved for all below; the number of parts of one arm
#: that are always shown.
_OPENING = 8
_AROUND = 12
_LEAST = 2

#: The style of a line, as rich names it, and its text. The finding's depends on the verdict.
Styled = tuple[str, str]
_FINDING = "finding"

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


def render(comparison: Comparison, offered: Offered = on_any_machine) -> str:
    """The whole report for standard output, be it a terminal or not; ``offered`` as for
    next_steps.steps()."""
    watched = sys.stdout.isatty() or bool(os.environ.get("FORCE_COLOR"))
    if watched and find_spec("rich") is not None and not comparison.described:
        return _rich(comparison, offered)
    above, below = _around(comparison, offered)
    tables = [line for table in summary.shown(comparison) for line in (*as_text.aligned(table), "")]
    charts = () if comparison.described else _charts(comparison)
    lines = [*_unstyled(above), "", *tables, *_unstyled(below), *charts]
    return Encoded("\n".join(lines).rstrip() + "\n")


def _unstyled(lines: Sequence[Styled]) -> Iterator[str]:
    """The lines of plain text: the finding is bold."""
    yield from (bold(line) if style == _FINDING else printable(line) for style, line in lines)


def _charts(comparison: Comparison) -> Iterator[str]:
    lines = [*forest_plot.text(comparison), *_histograms(comparison)]
    yield from ("", *map(printable, lines)) if lines else ()


def _around(comparison: Comparison, offered: Offered) -> tuple[list[Styled], list[Styled]]:
    """The lines above the tables, and those below: the finding, the next step, what was not in
    effect, and notes. What has no room above is below."""
    above = [(_FINDING, line) for line in filled(summary.headline(comparison))]
    for step in next_steps.steps(comparison, offered=offered)[:1]:
        above += [("", line) for line in filled(f"Next: {step.command} ({step.why.rstrip('.:')})")]
    below: list[Styled] = []
    said = [*_notes(comparison)]
    for place, (style, text) in enumerate(said):
        lines = [(style, line) for line in filled(text)]
        last = place == len(said) - 1
        if not below and len(above) + len(lines) + (not last) > _OPENING:
            above.append(("dim", f"Note: {len(said) - place} more below the tables"))
            below = [*lines]
        else:
            (below or above).extend(lines)
    return above, below


def _notes(comparison: Comparison) -> Iterator[Styled]:
    yield from (("red", f"Not in effect: {words}") for words in summary.missing(comparison))
    notes = *summary.kernels(comparison), *summary.notes(comparison)
    yield from (("dim", f"Note: {words}") for words in notes)


def _histograms(comparison: Comparison) -> Iterator[str]:
    shown = CpuSet() if emulated(comparison) else noisiest(comparison, gap_histogram.MOST)
    lines = list(gap_histogram.text(drawn(comparison), shown, blocks=_blocks()))
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


def _rich(comparison: Comparison, offered: Offered) -> str:
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
    above, below = _around(comparison, offered)
    for style, line in above:
        console.print(_line(line, f"bold {colour}".strip() if style == _FINDING else style))
    console.print()
    glance = list(forest_plot.text(comparison, console.width))
    tables = summary.shown(comparison, brief=bool(glance))
    parts = [_table(table, console.width) for table in tables]
    parts[1:1] = [Group("", *map(_line, _histograms(comparison)))]
    if glance:
        parts.insert(0, Group(*map(_line, glance), ""))
    _stack(console, parts, least=1 if glance else _LEAST)
    for style, line in below:
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


def _line(words: str, style: str = "") -> RenderableType:
    from rich.text import Text

    # Text, not rich's markup: a name in brackets stays as it is.
    return Text(printable(words), style=style)
