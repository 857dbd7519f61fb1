# SPDX-License-Identifier: GPL-2.0-or-later
"""The verdict of a campaign that ends as soon as its test is clear: a bet on the signs of pairs."""

import math
from dataclasses import replace
from statistics import median
from typing import Optional

from lowlat.claim import comparable, pairing
from lowlat.claim.blocks import Blocks
from lowlat.claim.build import Report, without_test
from lowlat.claim.caveat import Caveat
from lowlat.claim.pair import ComparedFigure, Pair
from lowlat.claim.pairing import DRAWN
from lowlat.claim.stats import bets, flips
from lowlat.claim.stats.pairs import Pairs, is_lopsided
from lowlat.claim.verdict import DESCRIPTIVE, REFUSED, UNCHANGED, Verdict, word_of
from lowlat.figures.endpoint import in_words
from lowlat.figures.measured_arm import Arm
from lowlat.model.campaign import Campaign

#: Said of a part of the pairs, whose whole order was drawn.
_OF_PAIRS = (Caveat.ORDER_NOT_DRAWN, Caveat.ORDER_NOT_KNOWN)


def judged(report: Report, before: Arm, after: Arm, campaign: Campaign) -> Report:
    """The report with the verdict about the median pair of the primary endpoint; all else is
    descriptive. The pairs are those of the campaign; one that lacks a boot counts against either
    arm."""
    primary = report.primary
    if report.verdict == REFUSED or primary is None:
        return report
    blocks = Blocks.of(campaign)
    one, other = (blocks.places(arm) for arm in (before, after))
    pairs = sorted(one.keys() & other.keys())
    lost = len(blocks.due((before, after))) - len(pairs)
    arms = (
        before.of_boots(one[n][0] for n in pairs),
        after.of_boots(other[n][0] for n in pairs),
    )
    why = comparable.doubt(before, after) or ("" if pairs else "no pair is complete")
    order = tuple(1 if arm == campaign.order[0] else -1 for arm in campaign.order[::2])
    why = why or ("the order of the campaign was not drawn" if _turning(order) else "")
    figure = None if why else Pair.of(*arms, primary.key).figures[primary.key]
    if figure is None or not figure.known or not flips.available():
        why = (
            why or f"{in_words(primary.name)} is not known in every boot, or numpy is not installed"
        )
        return without_test(report, f"no test is made: {why}")
    least, greatest = (list(map(float, ends)) for ends in figure.samples().bounds())
    more, less = sum(low > 0 for low in least), sum(high < 0 for high in greatest)
    value = min(bets.fortune(more, less + lost), bets.fortune(more + lost, less))
    further = bets.further(more, less, len(pairs) + lost - more - less)
    ends = [*least, *[-math.inf] * lost], [*greatest, *[math.inf] * lost]
    middle = median((low + high) / 2 for low, high in zip(least, greatest))
    claimed = _claimed(primary, middle, bets.interval(*ends), min(1.0, 1 / value))
    concluded = _verdict(claimed, value, len(pairs), lost, further)
    untested = without_test(report, concluded.why)
    return replace(
        untested,
        verdict=concluded.word,
        endpoints=tuple(claimed if e.primary else e for e in untested.endpoints),
        pairs=len(pairs),
        order=DRAWN,
        caveats=tuple(one for one in report.caveats if one.kind not in _OF_PAIRS),
        lost_pairs=lost,
        e_value=value,
        more_pairs=further if concluded.word == DESCRIPTIVE else None,
    )


def _claimed(
    primary: ComparedFigure, middle: float, interval: tuple[float, float], p: float
) -> ComparedFigure:
    """The primary endpoint with the ratio of the median pair and its interval."""
    low, high = map(math.exp, interval)
    return replace(
        primary,
        ratio=math.exp(middle) if math.isfinite(middle) else None,
        ratio_at_least=low,
        ci95=(low, high) if math.isfinite(high) else None,
        p=p,
        counts=None,
    )


def _verdict(
    claimed: ComparedFigure,
    value: float,
    whole: int,
    lost: int,
    further: Optional[tuple[int, int]],
) -> Verdict:
    """Of so many ``whole`` pairs, and so many that lack a boot."""
    basis = f"e = {value:.3g} after {pairing.over(f'{whole} pairs', DRAWN, lost)}"
    basis = f"{basis}, {bets.CLAIM:g} is clear"
    word = word_of(claimed)
    if word == UNCHANGED and value >= bets.CLAIM:
        basis = f"{basis}, and pairs without a difference keep the interval at none"
    if word != UNCHANGED:
        return Verdict(word, f"{basis}; about the median pair")
    if whole + lost >= bets.MOST_PAIRS or further is None:
        return Verdict(UNCHANGED, f"{basis}; {bets.MOST_PAIRS} pairs are the most")
    more = "{} to {}".format(*further) if further[0] < further[1] else f"{further[1]}"
    clear = f"clear after {more} more pairs, if at most one of them disagrees"
    why = f"{basis}: {clear}; looking often costs nothing"
    return Verdict(DESCRIPTIVE, why)


def _turning(order: tuple[int, ...]) -> bool:
    """Whether a campaign's whole order is one that nobody draws: lopsided, or just turning round
    from pair to pair."""
    return is_lopsided(order, drawn=True) or (len(order) > 2 and Pairs((), order).alternate)
