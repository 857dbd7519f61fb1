# SPDX-License-Identifier: GPL-2.0-or-later
"""The spectrum of the gaps: every comb that was found, at its frequency, with its name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from lowlat.base.terminal import plain
from lowlat.model.cpuset import CpuSet
from lowlat.report.wording import number
from lowlat.view.arm import ViewArm
from lowlat.view.plot.axis import Axis, Log, short
from lowlat.view.plot.canvas import LEFT, RIGHT, TOP, WIDTH, Canvas
from lowlat.view.plot.figure import Data, Figure
from lowlat.view.plot.markup import numbered
from lowlat.view.run_details import RecordedComb

#: Combs with a number of their own; the file has all.
_MOST = 12

#: So many sides are told of one by one.
_FEW = 6


@dataclass(frozen=True)
class ArmComb:
    """A comb on one side: in how many of the runs of its CPUs it was found, how far it stood out in
    the typical one, and how often a second it came there."""

    side: ViewArm
    found: int
    of: int
    power: float
    rate_per_s: float


@dataclass(frozen=True)
class ComparedComb:
    """A comb with what mostly makes it, and its teeth, a side each."""

    frequency_hz: float
    name: str
    cause: str
    teeth: tuple[ArmComb, ...]


def figure(sides: Sequence[ViewArm], cpus: CpuSet) -> tuple[Figure, ...]:
    """One drawing, or none where no comb was found."""
    named = sorted(_named(sides, cpus), key=_strength, reverse=True)
    if not named:
        return ()
    shown = named[:_MOST]
    canvas = Canvas(f"Spectrum of the gaps: {'; '.join(map(_told, shown))}.")
    teeth = [tooth for comb in shown for tooth in comb.teeth]
    upward = Log.around([tooth.power for tooth in teeth], canvas.bottom, TOP)
    across = Log.around([comb.frequency_hz for comb in shown], LEFT, WIDTH - RIGHT)
    canvas.vertical(upward, "stands out (-ln of chance)")
    canvas.horizontal(across, "frequency, Hz")
    for place, comb in enumerate(shown, 1):
        _draw(canvas, comb, place, across, upward)
    canvas.frame()
    drawing = canvas.svg() + numbered(map(_told, shown), "bare")
    left = len(named) - len(shown)
    caption = f"The {len(shown)} strongest; {left} more in the data." if left else ""
    return (Figure("Spectrum of the gaps", caption, drawing, _data(named)),)


def _named(sides: Sequence[ViewArm], cpus: CpuSet) -> Iterator[ComparedComb]:
    every = [(side, comb) for side in sides for comb in _combs(side, cpus)]
    for name in dict.fromkeys(comb.name for _, comb in every):
        alike = [(side, comb) for side, comb in every if comb.name == name]
        causes = [comb.cause for _, comb in alike if comb.cause]
        yield ComparedComb(
            frequency_hz=median(comb.frequency_hz for _, comb in alike),
            name=name,
            cause=max(causes, key=causes.count) if causes else "",
            teeth=tuple(_teeth(sides, alike, cpus)),
        )


def _combs(side: ViewArm, cpus: CpuSet) -> Iterator[RecordedComb]:
    for detail in side.details:
        for cpu in cpus:
            yield from (comb for comb in detail.combs.get(cpu, ()) if comb.frequency_hz > 0)


def _teeth(
    sides: Sequence[ViewArm], alike: Sequence[tuple[ViewArm, RecordedComb]], cpus: CpuSet
) -> Iterator[ArmComb]:
    for side in sides:
        own = [comb for owner, comb in alike if owner is side]
        if own:
            yield ArmComb(
                side=side,
                found=len(own),
                of=sum(cpu in detail.combs for detail in side.details for cpu in cpus),
                power=max(median(comb.power for comb in own), 1.0),
                rate_per_s=fmean(comb.rate_per_s for comb in own),
            )


def _strength(comb: ComparedComb) -> float:
    return max(tooth.power for tooth in comb.teeth)


def _draw(canvas: Canvas, comb: ComparedComb, place: int, across: Log, upward: Axis) -> None:
    x = across.at(comb.frequency_hz)
    for tooth in comb.teeth:
        y = upward.at(tooth.power)
        canvas.line(x, canvas.bottom, x, y, f"stem {tooth.side.kind}")
        hint = f"{tooth.side.name}: {comb.name}"
        canvas.mark(x, y, tooth.side.kind, hint)
    top = min(upward.at(tooth.power) for tooth in comb.teeth)
    canvas.text(x, top - 8, str(place), "name", "middle")


def _told(comb: ComparedComb) -> str:
    sides = ", ".join(map(_found, comb.teeth))
    if len(comb.teeth) > _FEW:
        sides = f"{_found(comb.teeth[0])}, and in {len(comb.teeth) - 1} other arms"
    cause = f", mostly {comb.cause}" if comb.cause else ""
    return plain(f"{short(round(comb.frequency_hz, 3))} Hz, {comb.name}{cause}: {sides}")


def _found(tooth: ArmComb) -> str:
    runs = f"{tooth.found} of {tooth.of} CPU runs"
    return f"{tooth.side.name} in {runs}, {number(tooth.rate_per_s)} a second"


def _data(named: Sequence[ComparedComb]) -> Data:
    rows = [
        (
            *(comb.frequency_hz, comb.name, comb.cause, tooth.side.name),
            *(tooth.found, tooth.of, tooth.power, tooth.rate_per_s),
        )
        for comb in named
        for tooth in comb.teeth
    ]
    header = (
        *("frequency, Hz", "name", "cause", "side"),
        *("CPU runs with it", "CPU runs", "power", "a second"),
    )
    return Data("spectrum.csv", header, rows)
