# SPDX-License-Identifier: GPL-2.0-or-later
"""Power cuts, first layer: a verb dies in every single call that writes. Whatever is then on the
disk boots the stock entries, and rollback restores it to the byte."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hosttree import NEEDS, Host, Namespace, apply_and_try, linux_lines, make
from test_bls import FEDORA, boot_entry, make_fedora

from lowlat.process import find

pytest_plugins = ["hosttree"]
pytestmark = [
    *NEEDS,
    pytest.mark.skipif(find("cc") is None, reason="there is no C compiler to build cut.c with"),
]

_KEPT = ("boot", "etc", "var", "proc")


@pytest.fixture(scope="module")
def cutting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Namespace]:
    folder = tmp_path_factory.mktemp("cut")
    library = folder / "cut.so"
    source = Path(__file__).with_name("cut.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    started = Namespace(folder / "usr").start({"LD_PRELOAD": str(library)})
    yield started
    started.stop()


def grub(host: Host) -> bool:
    return (host.path / "boot/grub").exists()


class Cut:
    """A host that is put back to a state of its own before each cut."""

    def __init__(self, host: Host, kept: Path) -> None:
        self.host = host
        self._kept = kept
        self._count = kept.with_name("count")
        self.pristine = host.snapshot()
        self.config = "boot/grub/grub.cfg" if grub(host) else "boot/grub2/grub.cfg"
        self.stock = self.lines()

    def lines(self) -> dict[str, Any]:
        """What the stock entries boot: lines of grub.cfg, or files."""
        if grub(self.host):
            return dict(linux_lines(self.host.config))
        files = (self.host.path / FEDORA).glob("*.conf")
        return {path.name: path.read_bytes() for path in files}

    def keep(self) -> None:
        for name in _KEPT:
            shutil.copytree(self.host.path / name, self._kept / name, symlinks=True)

    def again(self) -> None:
        for name in _KEPT:
            shutil.rmtree(self.host.path / name)
            shutil.copytree(self._kept / name, self.host.path / name, symlinks=True)

    def run(self, at: int, *words: str) -> Any:
        env = {
            "LOWLAT_CUT_DEV": str(self.host.path.stat().st_dev),
            "LOWLAT_CUT_COUNT": str(self._count),
            "LOWLAT_CUT_AT": str(at),
        }
        return self.host.lowlat(words[0], *words[1:], **env)

    def calls(self, *words: str) -> int:
        """How many calls the verb makes that write."""
        answer = self.run(-1, *words)
        assert answer.status == 0, answer
        return int.from_bytes(self._count.read_bytes(), "little")


@pytest.fixture
def cut(tmp_path: Path, cutting: Namespace) -> Cut:
    kept = tmp_path / "kept"
    kept.mkdir()
    return Cut(make(tmp_path / "host", cutting), kept)


def check_survives(cut: Cut, where: str, defaults: set[str]) -> None:
    host = cut.host
    assert host.chroot("grub-script-check", f"/{cut.config}").status == 0, where
    lines = cut.lines()
    assert {ident: lines.get(ident) for ident in cut.stock} == cut.stock, where
    assert host.status()["default"]["entry"] in defaults, where
    assert host.status()["state"] in _STATES, where
    answer = host.lowlat("rollback")
    assert (answer.status, answer.err) == (0, ""), (where, answer)
    assert host.snapshot() == cut.pristine, where
    assert host.lowlat("rollback").status == 0, where
    assert host.snapshot() == cut.pristine, where


_STATES = {"none", "applied", "trial-set", "tried", "promoted", "interrupted"}


def cut_everywhere(cut: Cut, words: tuple[str, ...], defaults: set[str]) -> None:
    cut.keep()
    calls = cut.calls(*words)
    assert calls > 5
    for at in range(1, calls + 1):
        cut.again()
        answer = cut.run(at, *words)
        assert answer.status == -9, (words, at, answer)
        check_survives(cut, f"{' '.join(words)}, cut in call {at} of {calls}", defaults)
    print(f"{' '.join(words)}: {calls} cuts tried, {calls} survived")


@pytest.mark.parametrize("verb", ["apply", "trial", "start", "record", "promote", "rollback"])
def test_every_cut_is_survived(cut: Cut, verb: str) -> None:
    host = cut.host
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
    cut_everywhere(cut, words, defaults)


@pytest.mark.parametrize("verb", ["apply", "promote", "rollback"])
def test_every_cut_is_survived_with_entry_files(
    tmp_path: Path, cutting: Namespace, verb: str
) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    host = make_fedora(tmp_path / "host", cutting)
    cut = Cut(host, kept)
    defaults = {host.status()["default"]["entry"]}
    if verb != "apply":
        host.done("apply")
        host.done("trial")
        entry = host.status()["next"]["entry"].replace("-trial", "")
        boot_entry(host, FEDORA, f"{entry}-trial", "boot-1")
        host.done("boot", "record")
        defaults.add(entry)
    if verb == "rollback":
        host.done("promote")
    cut_everywhere(cut, (verb,), defaults)
