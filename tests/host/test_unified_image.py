# SPDX-License-Identifier: GPL-2.0-or-later
"""What a unified kernel image says of itself, and that a broken one is no trouble."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from lowlat.base import bounds
from lowlat.host.root import Root
from lowlat.host.unified_image import UnifiedImage, read
from support.unified_images import image, pe

SYSTEM = "Debian GNU/Linux 13 (trixie)"


def told(tmp_path: Path, content: bytes) -> UnifiedImage:
    (tmp_path / "linux.efi").write_bytes(content)
    return read(Root(str(tmp_path)), "/linux.efi")


def test_line_release_and_system_are_read(tmp_path: Path) -> None:
    line = "root=UUID=1\tro quiet\n\0\0"
    assert told(tmp_path, image("6.12.5", line)) == UnifiedImage(
        "root=UUID=1 ro quiet", "6.12.5", SYSTEM
    )


def test_the_first_profile_is_the_one_that_boots(tmp_path: Path) -> None:
    first = ((".profile", b"ID=main\n"), (".cmdline", b"one"))
    second = ((".profile", b"ID=rescue\n"), (".cmdline", b"two"), (".uname", b"1.0"))
    assert told(tmp_path, image("6.12.5", "base", *first, *second)).line == "one"
    assert told(tmp_path, image("6.12.5", "base", first[0], *second)) == UnifiedImage(
        "base", "6.12.5", SYSTEM
    )


@pytest.mark.parametrize(
    "content",
    [b"", b"image\n", b"MZ" * 64, pe([]), image("../../x", ""), image("6.1\n/y", "")],
    ids=["empty", "text", "no-pe", "no-sections", "path", "rows"],
)
def test_what_tells_no_release_has_none(tmp_path: Path, content: bytes) -> None:
    assert told(tmp_path, content).release == ""


@pytest.mark.security
def test_a_broken_image_costs_and_claims_nothing(tmp_path: Path) -> None:
    whole = image("6.12.5")
    for size in range(0, len(whole), 97):
        assert told(tmp_path, whole[:size]).release in ("", "6.12.5")
    chance = random.Random(7)
    for _ in range(500):
        broken = bytearray(whole)
        for _ in range(8):
            broken[chance.randrange(0x240)] = chance.randrange(256)
        told(tmp_path, bytes(broken))
    long = image("6.12.5", "x" * (bounds.BOOT_LINE + 1))
    assert told(tmp_path, long) == UnifiedImage()
