# SPDX-License-Identifier: GPL-2.0-or-later
"""What the noise is made of, as stacked bars: the whole to scale, and each arm's own parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Optional

from lowlat.base.terminal import plain
from lowlat.model.cpuset import CpuSet
from lowlat.model.run import Run
from lowlat.report.comparison import Comparison
from lowlat.report.figures import INTERRUPTS
from lowlat.report.tables import parts_of
from lowlat.report.wording import number, source
from lowlat.view.arm import ViewArm
from lowlat.view.plot.axis import END, Linear, short
from lowlat.view.plot.figure import Cell, Data, Figure

#: Parts with a colour of their own; the others are added up.
_MOST = 7

#: Of more arms than this the bars are lower, and the sizes stand in the table only.
_FEW = 6


@dataclass(frozen=True)
class Part:
    """One source: its name, and its size on each arm."""

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


def causes(arms: Sequence[ViewArm], cpus: CpuSet) -> Stack:
    """The noise by the cause that was traced, in ppm of the time, the mean of the CPUs."""
    found = [_mean([_traced(run, cpus) for run in arm.runs]) for arm in arms]
    return _stack("noise by cause", "ppm of the time", arms, found)


def _traced(run: Run, cpus: CpuSet) -> Mapping[str, float]:
    found: dict[str, float] = {}
    for cpu in map(run.cpu, cpus):
        time = max(cpu.runtime_ns - (cpu.dead_ns or 0.0), 1.0) * len(cpus)
        for cause in cpu.causes:
            name = plain(f"{cause.kind}: {cause.cause}")
            found[name] = found.get(name, 0.0) + 1e6 * cause.time_ns / time
    return found


def largest(stack: Stack) -> Optional[str]:
    """The part that is the largest of the first arm, None where it has nothing."""
    return max(stack.parts, key=lambda part: part.sizes[0]).name if stack.parts else None


def _mean(runs: Sequence[Mapping[str, float]]) -> Mapping[str, float]:
    names = {name: None for run in runs for name in run}
    return {name: sum(run.get(name, 0.0) for run in runs) / len(runs) for name in names}


def interrupts(found: Comparison, arms: Sequence[ViewArm]) -> Stack:
    """The interrupts by the row of /proc/interrupts that counted them, a second."""
    rows = [list(parts_of(report, INTERRUPTS)) for report in found.reports]
    first = {source(row.name): row.before for arm in reversed(rows) for row in arm}
    others = ({source(row.name): row.after for row in arm} for arm in rows)
    return _stack("interrupts by source", "a second", arms, [first, *others])


def _stack(
    what: str, unit: str, arms: Sequence[ViewArm], found: Sequence[Mapping[str, float]]
) -> Stack:
    names = {name: None for sizes in found for name in sizes}
    parts = [Part(name, tuple(sizes.get(name, 0.0) for sizes in found)) for name in names]
    parts = sorted(
        (p for p in parts if any(p.sizes)), key=lambda part: sum(part.sizes), reverse=True
    )
    return Stack(what, unit, tuple(arm.name for arm in arms), tuple(parts))


def figures(stack: Stack) -> tuple[Figure, ...]:
    """Two drawings of one stack; none where nothing is known."""
    if not any(stack.wholes):
        return ()
    what, data = stack.what.capitalize(), _data(stack)
    shares = "Each bar stretched to its own whole: what is left after, enlarged."
    return tuple(
        Figure("stacked_bars", f"{what}, {kind}", caption, _chart(stack, scale), data)
        for kind, caption, scale in (
            (stack.unit, "All bars to one scale.", [max(stack.wholes)] * len(stack.names)),
            ("shares", shares, stack.wholes),
        )
    )


def _chart(stack: Stack, scale: Sequence[float]) -> dict[str, object]:
    shown = _shown(stack.parts)
    sizes = [f"{number(whole)} {stack.unit}" for whole in stack.wholes]
    bars = (list(_bar(shown, n, whole)) for n, whole in enumerate(scale))
    return {
        "label": f"{stack.what.capitalize()}: {'; '.join(map(' '.join, zip(stack.names, sizes)))}.",
        "bars": list(zip(stack.names, sizes, bars)),
        "low": len(stack.names) > _FEW,
        "parts": [_named(part) for part in shown],
    }


def _bar(
    parts: Sequence[Part], arm: int, whole: float
) -> Iterator[tuple[Part, float, float, float]]:
    """The parts of a bar, each with its size and where it lies."""
    across = Linear(whole or 1.0, 4.0, END)
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
    return [*parts[:_MOST], Part(f"{len(rest)} others", sizes)]


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
