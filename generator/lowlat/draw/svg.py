# SPDX-License-Identifier: GPL-2.0-or-later
"""The picture of a machine as SVG, for a document: every core a tile, every part with a title."""

import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lowlat.base import encode, resources
from lowlat.draw.picture import Cell, MachinePart, Picture
from lowlat.draw.text import NOUNS, absent_lines, device_lines, more, names, runs, summary
from lowlat.model.cpuset import CpuSet

WIDTH = 960

_PAD = 12
_GAP = 10
_LINE = 17
_NARROW = 380
_THREAD = (30, 24)
_MINI = 11

#: No font is measured: this is the mean letter width of a wide font (DejaVu Sans).
_LETTER = 12 * 0.58

#: The longest CPU list below a row, and of a note in a narrow box, in characters.
_MORE = 72
_LEAST = 36

#: Above this number of cores in one row, cores become small tiles without numbers; the numbers
#: stand below.
_MANY = 160


#: The legend of tiles with numbers, and of those without.
_TILES = {
    False: "a tile is a core with the numbers of its hardware threads",
    True: "a small tile is a core; the numbers stand under the tiles",
}


@dataclass(frozen=True)
class _Block:
    """Markup and its size; the origin is its upper left corner."""

    width: float
    height: float
    markup: str


def svg(picture: Picture) -> str:
    """The SVG document, with a title and a description for screen readers."""
    room = WIDTH - 2 * _PAD
    parts = [_text_line(_heading(picture), "head", 24)]
    parts += _notes(picture.shared)
    parts += [_flow([_part(package, 0, room) for package in picture.packages], room)]
    parts += _notes(device_lines(picture.devices))
    parts += _notes(absent_lines(picture, 120))
    parts.append(_legend(picture))
    page = _stack(parts)
    width, height = page.width + 2 * _PAD, page.height + 2 * _PAD
    # Isolated and housekeeping tiles differ in brightness, so they differ in print without colour.
    # Panels have their own background; that of the page may be light or dark.
    style = resources.template("draw/machine.css")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" role="img" aria-labelledby="title description">\n'
        f'<title id="title">{encode.markup(_heading(picture))}</title>\n'
        f'<desc id="description">{encode.markup(_description(picture))}</desc>\n'
        f"<style>\n{style}</style>\n"
        f'<rect class="page" x=".5" y=".5" width="{width - 1:g}" height="{height - 1:g}" rx="8"/>\n'
        f"{_moved(page, _PAD, _PAD)}</svg>\n"
    )


def _heading(picture: Picture) -> str:
    return f"{picture.title}: {'isolated and housekeeping CPUs' if picture.roles else 'CPUs'}"


def _description(picture: Picture) -> str:
    cells = [cell for row in picture.rows() for cell in row]
    found = []
    for role in ("isolated", "housekeeping", ""):
        cpus = CpuSet.of(cpu for cell in cells if cell.role == role for cpu in cell.cpus.ids)
        if cpus:
            found.append(f"{role or 'online'}: CPU {cpus}")
    return "Drawn cores, " + "; ".join(found)


# ----------------------------------------------------------------- the parts


def _part(part: MachinePart, depth: int, room: float) -> _Block:
    """A package, node, cache or cluster with its content. Clusters, and nodes and caches without a
    title, have no panel."""
    panel = depth == 0 or bool(part.title) and depth < len(NOUNS) - 1
    inner = room - 2 * _PAD if panel else room
    heading = "name" if depth < 2 else "note"
    blocks = [_text_line(part.title, heading)] if part.title else []
    blocks += [_flow([_part(one, depth + 1, inner) for one in part.parts], inner)]
    blocks += [_row(part.cells, inner)] if part.cells else []
    wide = max([_NARROW / 2, *(block.width for block in blocks)])
    blocks += _notes(more(part, NOUNS[depth], max(int(wide / _LETTER), _LEAST)), wide)
    blocks += _notes(map(_by_words, device_lines(part.devices)), wide)
    whole = _stack(block for block in blocks if block.width)
    if not panel:
        return whole
    width, height = whole.width + 2 * _PAD, whole.height + 2 * _PAD
    frame = _rect(0, 0, width, height, NOUNS[depth], 6)
    return _Block(width, height, frame + _moved(whole, _PAD, _PAD))


