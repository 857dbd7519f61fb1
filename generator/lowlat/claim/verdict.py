# SPDX-License-Identifier: GPL-2.0-or-later
"""The conclusion: reduced, increased, no measurable change, descriptive only, or refused."""

from dataclasses import dataclass

from lowlat.claim.pair import ComparedFigure
from lowlat.claim.stats.samples import ALPHA

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


def in_words(verdict: str) -> str:
    """A verdict as people read it."""
    return verdict.replace("-", " ")


def word_of(figure: ComparedFigure) -> str:
    """The verdict about a figure that was tested."""
    if not figure.changed:
        return UNCHANGED
    return REDUCED if (figure.ratio_at_least or 0.0) > 1 else INCREASED


def of(primary: ComparedFigure, over: str) -> Verdict:
    """The verdict of a primary endpoint that was tested ``over`` pairs, or what else, in words."""
    word, p = word_of(primary), primary.p if primary.p is not None else 1.0
    basis = f"p = {p:.2g}, {over}"
    if word != UNCHANGED:
        return Verdict(word, basis)
    if p <= ALPHA:
        basis = f"{basis}; the interval includes 1 because it allows for more than the test does"
    return Verdict(word, f"{basis}{_excluded(primary)}")


def _excluded(primary: ComparedFigure) -> str:
    low, high = primary.ci95 or (primary.ratio_at_least, None)
    if high is not None and low is not None and high - low < _SAME:
        return "; both boots of each pair show the same value"
    if not low and high is None:
        return "; no ratio is excluded, for the figures lie below what the runs can tell"
    if high is None:
        return f"; ratios below {low:.3g} are excluded (95 %)"
    if low and high and not low <= 1 <= high:
        return ""  # p was adjusted for several arms, the interval was not
    below = f"below {low:.3g} and " if low else ""
    return f"; ratios {below}above {high:.3g} are excluded (95 %)"
