# SPDX-License-Identifier: GPL-2.0-or-later
"""Histograms of latency in characters: a line for each CPU and arm, all of them to one scale."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

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


def text(arms: Sequence[ViewArm], cpus: CpuSet, *, blocks: bool) -> Iterator[str]:
    """The histograms of these CPUs as lines of text; none where no run has any. ``blocks``: the
    terminal shows block elements, else plain ASCII is used."""
    curves = [
        (f"CPU {cpu}" if arm is arms[0] else "", curve(arm, [cpu], _COARSE))
        for cpu in cpus
        for arm in arms
    ]
    places = [place for _, one in curves for place in one.bins]
    if not places:
        return
    first = min(places) // _COARSE * _COARSE
    shown = range(first, max(*places, first + _COARSE) + 1)
    rates = [rate for _, one in curves for rate in one.bins.values()]
    cpu, name = (max(map(len, words)) for words in zip(*((c, one.name) for c, one in curves)))
    scale = "".join(f"{_mark(place):<{_COARSE}}" for place in shown[::_COARSE])
    wide = max(len(scale), len(shown))
    yield "gaps by their length, how often and how long both logarithmic"
    yield f"{'':{cpu + name + 4}}{scale:{wide}}  longest"
    for number, one in curves:
        drawing = _drawing(one, shown, (min(rates), max(rates)), _BLOCKS if blocks else _ASCII)
        longest = duration(one.longest_ns) if one.longest_ns else "-"
        yield f"{number:{cpu}}  {one.name:{name}}  {drawing:{wide}}  {longest}"


def _drawing(one: Curve, places: Iterable[int], ends: tuple[float, float], steps: str) -> str:
    return "".join(steps[_height(one.bins.get(place, 0.0), ends, len(steps))] for place in places)


def _height(rate: float, ends: tuple[float, float], steps: int) -> int:
    """0 for nothing, else 1 to ``steps`` - 1 by the logarithm."""
    if not rate:
        return 0
    low, high = map(math.log, ends)
    share = (math.log(rate) - low) / (high - low) if high > low else 1.0
    return 1 + round(share * (steps - 2))


def _mark(place: int) -> str:
    return "|" + duration(10.0 ** (place // _COARSE)).replace(" ", "")
