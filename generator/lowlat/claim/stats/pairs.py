# SPDX-License-Identifier: GPL-2.0-or-later
"""Pairs of boots, one of each arm: those of one block of a campaign; or, from their order in time,
two that follow each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_MOST_APART = 4


@dataclass(frozen=True)
class Pairs:
    """``boots`` are the places of each pair's two boots in their arms, in order of time; ``first``
    tells which one started first: 1 that of the first arm, -1 that of the second, 0 neither.
    ``blocks`` are the numbers of the pairs in their campaign; empty without one."""

    boots: tuple[tuple[int, int], ...]
    first: tuple[int, ...]
    blocks: tuple[int, ...] = ()

    @classmethod
    def of(cls, before: Sequence[float], after: Sequence[float]) -> Pairs:
        """The pairs of boots that started at these times. A boot that follows one of its own arm,
        and is followed by one, has no partner. Boots that started together are a pair."""
        boots = sorted(
            (time, times[:number].count(time), arm, number)
            for arm, times in enumerate((before, after))
            for number, time in enumerate(times)
        )
        pairs, first = [], []
        while len(boots) > 1:
            (time, _, arm, number), (later, _, other, partner) = boots[:2]
            if arm == other:
                del boots[0]
                continue
            del boots[:2]
            pairs.append((partner, number) if arm else (number, partner))
            first.append(0 if time == later else -1 if arm else 1)
        return cls(tuple(pairs), tuple(first))

    @classmethod
    def of_blocks(
        cls, before: Mapping[int, tuple[int, int]], after: Mapping[int, tuple[int, int]]
    ) -> Pairs:
        """The pairs of a campaign: of each block that both arms have, where the boot stands in its
        arm, and its number in the order."""
        blocks = sorted(before.keys() & after.keys())
        both = [(before[block], after[block]) for block in blocks]
        return cls(
            tuple((one[0], other[0]) for one, other in both),
            tuple(1 if one[1] < other[1] else -1 for one, other in both),
            tuple(blocks),
        )

    @property
    def alike(self) -> bool:
        """Whether the same arm came first in all pairs: a machine that is slower in every second
        boot then looks like a change."""
        return self.known and len({*self.first}) == 1

    @property
    def known(self) -> bool:
        """Whether it is known of every pair which of its boots was first."""
        return 0 not in self.first

    @property
    def alternate(self) -> bool:
        """Whether each pair has the other order than the one before it."""
        return self.known and all(one == -next_ for one, next_ in zip(self.first, self.first[1:]))


def is_lopsided(first: Sequence[int], *, drawn: bool = False) -> bool:
    """Whether more than three quarters of the pairs have the same order, 1 or -1: a machine that is
    slower in every second boot is then claimed as a change. Unless the order was ``drawn``, also
    whether one order has over four pairs more: with many pairs a quarter is not enough."""
    apart = abs(sum(first))
    return 2 * apart > len(first) or (not drawn and apart > _MOST_APART)
