# SPDX-License-Identifier: GPL-2.0-or-later
"""The test that may be looked at after every pair of boots: a bet on the signs of the pairs.

If the arms do not differ, and the order within each pair is drawn, the next pair is as likely to
favour either arm, and no way to bet on it wins on average. Who begins with 1 reaches 20 in at most
5 % of the campaigns, however often one looks (Ville). So a fortune of 20 is a claim. The bet stakes
60 % of three tenths of the fortune and 99 % of the rest on one arm, with one half of all for each
arm. Six pairs that agree are a claim, and 13 with one against.

The claim is about the median pair: more than half of all pairs favour one arm. A pair that ties
counts for neither.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Optional

from lowlat.claim.stats.samples import ALPHA

#: The fortune that is a claim.
CLAIM = 1 / ALPHA

#: Of these shares of the fortune this share is staked on each pair.
_STAKES = ((0.3, 0.6), (0.7, 0.99))

#: A campaign ends after so many pairs.
MOST_PAIRS = 20


@cache
def fortune(more: int, less: int) -> float:
    """The fortune after so many pairs for one arm and so many for the other: the e-value."""
    return sum(
        share / 2 * (1 + sign * stake) ** more * (1 - sign * stake) ** less
        for share, stake in _STAKES
        for sign in (1, -1)
    )


def interval(least: Sequence[float], greatest: Sequence[float]) -> tuple[float, float]:
    """The interval of the median difference after these pairs, each between its least and its
    greatest value: every difference against which the bet has not won. At every look it holds the
    true one, in all looks of 95 % of the campaigns together."""
    pairs = len(least)
    agreed = next((n for n in range(pairs // 2 + 1) if fortune(pairs - n, n) < CLAIM), 0)
    if not agreed:
        return -math.inf, math.inf
    return sorted(least)[agreed - 1], sorted(greatest)[-agreed]


@cache
def further(more: int, less: int, ties: int = 0) -> Optional[tuple[int, int]]:
    """The pairs that are still needed if all favour the arm that leads, and if one of them does
    not; None if they exceed ``MOST_PAIRS`` in all. ``ties`` keep the interval at no change, as
    pairs against that arm do."""
    ahead, behind = max(more, less), min(more, less) + ties
    left = range(MOST_PAIRS - ahead - behind + 1)
    least = next((n for n in left if _clear(ahead + n, behind)), None)
    if least is None:
        return None
    most = next((n for n in left if n and _clear(ahead + n - 1, behind + 1)), left[-1])
    return least, most if least else 0


def _clear(ahead: int, behind: int) -> bool:
    return ahead > behind and fortune(ahead, behind) >= CLAIM
