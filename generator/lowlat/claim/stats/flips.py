# SPDX-License-Identifier: GPL-2.0-or-later
"""The sign-flip test within pairs of boots, and the interval from inverting it.

The order within each pair is drawn at random. If the arms do not differ, the difference of a pair
would as likely have had the other sign, whatever the machine did meanwhile. The statistic is the
mean difference of the logarithms. All figures are tested over the same flips, so that the adjusted
p of many can be as small as that of one.

The interval holds every ratio that this test does not reject: its ends are means of subsets of the
pairs (Hartigan, J Am Stat Assoc 1969;64:1303). Six pairs must all agree (p = 2/64), and their
interval is that of the least and the greatest pair (96.9 %). Where counts of events stand behind a
figure the interval is never narrower than theirs (counts).

Needs numpy and scipy (the extra ``report``); see available().
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from lowlat.claim.stats import counts
from lowlat.claim.stats.samples import ALPHA, PARTS, TwoSamples

if TYPE_CHECKING:
    from lowlat.claim.stats.samples import Array

#: Fewer pairs cannot reach 5 %: five that agree have p = 2/32.
ENOUGH_PAIRS = 6

#: Up to so many pairs all flips are tried, beyond it so many random ones.
_MOST = 14
_RANDOM = 9_999
_SEED = 1

_ROUNDING = 1e-9

#: Stands for the open end of a difference that is known from one side only: the mean with a pair
#: so far away is endless too.
_FAR = 1e9


@dataclass(frozen=True)
class Result:
    """The result of the test for a row.

    ``p`` is two-sided; ``adjusted`` allows for all rows tested beside it. ``ci95`` is the interval
    of the ratio before/after: from 0, or to infinity, if it is open on that side.
    """

    p: float
    adjusted: float
    ci95: tuple[float, float]


def available() -> bool:
    """Whether numpy and scipy are installed."""
    return find_spec("numpy") is not None and find_spec("scipy") is not None


#: The level where the order within the pairs was not drawn, that of six pairs which agree: between
#: blocks of an order such as ABBA boots that resemble their neighbours favour one arm a little.
_UNDRAWN = 2 / 64


def infer(rows: Sequence[TwoSamples], *, drawn: bool = True) -> tuple[Result, ...]:
    """Test each row alone and, by the largest statistic, among all. The boots of the arms are in
    the order of their pairs; unless the order within these was ``drawn``, p is so much larger that
    5 % are the stricter level, which the interval has too."""
    if not rows:
        return ()
    import numpy as np

    flipped, strict = _flips(len(rows[0].before)), _strictness(drawn)
    differences = np.stack([np.subtract(*row.logs()) for row in rows], axis=1)
    observed = differences.sum(axis=0)
    # Up to a hundred CPUs have thousands of rows: the statistics of all flips are the large array.
    null = flipped @ differences
    null *= -2
    null += observed
    np.abs(null, out=null)
    some = len(rows[0].before) > _MOST
    p = _shares(null, np.abs(observed), some)
    adjusted = _largest(np.abs(observed), null, some) if len(rows) > 1 else p
    del null
    least, greatest = (np.stack(ends, axis=1) for ends in zip(*(row.bounds() for row in rows)))
    tail = ALPHA / strict / 2
    lows, highs = _low_ends(least, flipped, tail), -_low_ends(-greatest, flipped, tail)
    return tuple(
        Result(
            p=min(float(p[n]) * strict, 1.0),
            adjusted=min(float(adjusted[n]) * strict, 1.0),
            ci95=widest(
                (float(lows[n]), float(highs[n])), *_of_counts(row, float(differences[:, n].mean()))
            ),
        )
        for n, row in enumerate(rows)
    )


def _of_counts(row: TwoSamples, middle: float) -> Iterator[tuple[float, float]]:
    """The interval of the counts that the row consists of; or that of the counts behind it, moved
    to the middle of the row."""
    if row.seconds:
        yield counts.interval((row.before, row.after), row.seconds)
    if row.events and row.events.seconds:
        given = (row.events.before, row.events.after), row.events.seconds
        moved = middle - counts.centre(*given)
        low, high = counts.interval(*given)
        yield low + moved, high + moved


def widest(*ends: tuple[float, float]) -> tuple[float, float]:
    """The ends of the ratios in the union of these intervals of a logarithm."""
    return math.exp(min(low for low, _ in ends)), math.exp(max(high for _, high in ends))


def smallest_p(pairs: int, *, drawn: bool = True) -> float:
    """The smallest p that a test of so many pairs can have."""
    return 2 * _strictness(drawn) / (2**pairs if pairs <= _MOST else _RANDOM + 1)


def _strictness(drawn: bool) -> float:
    return 1.0 if drawn else ALPHA / _UNDRAWN


def level(pairs: int) -> float:
    """The largest p up to 5 % that a test of so many pairs can have."""
    ways = 2**pairs if pairs <= _MOST else _RANDOM + 1
    return 2 * math.floor(ALPHA / 2 * ways) / ways


def _flips(pairs: int) -> Array:
    """A row for each flip: 1 for the pairs that it turns round."""
    import numpy as np

    if pairs <= _MOST:
        return (np.arange(2**pairs)[:, None] >> np.arange(pairs) & 1).astype(float)
    return np.random.default_rng(_SEED).integers(0, 2, (_RANDOM, pairs)).astype(float)


def _shares(null: Array, observed: Array, drawn: bool) -> Array:
    """The share of flips that reach the observed value; the measured signs count as one flip more
    where flips are drawn."""
    reached = (null >= observed * (1 - _ROUNDING)).sum(axis=0)
    result: Array = (reached + drawn) / (len(null) + drawn)
    return result


def _largest(observed: Array, null: Array, drawn: bool) -> Array:
    """Westfall and Young's step-down maxT: the share of flips whose largest statistic, of this row
    and of rows with smaller ones, reaches the observed one."""
    import numpy as np

    spread = np.sqrt(np.einsum("ij,ij->j", null, null) / len(null))
    spread[spread == 0] = np.inf
    ours = observed / spread
    order = np.argsort(ours)
    largest = null[:, order]
    largest /= spread[order]
    np.maximum.accumulate(largest, axis=1, out=largest)
    shares = _shares(largest, ours[order], drawn)
    result: Array = np.empty_like(ours)
    result[order] = np.maximum.accumulate(shares[::-1])[::-1]
    return result


def _low_ends(differences: Array, flipped: Array, share: float) -> Array:
    """For each row the least mean difference that the test does not reject, with this share of all
    flips in one tail."""
    import numpy as np

    some = flipped[flipped.any(axis=1)]
    means = some @ np.clip(differences, -_FAR, _FAR) / some.sum(axis=1)[:, None]
    tail = max(math.floor(share * (len(some) + 1)), 1)
    ends = np.partition(means, tail - 1, axis=0)[tail - 1] - 1 / PARTS
    far = np.abs(ends) > _FAR / (2 * len(differences))
    result: Array = np.where(far, np.copysign(np.inf, ends), ends)
    return result
