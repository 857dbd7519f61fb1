# SPDX-License-Identifier: GPL-2.0-or-later
"""Pairs of boots, from their order in time: two boots that follow each other, one of each arm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Pairs:
    """``boots`` are the places of each pair's two boots in their arms, in order of time; ``first``
    tells which one started first: 1 that of the first arm, -1 that of the second, 0 neither."""

    boots: tuple[tuple[int, int], ...]
    first: tuple[int, ...]

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
    def drawn(self) -> bool:
        """Whether the order within the pairs may have been drawn: it is known and does not
        alternate."""
        alternate = all(one == -other for one, other in zip(self.first, self.first[1:]))
        return self.known and not self.alike and not alternate
