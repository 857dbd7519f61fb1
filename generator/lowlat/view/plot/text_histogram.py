# SPDX-License-Identifier: GPL-2.0-or-later
"""Histograms of latency in characters: a line for each CPU and arm, all of them to one scale."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lowlat.model.cpuset import CpuSet
from lowlat.view.arm import ViewArm
from lowlat.view.plot.axis import duration
from lowlat.view.plot.histogram import Curve, curve

#: Bins of a decade.
_COARSE = 6

_BLOCKS = " ▁▂▃▄▅▆▇█"
_ASCII = " .:-=+*%#"

#: CPUs that fit on a screen.
MOST = 8


@dataclass(frozen=True)
class HistogramRow:
    """One row: its CPU ("" below the first arm), its arm, the histogram and the longest gap."""

    cpu: str
    arm: ViewArm
    drawing: str
    longest: str


@dataclass(frozen=True)
class Chart:
    """Rows of equal length with the scale above them; ``left`` CPUs are not among them."""

    scale: str
    lines: tuple[HistogramRow, ...]
    left: int


def chart(arms: Sequence[ViewArm], cpus: CpuSet, left: int, *, blocks: bool) -> Chart:
    """The histograms of these CPUs, beside which there are ``left`` others; without lines where no
    run has any. ``blocks``: the terminal shows block elements, else plain ASCII is used."""
    curves = [
        (f"CPU {cpu}" if arm is arms[0] else "", arm, curve(arm, [cpu], _COARSE))
        for cpu in cpus
        for arm in arms
    ]
    places = [place for _, _, one in curves for place in one.bins]
    if not places:
        return Chart("", (), 0)
    first = min(places) // _COARSE * _COARSE
    last = max(max(places), first + _COARSE)
    rates = [rate for _, _, one in curves for rate in one.bins.values()]
    steps = _BLOCKS if blocks else _ASCII
    lines = (
        HistogramRow(
            cpu=cpu,
            arm=arm,
            drawing=_drawing(one, range(first, last + 1), (min(rates), max(rates)), steps),
            longest=duration(one.longest_ns) if one.longest_ns else "-",
        )
        for cpu, arm, one in curves
    )
    return Chart(_scale(first, last), tuple(lines), left)


def _drawing(one: Curve, places: Iterable[int], ends: tuple[float, float], steps: str) -> str:
    return "".join(steps[_height(one.bins.get(place, 0.0), ends, len(steps))] for place in places)


def _height(rate: float, ends: tuple[float, float], steps: int) -> int:
    """0 for nothing, else 1 to ``steps`` - 1 by the logarithm."""
    if not rate:
        return 0
    low, high = map(math.log, ends)
    share = (math.log(rate) - low) / (high - low) if high > low else 1.0
    return 1 + round(share * (steps - 2))


def _scale(first: int, last: int) -> str:
    """The decades, each where its first bin is drawn."""
    marks = range(first, last + 1, _COARSE)
    return "".join(f"{_mark(place):<{_COARSE}}" for place in marks).rstrip()


def _mark(place: int) -> str:
    return "|" + duration(10.0 ** (place // _COARSE)).replace(" ", "")


def text(found: Chart) -> Iterator[str]:
    """The chart as lines of text; none where it has none."""
    if not found.lines:
        return
    cpu, name = (max(map(len, words)) for words in zip(*((x.cpu, x.arm.name) for x in found.lines)))
    wide = max(len(found.scale), *(len(line.drawing) for line in found.lines))
    yield "gaps by their length, how often and how long both logarithmic"
    yield f"{'':{cpu + name + 4}}{found.scale:{wide}}  longest"
    for line in found.lines:
        yield f"{line.cpu:{cpu}}  {line.arm.name:{name}}  {line.drawing:{wide}}  {line.longest}"
    if found.left:
        yield others(found)


def others(found: Chart) -> str:
    """Where the histograms of the other CPUs are; "" where there are none."""
    return f"{found.left} more CPUs: --html FILE draws them" if found.left else ""
