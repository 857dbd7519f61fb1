# SPDX-License-Identifier: GPL-2.0-or-later
"""The number of boots per arm needed to find a change: for planning, never a claim. Needs scipy."""

import math
from collections.abc import Sequence
from statistics import fmean, variance
from typing import Optional

from lowlat.report.stats import flips, student
from lowlat.report.stats.permutation import ENOUGH_BOOTS
from lowlat.report.stats.samples import ALPHA_T

#: The chance of finding the change.
POWER = 0.8

#: The largest number of boots that is suggested.
MOST_BOOTS = 100

#: A change of so many standard errors is certainly found.
_CERTAIN = 20.0


def boots_to_find(before: Sequence[float], after: Sequence[float]) -> Optional[int]:
    """The boots per arm from which a change as large as this is found, if boots vary like these: by
    the power of the t test of the logarithms. None if it takes more than ``MOST_BOOTS``, and if it
    is unknown: with one boot in an arm, or a zero in one."""
    if min(len(before), len(after)) < 2 or min(*before, *after) <= 0:
        return None
    one, other = ([*map(math.log, arm)] for arm in (before, after))
    size, spread = abs(fmean(one) - fmean(other)), math.sqrt((variance(one) + variance(other)) / 2)
    for boots in range(ENOUGH_BOOTS, MOST_BOOTS + 1):
        # The trend takes one more degree of freedom.
        free, error = 2 * boots - 3, max(spread * math.sqrt(2 / boots), size / _CERTAIN) or 1.0
        if student.power(ALPHA_T / 2, free, size / error) >= POWER:
            return boots
    return None


def pairs_to_find(differ: float, spread: float) -> Optional[int]:
    """The pairs of boots from which a difference of so much in the logarithm is found, if boots of
    one arm have this standard deviation: by the power of the t test at the level that so many pairs
    reach. None if it takes more than ``MOST_BOOTS``."""
    for pairs in range(flips.ENOUGH_PAIRS, MOST_BOOTS + 1):
        error = max(spread * math.sqrt(2 / pairs), differ / _CERTAIN) or 1.0
        if student.power(flips.level(pairs) / 2, pairs - 1, differ / error) >= POWER:
            return pairs
    return None
