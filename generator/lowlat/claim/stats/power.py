# SPDX-License-Identifier: GPL-2.0-or-later
"""The number of pairs of boots needed to find a change: for planning, never a claim. Needs
scipy."""

import math
from typing import Optional

from lowlat.claim.stats import flips, student

#: The chance of finding the change.
POWER = 0.8

#: The largest number of pairs that is suggested.
MOST = 100

#: A change of so many standard errors is certainly found.
_CERTAIN = 20.0


def pairs_to_find(differ: float, spread: float, power: float = POWER) -> Optional[int]:
    """The pairs of boots from which a difference of so much in the logarithm is found with this
    chance, if boots of one arm have this standard deviation: by the power of the t test at the
    level that so many pairs reach. None if it takes more than ``MOST``."""
    for pairs in range(flips.ENOUGH_PAIRS, MOST + 1):
        error = max(spread * math.sqrt(2 / pairs), differ / _CERTAIN) or 1.0
        if student.power(flips.level(pairs) / 2, pairs - 1, differ / error) >= power:
            return pairs
    return None
