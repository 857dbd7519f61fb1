# SPDX-License-Identifier: GPL-2.0-or-later
"""The verdict of a campaign that ends as soon as its test is clear: a bet on the signs of pairs."""

import math
from dataclasses import replace
from statistics import median
from typing import Optional

from lowlat.model.run import Run
from lowlat.report import comparable, work_words
from lowlat.report.arm import Arm
from lowlat.report.build import Report, needed
from lowlat.report.endpoint import in_words
from lowlat.report.pair import ComparedFigure, Pair
from lowlat.report.pairing import Pairing
from lowlat.report.stats import bets, flips
from lowlat.report.verdict import DESCRIPTIVE, REFUSED, UNCHANGED, Verdict, word_of


def judged(report: Report, before: Arm, after: Arm) -> Report:
    """The report with the verdict about the median pair of the primary endpoint; all else is
    descriptive. The pairs are those of the campaign."""
    primary = report.primary
    if report.verdict == REFUSED or primary is None:
        return report
    described = _described(report, before, after)
    one, other = (_places(arm) for arm in (before, after))
    pairs = sorted(one.keys() & other.keys())
    arms = before.of_boots(one[n] for n in pairs), after.of_boots(other[n] for n in pairs)
    why = comparable.doubt(before, after) or ("" if pairs else "no pair is complete")
    figure = None if why else Pair.of(*arms, primary.key).figures[primary.key]
    if figure is None or not figure.known or not flips.available():
        why = (
            why or f"{in_words(primary.name)} is not known in every boot, or numpy is not installed"
        )
        return replace(described, why=f"no test is made: {why}")
    least, greatest = (list(map(float, ends)) for ends in figure.samples().bounds())
    signs = sum(low > 0 for low in least), sum(high < 0 for high in greatest)
    value, further = bets.fortune(*signs), bets.further(*signs, len(pairs) - sum(signs))
    claimed = _claimed(primary, least, greatest, min(1.0, 1 / value))
    concluded = _verdict(claimed, value, len(pairs), further)
    return replace(
        described,
        verdict=concluded.word,
        why=concluded.why,
        endpoints=tuple(claimed if e.primary else e for e in described.endpoints),
        pairs=len(pairs),
        e_value=value,
        more_pairs=further if concluded.word == DESCRIPTIVE else None,
    )


def _described(report: Report, before: Arm, after: Arm) -> Report:
    """The report without the test of a fixed number of pairs, and what it says of that."""
    more = [needed(report.more_pairs, report.pairs)] if report.more_pairs else []
    untested = [replace(e, p=None, ci95=None, ratio_at_least=None) for e in report.endpoints]
    told = {*Pairing.of(before, after).flags(), *more}
    flags = work_words.anew(report.flags, report.endpoints, untested)
    return replace(
        report,
        verdict=DESCRIPTIVE,
        endpoints=tuple(untested),
        flags=tuple(flag for flag in flags if flag not in told),
        more_pairs=None,
    )


def _places(arm: Arm) -> dict[int, int]:
    """The place of the arm's boot in each pair of the campaign, by the pair's number."""
    boots = ((place, _number(boot[0])) for place, boot in enumerate(arm.boots))
    return {(number - 1) // 2: place for place, number in boots if number}


def _number(run: Run) -> int:
    return run.campaign.number if run.campaign else 0


def _claimed(
    primary: ComparedFigure, least: list[float], greatest: list[float], p: float
) -> ComparedFigure:
    """The primary endpoint with the ratio of the median pair and its interval."""
    middle = median((low + high) / 2 for low, high in zip(least, greatest))
    low, high = (math.exp(end) for end in bets.interval(least, greatest))
    return replace(
        primary,
        ratio=math.exp(middle) if math.isfinite(middle) else None,
        ratio_at_least=low,
        ci95=(low, high) if math.isfinite(high) else None,
        p=p,
        counts=None,
    )


def _verdict(
    claimed: ComparedFigure, value: float, pairs: int, further: Optional[tuple[int, int]]
) -> Verdict:
    basis = f"e = {value:.3g} after {pairs} pairs, {bets.CLAIM:g} is clear"
    word = word_of(claimed)
    if word == UNCHANGED and value >= bets.CLAIM:
        basis = f"{basis}, and pairs without a difference keep the interval at none"
    if word != UNCHANGED:
        return Verdict(word, f"{basis}; about the median pair")
    if pairs >= bets.MOST_PAIRS or further is None:
        return Verdict(UNCHANGED, f"{basis}; {bets.MOST_PAIRS} pairs are the most")
    more = "{} to {}".format(*further) if further[0] < further[1] else f"{further[1]}"
    clear = f"clear after {more} more pairs, if at most one of them disagrees"
    why = f"{basis}: {clear}; looking often costs nothing"
    return Verdict(DESCRIPTIVE, why)