def _row(cells: Sequence[Cell], room: float) -> _Block:
    if len(cells) > _MANY:
        drawn = ((one, _rect(0, 0, _MINI, _MINI, one.role or "core", 2)) for one in cells)
        small = [_Block(_MINI, _MINI, _hinted(*one)) for one in drawn]
        shown = _flow(small, min(room, 32 * (_MINI + 3)), 3)
        return _stack([shown, *_notes(summary(run, _MORE) for run in runs(cells))])
    tiles = [_tile(cell) for cell in cells]
    widest = max(tile.width for tile in tiles) + 4
    # A row of few cores is narrow, so that another package fits beside it; lines are equally long.
    fitting = (_NARROW if len(tiles) <= 16 else room) // widest
    lines = math.ceil(len(tiles) / max(fitting, 1))
    return _flow(tiles, math.ceil(len(tiles) / lines) * widest, 4)


def _tile(cell: Cell) -> _Block:
    width, height = _THREAD
    if max(cell.cpus.ids) > 999:
        width += 6
    columns = min(len(cell.cpus), 4)
    rows = math.ceil(len(cell.cpus) / columns)
    markup = _rect(0, 0, columns * width, rows * height, cell.role or "core", 4)
    kind = "number light" if cell.role == "isolated" else "number"
    for position, cpu in enumerate(cell.cpus):
        row, column = divmod(position, columns)
        x, y = (column + 0.5) * width, (row + 0.5) * height + 4
        markup += f'<text class="{kind}" x="{x:g}" y="{y:g}">{cpu}</text>'
    return _Block(columns * width, rows * height, _hinted(cell, markup))


def _hinted(cell: Cell, markup: str) -> str:
    role = f", {cell.role}" if cell.role else ""
    return f"<g><title>Core of CPU {names(cell.cpus)}{role}</title>{markup}</g>"


def _notes(lines: Iterable[str], room: float = WIDTH) -> list[_Block]:
    """Notes in lines of about this width, so that they widen no box."""
    fitting = int(room / _LETTER)
    broken = (textwrap.wrap(line, fitting, break_long_words=False) for line in lines)
    return [_text_line(line, "note") for lines in broken for line in lines]


def _by_words(line: str) -> str:
    """The line of a device, to be broken between its words of two blanks only."""
    return "  ".join(word.replace(" ", "\xa0") for word in line.split("  "))


def _legend(picture: Picture) -> _Block:
    kinds = ("isolated", "housekeeping") if picture.roles else ("core",)
    blocks = []
    for kind in kinds:
        text = _text_line(f"{kind} core" if picture.roles else kind, "note")
        tile = _rect(0, 2, 22, 13, kind, 3)
        blocks.append(_Block(text.width + 30, _LINE, tile + _moved(text, 28, 0)))
    sizes = {len(row) > _MANY for row in picture.rows()}
    blocks += _notes(_TILES[many] for many in sorted(sizes))
    return _flow(blocks, WIDTH - 2 * _PAD, 18)


# -------------------------------------------------------------------- layout


def _text_line(text: str, kind: str, height: float = _LINE) -> _Block:
    letter = 17 * 0.64 if kind == "head" else _LETTER
    most = int((WIDTH - 6 * _PAD) / letter)
    shown = text if len(text) <= most else f"{text[: most - 1]}…"
    markup = f'<text class="{kind}" x="0" y="{height - 5:g}">{encode.markup(shown)}</text>'
    return _Block(len(shown) * letter, height, markup)


def _stack(parts: Iterable[_Block]) -> _Block:
    """The blocks one below the other: with no room, _flow() puts each on its own line."""
    return _flow(parts, 0, 5)


def _flow(blocks: Iterable[_Block], room: float, gap: float = _GAP) -> _Block:
    """The blocks side by side, in as many lines as the room needs."""
    x = y = width = line = 0.0
    markup = ""
    for block in blocks:
        if x and x + block.width > room:
            x, y, line = 0.0, y + line + gap, 0.0
        markup += _moved(block, x, y)
        width, line = max(width, x + block.width), max(line, block.height)
        x += block.width + gap
    return _Block(width, y + line, markup)


def _moved(block: _Block, x: float, y: float) -> str:
    return f'<g transform="translate({x:g} {y:g})">{block.markup}</g>\n'


def _rect(x: float, y: float, width: float, height: float, kind: str, radius: int) -> str:
    return (
        f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" '
        f'rx="{radius}"/>'
    )
