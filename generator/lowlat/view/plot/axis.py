# SPDX-License-Identifier: GPL-2.0-or-later
"""Axes: where a value lies in a drawing, and which values are written beside it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Union

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

#: Ratios closer than this are labelled in even steps, others in these parts of a decade.
_CLOSE = 4.0
_NARROW = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
_PARTS = ((1,), (1, 3), (1, 2, 5), (1, 2, 3, 5))

#: More decades than this are labelled every other one.
_MANY = 6


@dataclass(frozen=True)
class Linear:
    """From zero to ``high``, drawn from ``start`` to ``end`` (pixels)."""

    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        return self.start + (self.end - self.start) * min(max(value / self.high, 0.0), 1.0)

    def ticks(self) -> tuple[float, ...]:
        """Three to six round values."""
        step = 10.0 ** math.floor(math.log10(self.high / 2))
        step *= next(m for m in (1, 2, 2.5, 5, 10) if self.high / (step * m) <= 5)
        return tuple(step * n for n in range(int(self.high / step + 1e-9) + 1))


@dataclass(frozen=True)
class _Logarithmic:
    """From ``low`` to ``high``; what is smaller, zero too, lies at the lower end."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        return self.start + (self.end - self.start) * min(share, 1.0)


class Log(_Logarithmic):
    """Whole decades from ``low`` to ``high``."""

    @classmethod
    def around(cls, values: Iterable[float], start: float, end: float) -> Log:
        """The decades that hold all positive values."""
        known = [value for value in values if value > 0] or [1.0]
        low = math.floor(math.log10(min(known)) + 1e-9)
        high = max(math.ceil(math.log10(max(known)) - 1e-9), low + 1)
        return cls(10.0**low, 10.0**high, start, end)

    def ticks(self) -> tuple[float, ...]:
        first, last = round(math.log10(self.low)), round(math.log10(self.high))
        return tuple(10.0**n for n in range(first, last + 1, 2 if last - first > _MANY else 1))


class Ratio(_Logarithmic):
    """Ratios on both arms of 1."""

    @classmethod
    def around(cls, values: Iterable[float], start: float, end: float) -> Ratio:
        """From below the least to above the greatest, 1 among them."""
        known = [value for value in values if value > 0] + [0.95, 1.05]
        room = (max(known) / min(known)) ** 0.06
        return cls(min(known) / room, max(known) * room, start, end)

    def ticks(self) -> tuple[float, ...]:
        """At most eight round values, 1 among them."""
        if self.high / self.low < _CLOSE:
            above, below = self.high - 1, 1 / self.low - 1
            step = next(s for s in _NARROW if (above + below) / s <= 7)
            more = [1 / (1 + step * n) for n in range(int(below / step), 0, -1)]
            return (*more, *(1 + step * n for n in range(int(above / step) + 1)))
        found = next(f for parts in _PARTS if len(f := self._factors(parts)) >= 3)
        every = math.ceil(len(found) / 8)
        return found[found.index(1.0) % every :: every]

    def _factors(self, parts: Sequence[int]) -> tuple[float, ...]:
        """The same ones on both arms of 1."""
        decades = range(math.ceil(math.log10(max(self.high, 1 / self.low))) + 1)
        every = [float(f"{part}e{n}") for n in decades for part in parts][1:]
        less = [1 / factor for factor in reversed(every) if 1 / factor >= self.low]
        return (*less, 1.0, *(factor for factor in every if factor <= self.high))


Axis = Union[Linear, Log]


def fitting(values: Iterable[float], start: float, end: float) -> Axis:
    """Logarithmic where values lie far apart, else linear from zero."""
    known = [value for value in values if value > 0]
    if known and max(known) > _WIDE * min(known):
        return Log.around(known, start, end)
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
