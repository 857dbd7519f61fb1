# SPDX-License-Identifier: GPL-2.0-or-later
"""The order of the boots in time.

A relabelling says nothing of time. A machine that warms up, or a neighbour that goes home, looks
like a change where one arm came later than the other. Arms that take turns share such changes.
"""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

#: Arms take turns from so many stretches of boots of one arm on: three of each arm are the fewest
#: of which a step in the middle leaves an interval that holds.
TURNS = 6

#: Boots of a longer stretch resemble each other more than the stretches do.
_ALIKE = 2


@dataclass(frozen=True)
class Order:
    """Where in time each boot of the two arms came, from 0; those at the same time share one."""

    before: tuple[float, ...]
    after: tuple[float, ...]

    @cached_property
    def stretches(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """For each boot the stretch it lies in, counted from 0 in time. Boots that started together
        are taken for turns of both arms."""
        seen: Counter[tuple[int, float]] = Counter()
        boots = []
        for arm, places in enumerate((self.before, self.after)):
            for number, place in enumerate(places):
                boots.append((place, seen[arm, place], arm, number))
                seen[arm, place] += 1
        found: tuple[dict[int, int], dict[int, int]] = ({}, {})
        stretch, last = -1, -1
        for _, _, arm, number in sorted(boots):
            stretch += arm != last
            found[arm][number], last = stretch, arm
        one, other = (tuple(arm[n] for n in range(len(arm))) for arm in found)
        return one, other

    @property
    def count(self) -> int:
        """How many stretches there are."""
        return max(*self.stretches[0], *self.stretches[1]) + 1

    @property
    def takes_turns(self) -> bool:
        return self.count >= TURNS

    @property
    def long(self) -> bool:
        """Whether some stretch has so many boots that stretches, not boots, are what repeats."""
        return max(Counter([*self.stretches[0], *self.stretches[1]]).values()) > _ALIKE
