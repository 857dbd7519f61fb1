# SPDX-License-Identifier: GPL-2.0-or-later
"""The order of a campaign: blocks of one boot of every arm, drawn and balanced."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

_Arm = TypeVar("_Arm")


def draw_blocks(arms: Sequence[_Arm], blocks: int, draw: random.Random) -> list[list[_Arm]]:
    """So many blocks, the arms of each in random order. Of any two arms either one comes first in
    as many blocks, or in one more: half of the blocks are drawn, the other half are the same ones
    the other way round, and all are shuffled. More than two blocks do not just turn round from one
    to the next, which a machine that is slower in every second block would favour."""
    while True:
        half = [draw.sample(arms, len(arms)) for _ in range(-(-blocks // 2))]
        drawn = [*half, *(block[::-1] for block in half)][:blocks]
        draw.shuffle(drawn)
        turning = all(block == last[::-1] for last, block in zip(drawn, drawn[1:]))
        if blocks < 3 or len(arms) < 2 or not turning:
            return drawn
