# SPDX-License-Identifier: GPL-2.0-or-later
"""Pairs of boots from their order in time."""

from __future__ import annotations

import pytest

from lowlat.claim.stats.pairs import Pairs, is_lopsided


def laid_out(order: str) -> Pairs:
    """The pairs of boots given as letters in time, A of the first arm and B of the second."""
    before, after = ([float(n) for n, one in enumerate(order) if one == arm] for arm in "AB")
    return Pairs.of(before, after)


@pytest.mark.parametrize(
    ("order", "pairs", "alike", "alternate"),
    [
        ("ABBAABABBAAB", 6, False, False),
        ("ABABABABABAB", 6, True, False),
        ("BABABA", 3, True, False),
        ("ABBAABBAABBA", 6, False, True),
        ("BAABBAAB", 4, False, True),
        # Boots without a partner.
        ("ABBABBAAB", 4, False, False),
        ("ABBABBABB", 3, False, False),
    ],
)
def test_pairs_are_boots_that_follow_each_other(
    order: str, pairs: int, alike: bool, alternate: bool
) -> None:
    found = laid_out(order)
    assert (len(found.boots), found.alike, found.alternate) == (pairs, alike, alternate)


def test_a_pair_tells_its_boots_and_which_came_first() -> None:
    assert laid_out("ABBAAB") == Pairs(((0, 0), (1, 1), (2, 2)), (1, -1, 1))
    # The second boot of B has no partner.
    assert laid_out("ABBBA") == Pairs(((0, 0), (1, 2)), (1, -1))
    # The order is that of the times, not of the files.
    assert Pairs.of([5.0, 1.0], [2.0, 4.0]) == Pairs(((1, 0), (0, 1)), (1, -1))


def test_boots_that_start_together_are_pairs_in_no_order() -> None:
    together = Pairs.of([0.0, 1.0, 2.0], [0.0, 1.0, 2.0])
    assert together == Pairs(((0, 0), (1, 1), (2, 2)), (0, 0, 0))
    assert not together.alike and not together.alternate
    assert Pairs.of([3.0, 3.0], [3.0, 3.0]).boots == ((0, 0), (1, 1))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (6, 2, False),
        (7, 1, True),
        (8, 2, True),
        (7, 3, False),
        (5, 1, True),
        (4, 2, False),
        (8, 3, True),
        (9, 3, True),
    ],
)
def test_a_quarter_of_the_pairs_has_the_rarer_order(
    first: int, second: int, expected: bool
) -> None:
    assert is_lopsided([1] * first + [-1] * second) is expected
    assert is_lopsided([-1] * first + [1] * second) is expected


def test_a_drawn_order_may_be_further_apart() -> None:
    assert not is_lopsided([1] * 13 + [-1] * 7, drawn=True) and is_lopsided([1] * 13 + [-1] * 7)
