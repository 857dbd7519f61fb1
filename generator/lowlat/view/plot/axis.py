# SPDX-License-Identifier: GPL-2.0-or-later
"""Axes: where a value lies in a drawing, and which values are written beside it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Optional, Union

from lowlat.report.wording import number

#: A drawing of the size of a telephone's screen: what is readable there is readable elsewhere. And
#: the room for the axes' numbers and names.
WIDTH, HEIGHT = 360.0, 240.0
LEFT, RIGHT, TOP, BOTTOM = 46.0, 12.0, 30.0, 40.0

#: Where a drawing's axes end, and where the one below lies.
END, FLOOR = WIDTH - RIGHT, HEIGHT - BOTTOM

_UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns"))

#: Values further apart than this are drawn on a logarithmic axis.
_WIDE = 15.0

#: The part of a logarithmic axis that is zero's where there is one.
_ZERO = 0.1

#: More decades than this are labelled every other one.
_MANY = 6


@dataclass(frozen=True)
class Linear:
    """From zero to ``high``, drawn from ``start`` to ``end`` (pixels)."""

    high: float
    start: float
    end: float

    #: Nothing parts zero from the other values.
    gap = None

    def at(self, value: float) -> float:
        return self.start + (self.end - self.start) * min(max(value / self.high, 0.0), 1.0)

    def ticks(self) -> tuple[float, ...]:
        """Three to six round values."""
        step = 10.0 ** math.floor(math.log10(self.high / 2))
        step *= next(m for m in (1, 2, 2.5, 5, 10) if self.high / (step * m) <= 5)
        return tuple(step * n for n in range(int(self.high / step + 1e-9) + 1))


@dataclass(frozen=True)
class Log:
    """Whole decades from ``low`` to ``high``. Zero, which no decade holds, has a place of its own
    at ``start`` where a value is zero; the decades begin at ``begin`` then."""

    low: float
    high: float
    start: float
    begin: float
    end: float

    @classmethod
    def around(cls, values: Iterable[float], start: float, end: float) -> Log:
        """The decades that hold all positive values."""
        values = tuple(values)
        known = [value for value in values if value > 0] or [1.0]
        low = math.floor(math.log10(min(known)) + 1e-9)
        high = max(math.ceil(math.log10(max(known)) - 1e-9), low + 1)
        begin = start + _ZERO * (end - start) * any(value <= 0 for value in values)
        return cls(10.0**low, 10.0**high, start, begin, end)

    @property
    def gap(self) -> Optional[float]:
        """The middle between zero and the first decade, None where zero has no place."""
        return (self.start + self.begin) / 2 if self.begin != self.start else None

    def at(self, value: float) -> float:
        if value <= 0:
            return self.start
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.begin + (self.end - self.begin) * min(max(share, 0.0), 1.0)

    def ticks(self) -> tuple[float, ...]:
        first, last = round(math.log10(self.low)), round(math.log10(self.high))
        decades = range(first, last + 1, 2 if last - first > _MANY else 1)
        return (*([0.0] if self.gap is not None else ()), *(10.0**n for n in decades))


Axis = Union[Linear, Log]


def fitting(values: Iterable[float], start: float, end: float) -> Axis:
    """Logarithmic where values lie far apart, else linear from zero."""
    values = tuple(values)
    known = [value for value in values if value > 0]
    if known and max(known) > _WIDE * min(known):
        return Log.around(values, start, end)
    return Linear(1.08 * max(known) if known else 1.0, start, end)


def duration(nanoseconds: float) -> str:
    """A time in words: "100 ns", "2.1 ms"."""
    size, unit = next((u for u in _UNITS if nanoseconds >= u[0]), _UNITS[-1])
    return f"{nanoseconds / size:.3g} {unit}"


def short(value: float) -> str:
    """A number for an axis: "0.01", "250", "10k", "1M"."""
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= size:
            return f"{value / min(size, 1e3 if unit == 'k' else size):.4g}{unit}"
    return f"{value:.4g}" if value >= 1e-3 or value == 0 else number(value)
