# SPDX-License-Identifier: GPL-2.0-or-later
"""Power cuts, first layer: a verb, or a program that the verb started, dies in a call that writes.
The resulting disk boots the stock entries, and rollback restores every byte.

Without LOWLAT_CUTS=1 a verb with many calls is cut in a sample of them: in every 16th that
changes a name and in every 48th of all.
"""

from __future__ import annotations

import itertools
import os
import shutil
from pathlib import Path
from typing import Any, Callable

import pytest
from hosttree import NEEDS, Host, apply_and_try, linux_lines, make
from powercut import ALL, NEEDS_CC, Cutting, calls, logged, sample
from test_bls import DEBIAN, FEDORA, make_debian, make_fedora, try_entry

pytest_plugins = ["hosttree", "powercut"]
pytestmark = [*NEEDS, NEEDS_CC]

Tell = Callable[[str], None]

_KEPT = ("boot", "etc", "var", "proc", "sys/firmware")

#: The distances between the cuts of a sample: among calls that change names, and among all calls.
_NEAR, _FAR = 16, 48

#: A verb with this many calls or fewer is cut in each of them.
_FEW = 16


class Cut:
    """A host that is reset to its stored state before each cut. ``entries`` is its folder of entry
    files; without such a folder the host has grub.cfg."""

    def __init__(self, host: Host, namespace: Cutting, kept: Path, entries: str = "") -> None:
        self.host = host
        self._namespace = namespace
        self._kept = kept
        self._entries = entries
        self.pristine = host.snapshot()
        self.stock = self.lines()

    def lines(self) -> dict[str, Any]:
        """The lines or files that the stock entries boot: rows of grub.cfg, or files."""
        if not self._entries:
            return dict(linux_lines(self.host.config))
        files = (self.host.path / self._entries).glob("*.conf")
        return {path.name: path.read_bytes() for path in files}

    def check_config(self, where: str) -> None:
        for name in ("boot/grub/grub.cfg", "boot/grub2/grub.cfg"):
            if (self.host.path / name).exists():
                assert self.host.chroot("grub-script-check", f"/{name}").status == 0, where

    def keep(self) -> None:
        for name in self._names():
            shutil.copytree(self.host.path / name, self._kept / name, symlinks=True)

    def again(self) -> None:
        for name in self._names():
            shutil.rmtree(self.host.path / name)
            shutil.copytree(self._kept / name, self.host.path / name, symlinks=True)

    def _names(self) -> list[str]:
        return [name for name in _KEPT if (self.host.path / name).exists()]

    def run(self, at: int, *words: str) -> Any:
        return self._namespace.run(self.host, at, *words)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    folder = tmp_path / "kept"
    folder.mkdir()
    return folder


def check_survives(cut: Cut, where: str, defaults: set[str]) -> None:
    host = cut.host
    cut.check_config(where)
    lines = cut.lines()
    assert {ident: lines.get(ident) for ident in cut.stock} == cut.stock, where
    status = host.status()
    assert status["default"]["entry"] in defaults, where
    assert status["state"] in _STATES, where
    answer = host.lowlat("rollback")
    assert (answer.status, answer.err) == (0, ""), (where, answer)
    assert cut.host.snapshot() == cut.pristine, where


def check_twice(cut: Cut, where: str) -> None:
    """A second rollback changes nothing."""
    assert cut.host.lowlat("rollback").status == 0, where
    assert cut.host.snapshot() == cut.pristine, where


_STATES = {"none", "applied", "trial-set", "tried", "promoted", "interrupted"}


def cut_everywhere(cut: Cut, words: tuple[str, ...], defaults: set[str]) -> str:
    """Cut the verb in every call; returns a summary."""
    cut.keep()
    answer = cut.run(-1, *words)
    assert answer.status == 0, answer
    count = calls(cut.host)
    assert count > 5
    tried = chosen(cut.host, count)
    where = ""
    for at in tried:
        cut.again()
        answer = cut.run(at, *words)
        assert answer.status == -9, (words, at, answer)
        where = f"{' '.join(words)}, cut in call {at} of {count}"
        check_survives(cut, where, defaults)
    check_twice(cut, where)
    return f"{' '.join(words)}: {len(tried)} cuts in {count} calls tried, {len(tried)} survived"


def chosen(host: Host, count: int) -> list[int]:
    """The numbers of the calls to cut: all of them, or a sample that is denser where names
    change."""
    if ALL or count <= _FEW:
        return list(range(1, count + 1))
    renames = [call.number for call in logged(host) if call.name in ("rename", "symlink", "rmdir")]
    return sorted({*renames[::_NEAR], renames[-1], *range(2, count, _FAR), 1, count})


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
