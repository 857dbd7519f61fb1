# SPDX-License-Identifier: GPL-2.0-or-later
"""Axes: the position of a value in a drawing, and the values written beside it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Optional, Union

from lowlat.present.wording import number

#: A drawing is as large as a telephone's screen; if it is readable there, it is everywhere. The
#: second line is the room for the axes' numbers and names.
WIDTH, HEIGHT = 360.0, 240.0
LEFT, RIGHT, TOP, BOTTOM = 46.0, 12.0, 30.0, 40.0

#: The end of the horizontal axis and the position of the lower one.
END, FLOOR = WIDTH - RIGHT, HEIGHT - BOTTOM

_UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns"))

#: Values whose ratio exceeds this get a logarithmic axis.
_WIDE = 15.0

#: The share of a logarithmic axis for zero, if a value is zero.
_ZERO = 0.1

#: With more decades than this, every other one is labelled.
_MANY = 6


@dataclass(frozen=True)
class Linear:
    """From zero to ``high``, drawn from ``start`` to ``end`` (pixels)."""

    high: float
    start: float
    end: float

    #: Zero lies on the scale, so there is no gap.
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
    """Whole decades from ``low`` to ``high``. If a value is zero, which no decade contains, zero
    lies at ``start`` and the decades begin at ``begin``."""

    low: float
    high: float
    start: float
    begin: float
    end: float

    @classmethod
    def around(cls, values: Iterable[float], start: float, end: float) -> Log:
        """The decades that contain all positive values."""
        values = tuple(values)
        known = [value for value in values if value > 0] or [1.0]
        low = math.floor(math.log10(min(known)) + 1e-9)
        high = max(math.ceil(math.log10(max(known)) - 1e-9), low + 1)
        begin = start + _ZERO * (end - start) * any(value <= 0 for value in values)
        return cls(10.0**low, 10.0**high, start, begin, end)

    @property
    def gap(self) -> Optional[float]:
        """The middle between zero and the first decade; None without zero."""
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
    """A logarithmic axis if the values lie far apart, else a linear one from zero."""
    values = tuple(values)
    known = [value for value in values if value > 0]
    if known and max(known) > _WIDE * min(known):
        return Log.around(values, start, end)
    return Linear(1.08 * max(known) if known else 1.0, start, end)


def duration(nanoseconds: float) -> str:
    """A time in words: "100 ns", "2.1 ms"."""
    size, unit = next((u for u in _UNITS if nanoseconds >= u[0]), _UNITS[-1])
    return f"{nanoseconds / size:.3g} {unit}"


def spans(values: Iterable[tuple[str, float]], unit: str) -> str:
    """The least and the greatest value of each name: "stock 3 to 5 us; tuned 1 to 2 us"."""
    by_name: dict[str, list[float]] = {}
    for name, value in values:
        by_name.setdefault(name, []).append(value)
    ends = ((name, short(min(own)), short(max(own))) for name, own in by_name.items())
    return "; ".join(f"{name} {low} to {high} {unit}" for name, low, high in ends)


def short(value: float) -> str:
    """A number for an axis: "0.01", "250", "10k", "1M"."""
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= size:
            return f"{value / min(size, 1e3 if unit == 'k' else size):.4g}{unit}"
    return f"{value:.4g}" if value >= 1e-3 or value == 0 else number(value)
