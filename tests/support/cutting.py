# SPDX-License-Identifier: GPL-2.0-or-later
"""A host on which a verb is cut in each call that writes, and what has to hold after each cut.
(PYTEST_DONT_REWRITE)"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Callable

import pytest

from support.hosttree import Host, linux_lines
from support.powercut import ALL, Cutting, calls, logged

Tell = Callable[[str], None]

_KEPT = ("boot", "etc", "var", "proc", "sys/firmware")

#: The distances between the cuts of a sample: among calls that change names, and among all calls.
_NEAR, _FAR = 32, 96

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
