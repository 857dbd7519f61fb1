# SPDX-License-Identifier: GPL-2.0-or-later
"""What the noise is made of, as stacked bars: the whole to scale, and each side's own parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Optional

from markupsafe import Markup

from lowlat.base.terminal import plain
from lowlat.model.cpuset import CpuSet
from lowlat.model.run import Run
from lowlat.report.comparison import Comparison
from lowlat.report.figures import INTERRUPTS
from lowlat.report.tables import parts_of
from lowlat.report.wording import number, source
from lowlat.view.arm import ViewArm
from lowlat.view.plot.axis import Linear, short
from lowlat.view.plot.canvas import LEFT, RIGHT, WIDTH, Canvas
from lowlat.view.plot.figure import Cell, Data, Figure
from lowlat.view.plot.markup import numbered

#: Parts with a colour of their own; the others are added up.
_MOST = 7

_BAR, _GAP, _TOP = 34.0, 26.0, 30.0

#: Of more sides than this the bars are lower, and the sizes stand in the table only.
_FEW = 6
_LOW = 14.0


@dataclass(frozen=True)
class Part:
    """One source: its name, and its size on each side."""

    name: str
    sizes: tuple[float, ...]


@dataclass(frozen=True)
class Stack:
    """Parts of a whole; ``what`` names it and ``unit`` its sizes."""

    what: str
    unit: str
    names: tuple[str, ...]
    parts: tuple[Part, ...]

    @property
    def wholes(self) -> tuple[float, ...]:
        return tuple(sum(part.sizes[n] for part in self.parts) for n in range(len(self.names)))


def causes(sides: Sequence[ViewArm], cpus: CpuSet) -> Stack:
    """The noise by the cause that was traced, in ppm of the time, the mean of the CPUs."""
    found = [_mean([_traced(run, cpus) for run in side.runs]) for side in sides]
    return _stack("noise by cause", "ppm of the time", sides, found)


def _traced(run: Run, cpus: CpuSet) -> Mapping[str, float]:
    found: dict[str, float] = {}
    for cpu in map(run.cpu, cpus):
        time = max(cpu.runtime_ns - (cpu.dead_ns or 0.0), 1.0) * len(cpus)
        for cause in cpu.causes:
            name = plain(f"{cause.kind}: {cause.cause}")
            found[name] = found.get(name, 0.0) + 1e6 * cause.time_ns / time
    return found


def largest(stack: Stack, side: int) -> Optional[str]:
    """The part that is the largest on a side, None where that side has nothing."""
    parts = [part for part in stack.parts if part.sizes[side]]
    return max(parts, key=lambda part: part.sizes[side]).name if parts else None


def _mean(runs: Sequence[Mapping[str, float]]) -> Mapping[str, float]:
    names = {name: None for run in runs for name in run}
    return {name: sum(run.get(name, 0.0) for run in runs) / len(runs) for name in names}


def interrupts(found: Comparison, sides: Sequence[ViewArm]) -> Stack:
    """The interrupts by the row of /proc/interrupts that counted them, a second."""
    rows = [list(parts_of(arm.report, INTERRUPTS)) for arm in found.arms]
    first = {source(row.name): row.before for arm in reversed(rows) for row in arm}
    others = ({source(row.name): row.after for row in arm} for arm in rows)
    return _stack("interrupts by source", "a second", sides, [first, *others])


def _stack(
    what: str, unit: str, sides: Sequence[ViewArm], found: Sequence[Mapping[str, float]]
) -> Stack:
    names = {name: None for sizes in found for name in sizes}
    parts = [Part(name, tuple(sizes.get(name, 0.0) for sizes in found)) for name in names]
    parts = sorted(
        (p for p in parts if any(p.sizes)), key=lambda part: sum(part.sizes), reverse=True
    )
    return Stack(what, unit, tuple(side.name for side in sides), tuple(parts))


def figures(stack: Stack) -> tuple[Figure, ...]:
    """Two drawings of one stack; none where nothing is known."""
    if not any(stack.wholes):
        return ()
    data = _data(stack)
    scale = [max(stack.wholes)] * len(stack.names)
    shown = _shown(stack.parts)
    what = stack.what.capitalize()
    told = f"{what}: {'; '.join(_told(stack, n) for n in range(len(stack.names)))}."
    caption = "All bars to one scale."
    shares = "Each bar stretched to its own whole: what is left after, enlarged."
    return (
        Figure(f"{what}, {stack.unit}", caption, _drawing(told, stack, shown, scale), data),
        Figure(f"{what}, shares", shares, _drawing(told, stack, shown, stack.wholes), data),
    )


def _told(stack: Stack, side: int) -> str:
    return f"{stack.names[side]} {number(stack.wholes[side])} {stack.unit}"


def _shown(parts: Sequence[Part]) -> Sequence[Part]:
    """The largest parts, and the sum of the others."""
    if len(parts) <= _MOST + 1:
        return parts
    rest = parts[_MOST:]
    sizes = tuple(map(sum, zip(*(part.sizes for part in rest))))
    return [*parts[:_MOST], Part(f"{len(rest)} others", sizes)]


def _drawing(told: str, stack: Stack, shown: Sequence[Part], wholes: Sequence[float]) -> Markup:
    rows = len(stack.names)
    height = _BAR if rows <= _FEW else _LOW
    canvas = Canvas(told, _TOP + rows * (height + _GAP) - 6)
    for side, name in enumerate(stack.names):
        y = _TOP + side * (height + _GAP)
        canvas.text(4, y - 6, f"{name}: {number(stack.wholes[side])} {stack.unit}", "name")
        across = Linear(wholes[side] or 1.0, 4.0, WIDTH - RIGHT)
        _bar(canvas, across, (y, height), [(part, part.sizes[side]) for part in shown])
    return canvas.svg() + numbered(map(_named, shown), "part{}")


def _bar(
    canvas: Canvas,
    across: Linear,
    upright: tuple[float, float],
    sizes: Iterable[tuple[Part, float]],
) -> None:
    y, height = upright
    canvas.rect(across.start, y, across.end - across.start, height, "trough")
    begin = 0.0
    for place, (part, size) in enumerate(sizes, 1):
        left, right = across.at(begin), across.at(begin + size)
        if size:
            hint = f"{part.name}: {number(size)}"
            canvas.rect(left, y, max(right - left, 0.5), height, f"part part{place}", hint)
        if right - left > LEFT / 3:
            canvas.text((left + right) / 2, y + height / 2 + 4, str(place), "inside", "middle")
        begin += size


def _named(part: Part) -> str:
    if len(part.sizes) > _FEW:
        return part.name
    sizes = (short(float(f"{size:.3g}")) for size in part.sizes)
    return f"{part.name}: {' → '.join(sizes)}"


def _data(stack: Stack) -> Data:
    header = ("source", *(f"{name}, {stack.unit}" for name in stack.names))
    rows: list[list[Cell]] = [
        [part.name, *(float(f"{size:.6g}") for size in part.sizes)] for part in stack.parts
    ]
    return Data(f"{stack.what.replace(' ', '-')}.csv", header, rows)
