# SPDX-License-Identifier: GPL-2.0-or-later
"""Which boots of two arms are tested against each other: those that are pairs, in order of time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Optional

from lowlat.claim import comparable
from lowlat.claim.blocks import Blocks
from lowlat.claim.caveat import Caveat, FoundCaveat
from lowlat.claim.stats import flips
from lowlat.claim.stats.flips import ENOUGH_PAIRS
from lowlat.claim.stats.pairs import Pairs, is_lopsided
from lowlat.figures.measured_arm import Arm

#: How the order within the pairs came about: a campaign drew it, it alternates or is the same in
#: all, or nobody knows.
DRAWN = "drawn"
NOT_DRAWN = "not drawn"
UNKNOWN = "not known"

#: What stands beside a verdict where the order was not drawn, or is not known to be.
ORDERS = {DRAWN: "", NOT_DRAWN: "order not drawn", UNKNOWN: "order not known to be drawn"}

#: What is told of the fewest pairs.
ALL_AGREE = (
    f"{ENOUGH_PAIRS} pairs make a finding only if all agree; the interval is that of "
    "the least and the greatest pair (96.9 %), or wider"
)

_NO_ARMS = Arm("", ()), Arm("", ())


@dataclass(frozen=True)
class Pairing:
    """Two arms; if they can be tested, their pairs of boots only. ``untested`` is the reason why
    they cannot, or None. ``unpaired`` are the files of the boots of either arm that were left out
    for want of a partner. ``lone`` are the arms' boots whose partner is lost, in the ``missing``
    blocks of the campaign: first those of the first arm's lone boots, then those of the second
    arm's, then those without any boot."""

    before: Arm
    after: Arm
    pairs: Pairs
    untested: Optional[str]
    unpaired: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    lone: tuple[Arm, Arm] = _NO_ARMS
    missing: tuple[int, ...] = ()

    @classmethod
    def of(cls, before: Arm, after: Arm, blocks: Optional[Blocks] = None) -> Pairing:
        """By the numbers of a campaign, in its ``blocks``; without one by time."""
        arms = before, after
        pairs = _of_blocks(arms, blocks) if blocks else pairs_of(before, after)
        why = _untested(before, after, pairs, blocks)
        if why or pairs is None:
            return cls(before, after, pairs or Pairs((), ()), why)
        kept, left = [], []
        for arm, places in zip(arms, zip(*pairs.boots)):
            kept.append(arm.of_boots(places))
            others = (boot for n, boot in enumerate(arm.boots) if n not in places)
            left.append(tuple(run.path.name for boot in others for run in boot))
        aligned = replace(pairs, boots=tuple((n, n) for n in range(len(pairs.boots))))
        lone, missing = _lacking(arms, blocks) if blocks else (_NO_ARMS, ())
        return cls(kept[0], kept[1], aligned, None, (left[0], left[1]), lone, missing)

    @property
    def order(self) -> str:
        """How the order within the pairs came about, one of the three words above."""
        if self.pairs.alike or self.pairs.alternate:
            return NOT_DRAWN
        return DRAWN if self.pairs.blocks else UNKNOWN

    @property
    def words(self) -> str:
        """What a test is made over, with what weakens it."""
        return over(f"{len(self.pairs.boots)} pairs", self.order, len(self.missing))

    @property
    def neither(self) -> int:
        """The missing pairs without any boot."""
        return len(self.missing) - sum(len(arm.boots) for arm in self.lone)

    def flags(self) -> Iterator[str]:
        """What the reader has to know about the pairs, one sentence each."""
        if any(self.unpaired):
            names = ", ".join(name for arm in self.unpaired for name in arm)
            yield f"boots without a partner of the other kind beside them are left out: {names}"
        if not self.untested and len(self.pairs.boots) == ENOUGH_PAIRS:
            yield ALL_AGREE


def over(units: str, order: str, lost: int = 0) -> str:
    """So many units of a test, with the order within them if it was not drawn, and the number of
    units that lack a boot."""
    lacking = (
        "1 more lacks a boot and counts" if lost == 1 else f"{lost} more lack a boot and count"
    )
    against = f"{lacking} against it" if lost else ""
    return ", ".join(filter(None, (units, against, ORDERS[order])))


def order_caveats(order: str) -> Iterator[FoundCaveat]:
    """What weakens a test of pairs in this order."""
    kinds = {NOT_DRAWN: Caveat.ORDER_NOT_DRAWN, UNKNOWN: Caveat.ORDER_NOT_KNOWN}
    if order in kinds:
        yield FoundCaveat(kinds[order], ORDERS[order])


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


def _of_blocks(arms: tuple[Arm, Arm], blocks: Blocks) -> Pairs:
    one, other = map(blocks.places, arms)
    return Pairs.of_blocks(one, other)


def _lacking(arms: tuple[Arm, Arm], blocks: Blocks) -> tuple[tuple[Arm, Arm], tuple[int, ...]]:
    """The boots whose partner is lost, and the blocks of the campaign that lack a boot."""
    one, other = map(blocks.places, arms)
    single = sorted(one.keys() - other.keys()), sorted(other.keys() - one.keys())
    neither = sorted(set(blocks.due(arms)) - one.keys() - other.keys())
    lone = (
        arms[0].of_boots(one[block][0] for block in single[0]),
        arms[1].of_boots(other[block][0] for block in single[1]),
    )
    return lone, (*single[0], *single[1], *neither)


def _untested(
    before: Arm, after: Arm, pairs: Optional[Pairs], blocks: Optional[Blocks]
) -> Optional[str]:
    boots, counted = (len(before.boots), len(after.boots)), before.counted
    if why := comparable.unnamed(before, after):
        return why
    if min(boots) < ENOUGH_PAIRS:
        return f"{boot_words(boots, counted)}; a test needs {ENOUGH_PAIRS} pairs of {counted}s"
    why = comparable.doubt(before, after) or _out_of_turn(before, after, pairs)
    if not why and blocks:
        why = _lopsided(blocks.order((before, after)), drawn=True)
    elif not why and pairs:
        why = _lopsided(pairs.first, drawn=False)
    if not why and not flips.available():
        why = "scipy and numpy are not installed"
    return f"{boot_words(boots, counted)}; no test is made: {why}" if why else None


def _out_of_turn(before: Arm, after: Arm, pairs: Optional[Pairs]) -> Optional[str]:
    if pairs is None:
        return "the order of the boots is not known"
    count = len(pairs.boots)
    if count < ENOUGH_PAIRS and pairs.blocks:
        whole = "1 pair of the campaign is" if count == 1 else f"{count} pairs of the campaign are"
        return f"{whole} complete; a test needs {ENOUGH_PAIRS}"
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


def _lopsided(first: Sequence[int], *, drawn: bool) -> Optional[str]:
    """Why nothing is tested if too many pairs have the same order, 1 or -1; 0 is neither."""
    if not is_lopsided(first, drawn=drawn):
        return None
    rarer = (len(first) - abs(sum(first))) // 2
    return (
        f"{rarer} of {len(first)} pairs have the rarer order, so that a machine that is slower in "
        "every second boot looks like an effect of the settings; a test needs a quarter of them, "
        "and no more than four fewer than the others"
    )
