# SPDX-License-Identifier: GPL-2.0-or-later
"""How many more pairs of boots show a change that was not found."""

from statistics import fmean, stdev
from typing import Optional

from lowlat.claim.pair import Pair
from lowlat.claim.pairing import Pairing
from lowlat.claim.stats import flips, power
from lowlat.claim.verdict import DESCRIPTIVE, UNCHANGED, Verdict

#: With the first of these chances the lesser number is enough, with the second the greater.
_CHANCES = (0.5, power.POWER)


def more_pairs(pair: Pair, paired: Pairing, concluded: Verdict) -> Optional[tuple[int, int]]:
    """The pairs beyond those that were measured after which a change as large as the observed one
    is found, with a chance of 50 and of 80 %. None if the change was found, and if the numbers are
    not known, as with fewer than two pairs."""
    places, row = paired.pairs.boots, pair.figures[pair.primary]
    few = concluded.word == DESCRIPTIVE and len(places) < flips.ENOUGH_PAIRS
    unclear = few or concluded.word == UNCHANGED
    if not unclear or len(places) < 2 or not row.known or not flips.available():
        return None
    one, other = row.samples().logs()
    differ = [float(one[n] - other[m]) for n, m in places]
    spread = stdev(differ) / 2**0.5
    least, most = (power.pairs_to_find(abs(fmean(differ)), spread, own) for own in _CHANCES)
    if least is None or most is None or most <= len(places):
        return None
    return max(least - len(places), 1), most - len(places)
