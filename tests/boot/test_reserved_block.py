# SPDX-License-Identifier: GPL-2.0-or-later
"""GRUB on btrfs: the part of the environment block that GRUB itself writes lies apart from the
file, where the file system reserves room (SUSE; GRUB 2.14)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from support import debs, reserved_block
from support.grub_emu import GrubEmu
from support.hosttree import NEEDS, OLDER, RELEASE, Host, entries_of, refusal
from support.reserved_block import BLOCK

pytest_plugins = ["support.hosttree"]
pytestmark = NEEDS

#: Where Namespace keeps the tree's /usr; the first folder in which programs are searched.
_PROGRAM = "usr/local/sbin/grub-editenv"


@pytest.mark.proof
def test_grub_clears_what_lies_in_the_block(host: Host, tmp_path: Path) -> None:
    header = reserved_block.header(host.read("etc/grub.d/00_header"))
    host.write("etc/grub.d/00_header", header)
    host.update_grub()
    host.done("apply")
    entry = f"{entries_of(host)[RELEASE]}-trial"
    armed = {"next_entry": f"lowlat>{entry}"}
    grub, apart = GrubEmu(debs.GRUB_2_14, tmp_path), {"env_block": "512+1"}
    boots = grub.boots(host.config, _block(1024, apart), 3, _block(512, armed))
    trial, *after = [each[-1] for each in boots]
    assert "one try" in trial and not [title for title in after if "lowlat" in title]


def _block(size: int, values: Mapping[str, str]) -> bytes:
    rows = "".join(f"{name}={value}\n" for name, value in values.items())
    return f"# GRUB Environment Block\n{rows}".encode().ljust(size, b"#")


def _reserve(host: Host) -> None:
    """Follow the hint of the refusal."""
    hint = refusal(host, "trial").rpartition("(")[2].rstrip(")\n")
    assert host.chroot("sh", "-c", hint).status == 0


@pytest.fixture
def suse(host: Host) -> Iterator[Host]:
    """The live machine, applied, with such a GRUB."""
    header = reserved_block.header(host.read("etc/grub.d/00_header"))
    host.write("etc/grub.d/00_header", header)
    host.write("etc/probe/fs", "btrfs\n")
    host.write(BLOCK, "")
    host.update_grub()
    host.done("apply")
    host.go_live()
    install = 'cat >"$1" && chmod 755 "$1"'
    program = host.path / _PROGRAM
    host.namespace.program("sh", "-c", install, "sh", program, stdin=reserved_block.EDITENV)
    _reserve(host)
    yield host
    host.namespace.must("rm", program)


def test_a_trial_is_set_where_grub_clears_it(suse: Host) -> None:
    trial = f"{entries_of(suse)[RELEASE]}-trial"
    assert "the next boot is" in suse.done("trial")
    assert suse.read(BLOCK) == f"next_entry=lowlat>{trial}\n"
    assert "next_entry" not in suse.environment()
    assert suse.status()["next"]["entry"] == trial
    suse.done("rollback")
    assert suse.read(BLOCK) == ""
    assert suse.environment() == {"env_block": "512+1"}


def test_what_grub_saved_there_counts(suse: Host) -> None:
    suse.write("etc/default/grub.d/saved.cfg", "GRUB_DEFAULT=saved\n")
    suse.update_grub()
    suse.write(BLOCK, "saved_entry=1>2\n")
    assert OLDER in suse.status()["default"]["entry"]


def test_a_tool_that_does_not_know_the_block_sets_nothing(suse: Host) -> None:
    suse.namespace.must("cp", "/usr/bin/grub-editenv", suse.path / _PROGRAM)
    before = suse.environment()
    assert "knows no env_block" in refusal(suse, "trial")
    assert suse.environment() == before


def test_a_configuration_that_does_not_clear_it_is_refused(suse: Host) -> None:
    old = suse.read("etc/grub.d/00_header").replace('save_env -f "\\${env_block}" next_entry', ":")
    suse.write("etc/grub.d/00_header", old)
    suse.update_grub()
    assert "btrfs" in refusal(suse, "trial")
