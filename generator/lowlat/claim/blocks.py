# SPDX-License-Identifier: GPL-2.0-or-later
"""The blocks of a campaign: which of its numbers two arms have, and which boots are lost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lowlat.figures.measured_arm import Arm
from lowlat.model.campaign import WHEN_CLEAR, Campaign
from lowlat.model.run import Run


def is_in(campaign: Campaign, run: Run) -> bool:
    """Whether a run is of a boot of this campaign."""
    place = run.campaign
    ours = place and place.digest == campaign.digest and run.host.name in campaign.hosts
    return bool(ours and place and 0 < place.number <= len(campaign.order))


def place_in_order(run: Run) -> int:
    """Of its boot in the order of its campaign, from 1; 0 for a run of none."""
    return run.campaign.number if run.campaign else 0


def arm_due(campaign: Campaign, run: Run) -> str:
    """The arm that the order gives to the boot of a run."""
    return campaign.order[place_in_order(run) - 1]


def arm_of_runs(campaign: Campaign, runs: Iterable[Run]) -> str:
    """The arm of the campaign that these runs are of, as most of them say; "" if none is."""
    arms = [arm_due(campaign, run) for run in runs if is_in(campaign, run)]
    return max(arms, key=arms.count, default="")


def last_due(campaign: Campaign, runs: Iterable[Run]) -> int:
    """The last number that is due. A sequential test may end after any pair."""
    last = len(campaign.order)
    if campaign.stop == WHEN_CLEAR:
        seen = max((place_in_order(run) for run in runs if is_in(campaign, run)), default=0)
        last = min(last, 2 * -(-seen // 2))
    return last


@dataclass(frozen=True)
class Blocks:
    """The blocks of a campaign, of so many numbers each: one boot of every arm; of pairs within
    boots the runs of a boot."""

    campaign: Campaign
    size: int

    @classmethod
    def of(cls, campaign: Campaign) -> Blocks:
        return cls(campaign, len(campaign.arms))

    def places(self, arm: Arm) -> dict[int, tuple[int, int]]:
        """By block where the arm's boot stands in the arm, and its number: of those blocks of
        which the arm has every number that the order gives it."""
        own = arm_of_runs(self.campaign, arm.runs)
        found: dict[int, tuple[int, int]] = {}
        have = set()
        for place, boot in enumerate(arm.boots):
            numbers = {place_in_order(run) for run in boot if self._counts(run, own)}
            have |= numbers
            if numbers:
                found.setdefault((min(numbers) - 1) // self.size, (place, min(numbers)))
        return {block: one for block, one in found.items() if self._wanted(block, own) <= have}

    def due(self, arms: Sequence[Arm]) -> range:
        """The blocks that should have been measured."""
        return range(last_due(self.campaign, (r for arm in arms for r in arm.runs)) // self.size)

    def order(self, arms: Sequence[Arm]) -> tuple[int, ...]:
        """Of all blocks that should have been measured, whether the first of two arms is the first:
        1, or -1."""
        one, other = (arm_of_runs(self.campaign, arm.runs) for arm in arms)
        at = self.campaign.order.index
        starts = [block * self.size for block in self.due(arms)] if one and other else []
        return tuple(1 if at(one, n) < at(other, n) else -1 for n in starts)

    def _counts(self, run: Run, own: str) -> bool:
        return is_in(self.campaign, run) and arm_due(self.campaign, run) == own

    def _wanted(self, block: int, own: str) -> set[int]:
        numbers = range(block * self.size + 1, (block + 1) * self.size + 1)
        return {n for n in numbers if self.campaign.order[n - 1] == own}
