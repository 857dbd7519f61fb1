# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's amounts stand in the units in which people read them."""

from __future__ import annotations

import pytest

from lowlat.base.amounts import readable


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("115200K", "112.5 MiB"),
        ("1280K", "1.25 MiB"),
        ("48K", "48 KiB"),
        ("0 kB", "0 KiB"),
        ("66019000 kB", "63 GiB"),
        ("maximum frequency 5157900 kHz", "maximum frequency 5.16 GHz"),
        ("800000 kHz of 3000000 kHz", "800 MHz of 3 GHz"),
        ("capacity 1024", "capacity 1024"),
        ("Core i5-14600K", "Core i5-14600K"),
    ],
)
def test_amounts_are_scaled(text: str, expected: str) -> None:
    assert readable(text) == expected
