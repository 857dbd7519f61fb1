# SPDX-License-Identifier: GPL-2.0-or-later
"""Latency histograms in the usual form: gap counts over gap lengths, both logarithmic.

Counts are per hour of measured time, so that runs of different lengths can be overlaid. In
characters, each CPU and arm gets one line, all on one scale.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Optional

from lowlat.model.cpuset import CpuSet
from lowlat.present.drawn_arm import ViewArm
from lowlat.present.plot.axis import END, FLOOR, LEFT, TOP, Log, duration, short
from lowlat.present.plot.figure import Data, Figure

#: Bins per decade in a drawing.
FINE = 20

_HOUR_NS = 3600e9

#: By bin number, counted from 1 ns, the gaps per hour.
Bins = Mapping[int, float]


@dataclass(frozen=True)
class Curve:
    """The gaps of one arm on some CPUs; ``longest_ns`` is None if there was no gap."""

    name: str
    kind: str
    bins: Bins
    longest_ns: Optional[float]


def curve(arm: ViewArm, cpus: Iterable[int], fine: int = FINE) -> Curve:
    """The gaps of an arm's runs, in bins of 1/``fine`` decade."""
    cpu_runs = [run.cpu(cpu) for run in arm.runs for cpu in cpus]
    hours = max(sum(cpu.runtime_ns for cpu in cpu_runs), 1.0) / _HOUR_NS
    bins: dict[int, float] = {}
    for lower, upper, count in (row for cpu in cpu_runs for row in cpu.histogram.rows):
        if count:
            place = _bin(lower, upper, fine)
            bins[place] = bins.get(place, 0.0) + count / hours
    longest = max((cpu.max_ns for cpu in cpu_runs if cpu.max_ns), default=None)
    return Curve(arm.name, arm.kind, dict(sorted(bins.items())), longest)


def _bin(lower: float, upper: float, fine: int) -> int:
    middle = (lower + max(upper, lower)) / 2
    return math.floor(fine * math.log10(max(middle, 1.0)))


def edges(place: int, fine: int = FINE) -> tuple[float, float]:
    """The lower and upper end of a bin in ns."""
    return 10.0 ** (place / fine), 10.0 ** ((place + 1) / fine)


def figures(arms: Sequence[ViewArm], cpus: CpuSet) -> tuple[Figure, ...]:
    """A drawing for each CPU, all with the same axes; none if no run has a histogram."""
    drawn = {n: [curve(arm, [n]) for arm in arms] for n in cpus}
    every = [one for curves in drawn.values() for one in curves if one.bins]
    if not every:
        return ()
    lowest = min(run.threshold_ns for arm in arms for run in arm.runs)
    places = [place for one in every for place in one.bins]
    ends = [lowest, *(edge for place in (min(places), max(places)) for edge in edges(place))]
    ends += [one.longest_ns for one in every if one.longest_ns]
    across = Log.around(ends, LEFT, END)
    rates = [rate for one in every for rate in one.bins.values()]
    upward = Log.around([0.0, *rates], FLOOR, TOP)
    return tuple(_figure(cpu, curves, across, upward) for cpu, curves in drawn.items())


def _figure(cpu: int, curves: Sequence[Curve], across: Log, upward: Log) -> Figure:
    told = "; ".join(map(_told, curves))
    chart = {
        "label": f"Histogram of CPU {cpu}: {told}.",
        "across": across,
        "upward": upward,
        "curves": [(one, list(_outline(one, across, upward))) for one in curves],
    }
    return Figure("histogram", f"CPU {cpu}", told, chart, _data(f"cpu{cpu}", curves))


def _told(one: Curve) -> str:
    if not one.bins:
        return f"{one.name} no gap"
    longest = f", the longest {duration(one.longest_ns)}" if one.longest_ns else ""
    return f"{one.name} {short(round(sum(one.bins.values())))} gaps an hour{longest}"


def _outline(one: Curve, across: Log, upward: Log) -> Iterable[tuple[float, float]]:
    """Steps along the tops of the bins, down to zero at empty bins."""
    if not one.bins:
        return
    first, last = min(one.bins), max(one.bins)
    yield across.at(edges(first)[0]), upward.at(0)
    for place in range(first, last + 1):
        height = upward.at(one.bins.get(place, 0.0))
        yield from ((across.at(edge), height) for edge in edges(place))
    yield across.at(edges(last)[1]), upward.at(0)


def _data(name: str, curves: Sequence[Curve]) -> Data:
    places = sorted({place for one in curves for place in one.bins})
    values = ((*edges(place), *(one.bins.get(place, 0.0) for one in curves)) for place in places)
    rows = [[float(f"{value:.5g}") for value in row] for row in values]
    header = ("from, ns", "to, ns", *(f"{one.name}, gaps an hour" for one in curves))
    return Data(f"histogram-{name}.csv", header, rows)


#: Bins per decade in characters.
_COARSE = 6

_BLOCKS = " ▁▂▃▄▅▆▇█"
_ASCII = " .:-=+*%#"

#: The CPUs that fit on a screen.
MOST = 8


def text(arms: Sequence[ViewArm], cpus: CpuSet, *, blocks: bool) -> Iterator[str]:
    """The histograms of these CPUs as lines of text; none if no run has one. ``blocks``: the
    terminal can show block elements; otherwise ASCII is used."""
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
    yield "gaps by length; rate and length are logarithmic"
    yield f"{' ' * (cpu + name + 4)}{scale.ljust(wide)}  longest"
    steps, ends = _BLOCKS if blocks else _ASCII, (min(rates), max(rates))
    for number, one in curves:
        heights = (_height(one.bins.get(place, 0.0), ends, len(steps)) for place in shown)
        drawing = "".join(steps[height] for height in heights)
        longest = duration(one.longest_ns) if one.longest_ns else "-"
        yield f"{number.ljust(cpu)}  {one.name.ljust(name)}  {drawing.ljust(wide)}  {longest}"


def _height(rate: float, ends: tuple[float, float], steps: int) -> int:
    """0 for no gaps, else 1 to ``steps`` - 1 on a logarithmic scale."""
    if not rate:
        return 0
    low, high = map(math.log, ends)
    share = (math.log(rate) - low) / (high - low) if high > low else 1.0
    return 1 + round(share * (steps - 2))


def _mark(place: int) -> str:
    return "|" + duration(10.0 ** (place // _COARSE)).replace(" ", "")
