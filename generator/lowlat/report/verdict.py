# SPDX-License-Identifier: GPL-2.0-or-later
"""What may be concluded: reduced, increased, no measurable change, or that nothing may be."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Optional

from lowlat.report import comparable
from lowlat.report.arm import Arm
from lowlat.report.endpoint import Endpoint, Pair
from lowlat.report.stats import drift, permutation, power
from lowlat.report.stats.drift import Order
from lowlat.report.stats.permutation import ENOUGH_BOOTS

REDUCED = "reduced"
INCREASED = "increased"
UNCHANGED = "no-measurable-change"
DESCRIPTIVE = "descriptive-only"
REFUSED = "refused"

#: An interval that is narrower is of boots that do not differ.
_SAME = 1e-6

#: Every verdict that rests on a test.
TESTED = (REDUCED, INCREASED, UNCHANGED)


@dataclass(frozen=True)
class Verdict:
    """One of the five words, and the reason in a sentence without a full stop."""

    word: str
    why: str


def boot_words(boots: tuple[int, int]) -> str:
    """How many boots stand behind the figures."""
    one, other = boots
    if one == other:
        return f"{one} boot{'s' if one > 1 else ''} each"
    return f"{one} against {other} boots"


def untested(before: Arm, after: Arm) -> Optional[str]:
    """Why no test is made of these arms, or None where one is."""
    boots = len(before.boots), len(after.boots)
    if min(boots) < ENOUGH_BOOTS:
        return f"{boot_words(boots)}; a test needs {ENOUGH_BOOTS} boots an arm"
    doubt = comparable.doubt(before.runs, after.runs)
    if doubt:
        return f"{boot_words(boots)}; no test is made: {doubt}"
    if order_of(before, after) is None:
        return f"{boot_words(boots)}; no test is made: the order of the boots is not known"
    if not permutation.available():
        return f"{boot_words(boots)}; no test is made: scipy and numpy are not installed"
    return None


def of(primary: Endpoint, boots: tuple[int, int]) -> Verdict:
    """The verdict of a primary endpoint that was tested."""
    p = primary.p if primary.p is not None else 1.0
    basis = f"p = {p:.2g}, {boot_words(boots)}"
    if primary.changed:
        return Verdict(REDUCED if primary.after < primary.before else INCREASED, basis)
    if p <= permutation.ALPHA:
        basis = f"{basis}, too little where the arms may spread unlike each other"
    return Verdict(UNCHANGED, f"{basis}{_excluded(primary)}")


def _excluded(primary: Endpoint) -> str:
    if primary.ci95 is None:
        return ""
    low, high = primary.ci95
    if high - low < _SAME:
        return "; every boot shows the same"
    if not low <= 1 <= high:
        return ""  # p was adjusted for several arms, the interval was not
    return f"; ratios below {low:.3g} and above {high:.3g} are excluded (95 %)"


def order_of(before: Arm, after: Arm) -> Optional[Order]:
    """The boots by the start of their first run; None where it is unknown or the same for all."""
    times = [*before.starts, *after.starts]
    known = sorted(time for time in times if time is not None)
    if len(known) < len(times) or known[0] == known[-1]:
        return None
    places = [known.index(time) + (known.count(time) - 1) / 2 for time in times if time is not None]
    count = len(before.boots)
    return Order(tuple(places[:count]), tuple(places[count:]))


def drifted(pair: Pair, primary: Endpoint) -> Optional[str]:
    """Why the order of the boots may have made the change, or None."""
    found, places = _drift(pair)
    if found is None or places is None or not found.explains(_size(primary), places):
        return None
    if found.clear:
        return f"{_trend(found)}, and the order of the boots lets it look like this change"
    how = "did not take turns"
    if places.takes_turns:
        how = f"of one side came {places.apart:.2g} boots later than those of the other"
    if not found.known:
        return f"the boots {how}, and whether there is a trend cannot be told"
    steep = f"{found.at_most * 100:.2g} % a boot"
    return f"the boots {how}, and a trend of {steep} is possible, which would do this"


def _size(primary: Endpoint) -> float:
    """The change in the logarithm, without its direction; where boots counted nothing what is known
    of it."""
    if primary.ratio_at_least:
        return max(0.0, math.log(primary.ratio_at_least))
    if primary.ratio:
        return abs(math.log(primary.ratio))
    return math.inf


def order_flags(pair: Pair) -> Iterator[str]:
    """What the order of the boots takes away from the comparison, one sentence each."""
    boots = len(pair.before.boots), len(pair.after.boots)
    if min(boots) < 2:
        return
    places = order_of(pair.before, pair.after)
    if places is None:
        yield "the order of the boots is not known: their runs have no times, or all the same"
    elif not places.takes_turns:
        yield (
            "the boots did not take turns: what changed in the meantime would look like a change "
            "of the settings"
        )
    found, _ = _drift(pair) if min(boots) >= ENOUGH_BOOTS else (None, None)
    if found is not None and found.clear:
        yield _trend(found)


def boots_to_find(pair: Pair, concluded: Verdict) -> Optional[int]:
    """How many boots an arm it would take to find a change as large as the one seen, where none was
    found; None where that cannot be told."""
    boots = min(len(pair.before.boots), len(pair.after.boots))
    few = concluded.word == DESCRIPTIVE and boots < ENOUGH_BOOTS
    if not permutation.available() or not (few or concluded.word == UNCHANGED):
        return None
    needed = power.boots_to_find(*pair.primary_values())
    return needed if needed and needed > boots else None


def _trend(found: drift.Drift) -> str:
    return f"{found.slope * 100:+.1f} % a boot is the trend within the arms"


def _drift(pair: Pair) -> tuple[Optional[drift.Drift], Optional[Order]]:
    places = order_of(pair.before, pair.after)
    if places is None or not permutation.available():
        return None, places
    ours, theirs = pair.primary_values()
    if (len(ours), len(theirs)) != (len(pair.before.boots), len(pair.after.boots)):
        return None, places
    return drift.drift(ours, theirs, places), places
