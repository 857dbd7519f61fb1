# SPDX-License-Identifier: GPL-2.0-or-later
"""Power cuts, first layer: a verb, or a program that the verb started, dies in a call that writes.
The resulting disk boots the stock entries, and rollback restores every byte.

Without LOWLAT_CUTS=1 a verb with many calls is cut in a sample of them: in every 32nd that
changes a name and in every 96th of all.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest
from test_bls import DEBIAN, FEDORA, make_debian, make_fedora, try_entry

from support.cutting import Cut, Tell, cut_everywhere
from support.hosttree import NEEDS, apply_and_try, make
from support.powercut import NEEDS_CC, Cutting, logged, sample

pytest_plugins = ["support.hosttree", "support.powercut", "support.cutting"]
pytestmark = [*NEEDS, NEEDS_CC]


@pytest.mark.parametrize(
    "verb", sample(["apply", "promote", "rollback"], "trial", "start", "record")
)
def test_every_cut_is_survived(
    tmp_path: Path, cutting: Cutting, kept: Path, tell: Tell, verb: str
) -> None:
    host = make(tmp_path / "host", cutting)
    cut = Cut(host, cutting, kept)
    defaults = {host.status()["default"]["entry"]}
    if verb in ("trial", "start", "record"):
        host.done("apply")
    if verb in ("start", "record"):
        host.done("trial")
        host.boot(host.status()["next"]["entry"], "boot-1")
    if verb in ("promote", "rollback"):
        defaults.add(apply_and_try(host))
    if verb == "rollback":
        host.done("promote")
    words = ("boot", verb) if verb in ("start", "record") else (verb,)
    tell(cut_everywhere(cut, words, defaults))


def test_the_calls_of_grub_editenv_are_cut_too(
    tmp_path: Path, cutting: Cutting, kept: Path
) -> None:
    """A sample may skip these calls, so all of them are cut here. The block is never empty."""
    host = make(tmp_path / "host", cutting)
    host.done("apply")
    cut = Cut(host, cutting, kept)
    cut.keep()
    assert cut.run(-1, "trial").status == 0
    inside = [call for call in logged(host) if "/grubenv" in call.path and call.name != "fsync"]
    assert {call.name for call in inside} >= {"open", "write", "rename"}
    for call in inside:
        cut.again()
        assert cut.run(call.number, "trial").status == -9, call
        assert len((host.path / "boot/grub/grubenv").read_bytes()) == 1024, call
        assert host.status()["next"] is None, call
        host.done("trial")
        assert host.status()["next"], call


def with_entry_files(cut: Cut, verb: str, folder: str) -> str:
    host = cut.host
    defaults = {host.status()["default"]["entry"]}
    if verb != "apply":
        defaults.add(try_entry(host, folder))
    if verb == "rollback":
        host.done("promote")
    return cut_everywhere(cut, (verb,), defaults)


@pytest.mark.parametrize("verb", sample(["apply"], "promote", "rollback"))
def test_every_cut_is_survived_with_entry_files(
    tmp_path: Path, cutting: Cutting, kept: Path, tell: Tell, verb: str
) -> None:
    host = make_fedora(tmp_path / "host", cutting)
    done = with_entry_files(Cut(host, cutting, kept, FEDORA), verb, FEDORA)
    tell(f"GRUB with entry files, {done}")


@pytest.mark.parametrize("verb", sample(["apply"], "promote", "rollback"))
def test_every_cut_is_survived_with_systemd_boot(
    tmp_path: Path, cutting: Cutting, kept: Path, tell: Tell, verb: str
) -> None:
    host = make_debian(tmp_path / "host", cutting)
    done = with_entry_files(Cut(host, cutting, kept, DEBIAN), verb, DEBIAN)
    tell(f"systemd-boot, {done}")
    # There is no cut inside bootctl: bootctl sets a variable by one call, and the firmware stores
    # variables atomically. The files lie on FAT, which has no owners and no links.
    on_fat = [call for call in logged(host) if "/boot/efi/" in call.path]
    asked = {call.name for call in on_fat}
    assert verb != "apply" or "rename" in asked
    assert asked <= {"open", "write", "chmod", "fsync", "rename", "unlink"}
    # An fsync of a renamed file also writes its new place; the folder needs no fsync.
    pairs = [pair for pair in itertools.pairwise(on_fat) if pair[0].name == "rename"]
    assert all((then.name, then.path) == ("fsync", os.fsdecode(r.data)) for r, then in pairs)
