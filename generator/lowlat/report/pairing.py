# SPDX-License-Identifier: GPL-2.0-or-later
"""Which boots of two arms are tested against each other: those that are pairs, in order of time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Optional

from lowlat.report import comparable
from lowlat.report.arm import Arm
from lowlat.report.stats import flips
from lowlat.report.stats.flips import ENOUGH_PAIRS
from lowlat.report.stats.pairs import Pairs

#: How the order within the pairs came about, as far as the runs show it.
DRAWN = "drawn"
NOT_DRAWN = "not drawn"
UNKNOWN = "not known"


@dataclass(frozen=True)
class Pairing:
    """Two arms; if they can be tested, their pairs of boots only. ``untested`` is the reason why
    they cannot, or None. ``unpaired`` are the files of the boots of either arm that were left out
    for want of a partner."""

    before: Arm
    after: Arm
    pairs: Pairs
    untested: Optional[str]
    unpaired: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())

    @classmethod
    def of(cls, before: Arm, after: Arm) -> Pairing:
        pairs = pairs_of(before, after)
        why = _untested(before, after, pairs)
        if why or pairs is None:
            return cls(before, after, pairs or Pairs((), ()), why)
        arms, left = [], []
        for arm, places in zip((before, after), zip(*pairs.boots)):
            arms.append(arm.of_boots(places))
            others = (boot for n, boot in enumerate(arm.boots) if n not in places)
            left.append(tuple(run.path.name for boot in others for run in boot))
        aligned = replace(pairs, boots=tuple((n, n) for n in range(len(pairs.boots))))
        return cls(arms[0], arms[1], aligned, None, (left[0], left[1]))

    @property
    def order(self) -> str:
        """The order within the pairs, in words."""
        return order_words(self.pairs)

    @property
    def words(self) -> str:
        """What a test is made over, with what weakens it."""
        return over(f"{len(self.pairs.boots)} pairs", self.order)

    def flags(self) -> Iterator[str]:
        """What the reader has to know about the pairs, one sentence each."""
        if any(self.unpaired):
            names = ", ".join(name for arm in self.unpaired for name in arm)
            yield f"boots without a partner of the other kind beside them are left out: {names}"
        if not self.untested and len(self.pairs.boots) == ENOUGH_PAIRS:
            yield (
                f"{ENOUGH_PAIRS} pairs make a finding only if all agree; the interval is that of "
                "the least and the greatest pair (96.9 %), or wider"
            )


def over(units: str, order: str) -> str:
    """So many units of a test, with the order within them if it was not drawn."""
    return units if order == DRAWN else f"{units}, order {order}"


def order_words(pairs: Pairs) -> str:
    """The order within the pairs, in words."""
    return DRAWN if pairs.drawn else NOT_DRAWN if pairs.known else UNKNOWN


def boot_words(boots: tuple[int, int], counted: str = "boot") -> str:
    """The number of boots behind the figures, or of what else is ``counted``, as text."""
    one, other = boots
    if one == other:
        return f"{one} {counted}{'s' if one > 1 else ''} each"
    return f"{one} against {other} {counted}s"


def pairs_of(before: Arm, after: Arm) -> Optional[Pairs]:
    """The pairs of boots; None if the order of the boots is not known, or the same time for all."""
    ours, theirs = ([time for time in arm.starts if time is not None] for arm in (before, after))
    known = len(ours) == len(before.starts) and len(theirs) == len(after.starts)
    return Pairs.of(ours, theirs) if known and len({*ours, *theirs}) > 1 else None


def _untested(before: Arm, after: Arm, pairs: Optional[Pairs]) -> Optional[str]:
    boots, counted = (len(before.boots), len(after.boots)), before.counted
    if why := comparable.unnamed(before, after):
        return why
    if min(boots) < ENOUGH_PAIRS:
        return f"{boot_words(boots, counted)}; a test needs {ENOUGH_PAIRS} pairs of {counted}s"
    why = comparable.doubt(before, after) or _out_of_turn(before, after, pairs)
    if not why and not flips.available():
        why = "scipy and numpy are not installed"
    return f"{boot_words(boots, counted)}; no test is made: {why}" if why else None


def _out_of_turn(before: Arm, after: Arm, pairs: Optional[Pairs]) -> Optional[str]:
    if pairs is None:
        return "the order of the boots is not known"
    count = len(pairs.boots)
    if count < ENOUGH_PAIRS:
        return (
            f"the boots make {count} pair{'s' if count != 1 else ''} that follow each other, so "
            "that any other change meanwhile looks like an effect of the settings; a test needs "
            f"{ENOUGH_PAIRS} pairs, the order within each drawn"
        )
    if pairs.alike:
        first, second = (before, after) if pairs.first[0] > 0 else (after, before)
        return (
            f"{first.name} came before {second.name} in every pair, so that a machine that is "
            "slower in every second boot looks like an effect of the settings; draw the order of "
            "each pair"
        )
    return None
