# SPDX-License-Identifier: GPL-2.0-or-later
"""The arithmetic behind spectrum.py, which needs numpy: one comb among times of events.

The power at a frequency f is |sum of exp(2 pi i f t)|^2 / n over the times t (Rayleigh); without
any order its distribution is exponential with mean 1. Bursts raise it broadly, so it is taken over
its local median.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from lowlat.measure.causes.spectrum import CLOCKS_APART

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]

HIGHEST_HZ = 2048.0
OVERSAMPLING = 4

_PERIODS_MIN = 8
_LEAST_TIMES = 20
_PARTS_MAX = 64
_HARMONICS_MAX = 8
_NEIGHBOURS = 101

#: Of a comb's harmonics at least this share has more than this power, where noise alone has 1.
_STANDING = 3.0
_STANDING_SHARE = 0.75

#: The share of a comb's events that follow each other at its period.
_REGULAR = 0.5

#: Its first harmonic has no less than this part of the strongest one's: else it is one of others.
_FIRST_PART = 3.0


def comb(
    times: Array, span: float, limit: float, known: Sequence[float]
) -> Optional[tuple[float, float, Array]]:
    """The comb that stands out: its frequency, how unlikely it is (-ln p), and which of the events
    are in it; None where none passes the limit. ``known`` frequencies are tried first."""
    if len(times) < _LEAST_TIMES:
        return None
    step = 1.0 / (span * OVERSAMPLING)
    over = _over(times, span, step)
    # All harmonics of a comb stand out, so the slowest one that has them is taken.
    for frequency in sorted(known):
        exact, unlikely = _teeth(over, frequency, span, step)
        if unlikely > limit:
            return _found(times, exact, unlikely, step)
    best, unlikely = int(np.argmax(over)) * step, float(np.max(over))
    if unlikely <= limit:
        return None
    return _found(times, *_slowest(over, best, unlikely, span, step), step)


def _slowest(
    over: Array, frequency: float, unlikely: float, span: float, step: float
) -> tuple[float, float]:
    """The comb of which the frequency is a harmonic, if it is one, with -ln p."""
    for part in range(_PARTS_MAX, 1, -1):
        exact, slower = _teeth(over, frequency / part, span, step)
        if slower > unlikely:
            return _slowest(over, exact, slower, span, step)
    return frequency, unlikely


def _found(
    times: Array, frequency: float, unlikely: float, step: float
) -> tuple[float, float, Array]:
    exact = _refined(times, frequency, step)
    member = _cluster(times, exact)
    # Where another comb covers the lower harmonics, the distance of the events tells.
    apart = np.rint(np.diff(times[member]) * exact)
    part = float(np.median(apart)) if len(apart) else 1.0
    if part > 1 and (apart == part).mean() > _REGULAR:
        slower = _refined(times[member], exact / part, step / part)
        inner = _cluster(times, slower)
        if inner.sum() > _REGULAR * member.sum():
            return slower, unlikely, inner
    return exact, unlikely, member


def _harmonics(frequency: float) -> int:
    return max(min(_HARMONICS_MAX, int(HIGHEST_HZ / frequency)), 1)


def _teeth(over: Array, frequency: float, span: float, step: float) -> tuple[float, float]:
    """The most unlikely comb near a frequency, and -ln p: its harmonics' powers add up to a Gamma
    variable. It counts only where it looks like one: most harmonics stand out, the first too."""
    if frequency < _PERIODS_MIN / span:
        return frequency, 0.0
    count = _harmonics(frequency)
    reach = max(0.5 / span, CLOCKS_APART * frequency)
    tried = np.arange(frequency - reach, frequency + reach, step / count)
    places = np.rint(np.outer(tried, np.arange(1, count + 1)) / step).astype(np.int64)
    powers = over[np.clip(places, 0, len(over) - 1)]
    best = int(np.argmax(powers.sum(axis=1)))
    teeth = powers[best]
    if (teeth > _STANDING).mean() < _STANDING_SHARE or teeth[0] < teeth.max() / _FIRST_PART:
        return frequency, 0.0
    return float(tried[best]), _unlikely(float(teeth.sum()), count) - math.log(len(tried))


def _unlikely(total: float, count: int) -> float:
    """-ln of the probability that a sum of ``count`` exponential variables reaches the total."""
    terms = [k * math.log(max(total, 1e-9)) - math.lgamma(k + 1) for k in range(count)]
    most = max(terms)
    return total - most - math.log(sum(math.exp(term - most) for term in terms))


def _over(times: Array, span: float, step: float) -> Array:
    """The power over the background, from 0 Hz on in steps; 0 where fewer than some periods fit."""
    bins = 1 << max(int(math.ceil(math.log2(4 * HIGHEST_HZ / step))), 1)
    width = 1.0 / (bins * step)
    counts = np.bincount((times / width).astype(np.int64), minlength=bins)[:bins].astype(float)
    # Without their mean, which would leak into all frequencies.
    counts[: int(span / width)] -= len(times) / (span / width)
    power = np.abs(np.fft.rfft(counts)[: int(HIGHEST_HZ / step) + 1]) ** 2 / len(times)
    over: Array = power / _background(power)
    over[: int(math.ceil(_PERIODS_MIN / span / step))] = 0
    return over


def _background(power: Array) -> Array:
    """The local mean that noise alone would have: median / ln 2, at least 1."""
    width = _NEIGHBOURS * OVERSAMPLING
    count = max(len(power) // width, 1)
    blocks = np.array_split(power, count)
    centres = np.cumsum([len(block) for block in blocks]) - len(blocks[0]) / 2
    level = np.array([float(np.median(block)) for block in blocks]) / math.log(2)
    smooth: Array = np.maximum(np.interp(np.arange(len(power)), centres, level), 1.0)
    return smooth


def _refined(times: Array, frequency: float, step: float) -> float:
    """The frequency nearby at which the power of its harmonics is highest."""
    turns = 2j * math.pi * np.arange(1, _harmonics(frequency) + 1)
    reach = step / len(turns)

    def power(tried: float) -> float:
        return float((abs(np.exp(np.outer(turns * tried, times)).sum(axis=1)) ** 2).sum())

    while reach > 1e-9 * frequency:
        near = np.linspace(frequency - reach, frequency + reach, 17)
        frequency = float(near[int(np.argmax([power(one) for one in near]))])
        reach /= 4
    return frequency


def _cluster(times: Array, frequency: float) -> Array:
    """The events around the phase at which most come, out to where the background begins."""
    size = min(max(len(times) // 4, 64), 1024)
    places = ((times * frequency) % 1.0 * size).astype(np.int64) % size
    counts = np.bincount(places, minlength=size)
    peak = int(np.argmax(counts))
    level = float(np.median(counts))
    limit = level + 2 * math.sqrt(level) + 0.5
    taken = np.zeros(size, dtype=bool)
    taken[peak] = True
    for direction in (1, -1):
        quiet = 0
        for distance in range(1, size // 4):
            place = (peak + direction * distance) % size
            quiet = quiet + 1 if counts[place] <= limit else 0
            if quiet > 2:
                break
            taken[place] = not quiet
    member: Array = taken[places]
    return member
