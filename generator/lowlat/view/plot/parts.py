# SPDX-License-Identifier: GPL-2.0-or-later
"""The parts of the noise: a bar for each arm, all on one scale, and a table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Optional

from lowlat.base.terminal import plain
from lowlat.catalogue import remedy
from lowlat.model.cpuset import CpuSet
from lowlat.model.run import Run
from lowlat.report.tables import Table
from lowlat.report.wording import number, source
from lowlat.view.arm import ViewArm
from lowlat.view.plot.axis import END, Linear
from lowlat.view.plot.figure import Cell, Data, Figure

#: The parts that get a colour; all others are added up.
_MOST = 7


@dataclass(frozen=True)
class Part:
    """One source: its name, and its size in each arm."""

    name: str
    sizes: tuple[float, ...]

    @property
    def remedy(self) -> str:
        """The setting that removes the cause ("class: cause"), "" if none is known."""
        kind, _, cause = self.name.partition(": ")
        return remedy(kind, cause) or ""


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


def causes(arms: Sequence[ViewArm], cpus: CpuSet) -> Whole:
    """The noise by traced cause, in ppm of the time, averaged over the CPUs."""
    found = [_mean([_traced(run, cpus) for run in arm.runs]) for arm in arms]
    return _whole("noise by cause", "ppm of the time", arms, found)


def _traced(run: Run, cpus: CpuSet) -> Mapping[str, float]:
    found: dict[str, float] = {}
    for cpu in map(run.cpu, cpus):
        time = max(cpu.runtime_ns - (cpu.dead_ns or 0.0), 1.0) * len(cpus)
        for cause in cpu.causes or ():
            name = plain(f"{cause.kind}: {cause.cause}")
            found[name] = found.get(name, 0.0) + 1e6 * cause.time_ns / time
    return found


def interrupts(arms: Sequence[ViewArm], found: Sequence[Mapping[str, float]]) -> Whole:
    """The interrupts a second, for each arm by their row in /proc/interrupts."""
    named = [{source(row): rate for row, rate in rows.items()} for rows in found]
    return _whole("interrupts by source", "a second", arms, named)


def largest(whole: Whole) -> Optional[str]:
    """The largest part in the first arm, None without parts."""
    return max(whole.parts, key=lambda part: part.sizes[0]).name if whole.parts else None


def _mean(runs: Sequence[Mapping[str, float]]) -> Mapping[str, float]:
    names = {name: None for run in runs for name in run}
    return {name: sum(run.get(name, 0.0) for run in runs) / len(runs) for name in names}


def _whole(
    what: str, unit: str, arms: Sequence[ViewArm], found: Sequence[Mapping[str, float]]
) -> Whole:
    names = {name: None for sizes in found for name, size in sizes.items() if size}
    parts = [Part(name, tuple(sizes.get(name, 0.0) for sizes in found)) for name in names]
    parts.sort(key=lambda part: sum(part.sizes), reverse=True)
    return Whole(what, unit, tuple(arm.name for arm in arms), tuple(parts))


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
    remedies = [part.remedy for part in parts]
    rows = (
        (part.name, *map(number, part.sizes), *([see] if any(remedies) else []))
        for part, see in zip(parts, remedies)
    )
    return Table(("part", *arms, *(["see"] if any(remedies) else [])), tuple(rows))


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
    return [*parts[:_MOST], Part(f"{len(rest)} others", sizes)]


def _data(whole: Whole) -> Data:
    header = ("source", *(f"{name}, {whole.unit}" for name in whole.arms))
    rows: list[list[Cell]] = [
        [part.name, *(float(f"{size:.6g}") for size in part.sizes)] for part in whole.parts
    ]
    return Data(f"{whole.what.replace(' ', '-')}.csv", header, rows)
