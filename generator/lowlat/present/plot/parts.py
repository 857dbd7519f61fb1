# SPDX-License-Identifier: GPL-2.0-or-later
"""The parts of the noise: a bar for each arm, all on one scale, and a table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Callable, Optional

from lowlat.base.terminal import plain
from lowlat.figures.endpoint import INTERRUPTS
from lowlat.figures.figures import CAUSES, NOT_RECORDED
from lowlat.present.plot.axis import END, Linear
from lowlat.present.plot.figure import Cell, Data, Figure
from lowlat.present.tables import Table
from lowlat.present.wording import number, source

#: The parts that get a colour; all others are added up.
_MOST = 7

#: For the figures of a kind: their name, their unit, and the words of a row.
_KINDS: Mapping[str, tuple[str, str, Callable[[str], str]]] = {
    CAUSES: ("noise by cause", "ppm of the time", plain),
    INTERRUPTS: ("interrupts by source", "a second", source),
}


@dataclass(frozen=True)
class Part:
    """One source: its name, its size in each arm, and the setting that removes it, "" if none."""

    name: str
    sizes: tuple[float, ...]
    remedy: str = ""


@dataclass(frozen=True)
class Whole:
    """A sum with its parts, the largest first; ``what`` is its name, ``unit`` that of its sizes."""

    what: str
    unit: str
    arms: tuple[str, ...]
    parts: tuple[Part, ...]

    @property
    def sizes(self) -> tuple[float, ...]:
        return tuple(sum(part.sizes[n] for part in self.parts) for n in range(len(self.arms)))


def whole(kind: str, arms: Mapping[str, Mapping[str, float]], remedies: Mapping[str, str]) -> Whole:
    """The figures of a kind of each arm, by row, with the settings that remove the rows; arms
    without any are left out."""
    what, unit, words = _KINDS[kind]
    sizes = {
        name: {words(row): size for row, size in rows.items()}
        for name, rows in arms.items()
        if rows
    }
    names = {name: None for rows in sizes.values() for name, size in rows.items() if size}
    see = {words(row): name for row, name in remedies.items()}
    parts = [
        Part(name, tuple(rows.get(name, 0.0) for rows in sizes.values()), see.get(name, ""))
        for name in names
    ]
    parts.sort(key=lambda part: sum(part.sizes), reverse=True)
    return Whole(what, unit, tuple(sizes), tuple(parts))


def largest(causes: Mapping[str, float], remedies: Mapping[str, str]) -> Optional[Part]:
    """The largest of an arm's causes, None if it is not known."""
    first = next(iter(whole(CAUSES, {"": causes}, remedies).parts), None)
    return None if first and first.name == ": ".join(NOT_RECORDED) else first


def figures(whole: Whole) -> tuple[Figure, ...]:
    """One drawing; none if no part is known."""
    if not whole.parts:
        return ()
    shown = _shown(whole.parts)
    sizes = [f"{number(size)} {whole.unit}" for size in whole.sizes]
    across = Linear(max(whole.sizes), 4.0, END)
    told = "; ".join(map(" ".join, zip(whole.arms, sizes)))
    title = f"{whole.what.capitalize()}, {whole.unit}"
    chart = {
        "label": f"{title}: {told}.",
        "bars": [
            (name, size, list(_bar(shown, n, across)))
            for n, (name, size) in enumerate(zip(whole.arms, sizes))
        ],
    }
    caption = "All bars are drawn to one scale." if len(whole.arms) > 1 else ""
    return (Figure("parts", title, caption, chart, _data(whole), _key(whole.arms, shown)),)


def _key(arms: Sequence[str], parts: Sequence[Part]) -> Table:
    """The parts with their sizes and, if known, the settings that remove them."""
    see = any(part.remedy for part in parts)
    rows = (
        (part.name, *map(number, part.sizes), *([part.remedy] if see else [])) for part in parts
    )
    return Table(("part", *arms, *(["see"] if see else [])), tuple(rows))


def _bar(
    parts: Sequence[Part], arm: int, across: Linear
) -> Iterator[tuple[Part, float, float, float]]:
    """The parts of a bar, each with its size and its position."""
    begin = 0.0
    for part in parts:
        size = part.sizes[arm]
        yield part, size, across.at(begin), across.at(begin + size)
        begin += size


def _shown(parts: Sequence[Part]) -> Sequence[Part]:
    """The largest parts, and the sum of the others."""
    if len(parts) <= _MOST + 1:
        return parts
    rest = parts[_MOST:]
    sizes = tuple(map(sum, zip(*(part.sizes for part in rest))))
    return [*parts[:_MOST], Part(f"{len(rest)} more", sizes)]


def _data(whole: Whole) -> Data:
    header = ("source", *(f"{name}, {whole.unit}" for name in whole.arms))
    rows: list[list[Cell]] = [
        [part.name, *(float(f"{size:.6g}") for size in part.sizes)] for part in whole.parts
    ]
    return Data(f"{whole.what.replace(' ', '-')}.csv", header, rows)
