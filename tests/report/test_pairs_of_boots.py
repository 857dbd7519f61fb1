# SPDX-License-Identifier: GPL-2.0-or-later
"""Pairs of boots from their order in time."""

from __future__ import annotations

import pytest

from lowlat.report.stats.pairs import Pairs


def laid_out(order: str) -> Pairs:
    """The pairs of boots given as letters in time, A of the first arm and B of the second."""
    before, after = ([float(n) for n, one in enumerate(order) if one == arm] for arm in "AB")
    return Pairs.of(before, after)


@pytest.mark.parametrize(
    ("order", "pairs", "alike", "drawn"),
    [
        ("ABBAABABBAAB", 6, False, True),
        ("ABABABABABAB", 6, True, False),
        ("BABABA", 3, True, False),
        ("ABBAABBAABBA", 6, False, False),
        ("BAABBAAB", 4, False, False),
        ("AAAAABBBBB", 1, True, False),
        # Boots without a partner.
        ("ABBABBAAB", 4, False, True),
        ("ABBABBABB", 3, False, True),
        ("AAA", 0, False, False),
    ],
)
def test_pairs_are_boots_that_follow_each_other(
    order: str, pairs: int, alike: bool, drawn: bool
) -> None:
    found = laid_out(order)
    assert (len(found.boots), found.alike, found.drawn) == (pairs, alike, drawn)


def test_a_pair_tells_its_boots_and_which_came_first() -> None:
    assert laid_out("ABBAAB") == Pairs(((0, 0), (1, 1), (2, 2)), (1, -1, 1))
    # The second boot of B has no partner.
    assert laid_out("ABBBA") == Pairs(((0, 0), (1, 2)), (1, -1))
    # The order is that of the times, not of the files.
    assert Pairs.of([5.0, 1.0], [2.0, 4.0]) == Pairs(((1, 0), (0, 1)), (1, -1))


def test_boots_that_start_together_are_pairs_in_no_order() -> None:
    together = Pairs.of([0.0, 1.0, 2.0], [0.0, 1.0, 2.0])
    assert together == Pairs(((0, 0), (1, 1), (2, 2)), (0, 0, 0))
    assert not together.alike and not together.drawn
    assert Pairs.of([3.0, 3.0], [3.0, 3.0]).boots == ((0, 0), (1, 1))
