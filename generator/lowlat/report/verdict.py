# SPDX-License-Identifier: GPL-2.0-or-later
"""The conclusion: reduced, increased, no measurable change, descriptive only, or refused."""

from dataclasses import dataclass
from typing import Optional

from lowlat.report import comparable
from lowlat.report.arm import Arm
from lowlat.report.pair import ComparedFigure, Pair
from lowlat.report.stats import permutation, power
from lowlat.report.stats.permutation import ENOUGH_BOOTS
from lowlat.report.stats.samples import ALPHA, TURNS, Order

REDUCED = "reduced"
INCREASED = "increased"
UNCHANGED = "no-measurable-change"
DESCRIPTIVE = "descriptive-only"
REFUSED = "refused"

#: If an interval is narrower, the boots do not differ.
_SAME = 1e-6

#: Every verdict that is based on a test.
TESTED = (REDUCED, INCREASED, UNCHANGED)


@dataclass(frozen=True)
class Verdict:
    """One of the five words, and the reason in a sentence without a full stop."""

    word: str
    why: str


def boot_words(boots: tuple[int, int]) -> str:
    """The number of boots behind the figures, as text."""
    one, other = boots
    if one == other:
        return f"{one} boot{'s' if one > 1 else ''} each"
    return f"{one} against {other} boots"


def untested(before: Arm, after: Arm) -> Optional[str]:
    """The reason why these arms are not tested, or None."""
    boots = len(before.boots), len(after.boots)
    if why := comparable.unnamed(before, after):
        return why
    if min(boots) < ENOUGH_BOOTS:
        return f"{boot_words(boots)}; a test needs {ENOUGH_BOOTS} boots per arm"
    why = comparable.doubt(before, after) or _out_of_turn(before, after)
    if not why and not permutation.available():
        why = "scipy and numpy are not installed"
    return f"{boot_words(boots)}; no test is made: {why}" if why else None


def _out_of_turn(before: Arm, after: Arm) -> Optional[str]:
    order = order_of(before, after)
    if order is None:
        return "the order of the boots is not known"
    if order.takes_turns:
        return None
    turns = f"{before.name}, {after.name}, {after.name}, {before.name}"
    return (
        f"the boots ran in {order.count} stretches, so that any other change meanwhile looks like "
        f"an effect of the settings; a test needs {TURNS} stretches in turn ({turns}, and so on)"
    )


def of(primary: ComparedFigure, over: str) -> Verdict:
    """The verdict of a primary endpoint that was tested ``over`` boots, or what else, in words."""
    p = primary.p if primary.p is not None else 1.0
    basis = f"p = {p:.2g}, {over}"
    if primary.changed:
        return Verdict(REDUCED if primary.after < primary.before else INCREASED, basis)
    if p <= ALPHA:
        basis = f"{basis}; the interval includes 1 because it allows for more than the test does"
    return Verdict(UNCHANGED, f"{basis}{_excluded(primary)}")


def _excluded(primary: ComparedFigure) -> str:
    if primary.ci95 is None:
        return ""
    low, high = primary.ci95
    if high - low < _SAME:
        return "; all boots show the same value"
    if not low <= 1 <= high:
        return ""  # p was adjusted for several arms, the interval was not
    return f"; ratios below {low:.3g} and above {high:.3g} are excluded (95 %)"


def order_of(before: Arm, after: Arm) -> Optional[Order]:
    """The boots by the start of their first run; None if it is unknown or the same for all."""
    times = [*before.starts, *after.starts]
    known = sorted(time for time in times if time is not None)
    if len(known) < len(times) or known[0] == known[-1]:
        return None
    places = [known.index(time) + (known.count(time) - 1) / 2 for time in times if time is not None]
    count = len(before.boots)
    return Order(tuple(places[:count]), tuple(places[count:]))


def boots_to_find(pair: Pair, concluded: Verdict) -> Optional[int]:
    """The boots per arm needed to find a change as large as the observed one, if none was found;
    None if the number is unknown."""
    boots = min(len(pair.before.boots), len(pair.after.boots))
    few = concluded.word == DESCRIPTIVE and boots < ENOUGH_BOOTS
    if not permutation.available() or not (few or concluded.word == UNCHANGED):
        return None
    known = pair.figures[pair.primary]
    needed = power.boots_to_find(known.before, known.after)
    return needed if needed and needed > boots else None
