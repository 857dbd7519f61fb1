# SPDX-License-Identifier: GPL-2.0-or-later
"""Power cuts in a tree: a verb dies in one of its own calls or in one of grub-editenv's calls. The
module also builds the disk states that a cut may leave. (PYTEST_DONT_REWRITE)"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, TypeVar

import pytest

from support import needs
from support.cli import Answer
from support.hosttree import Host, Namespace
from support.replay import KEPT, Call, content_of, read_log

NEEDS_CC = needs.program("cc", "compiles cut.c")

#: LOWLAT_CUTS=1 tries every cut and every state, otherwise a sample.
ALL = "LOWLAT_CUTS" in os.environ

_EDITENV = """#!/bin/sh
[ ! -e /tmp/cut.env ] || . /tmp/cut.env
exec /usr/bin/grub-editenv "$@"
"""

#: Larger files (kernels and initramfs images) are not replayed, because no verb writes them.
_LARGE = 1 << 20

T = TypeVar("T")

_FULL = pytest.mark.proof


def sample(always: Sequence[str], *rest: str) -> list[Any]:
    """Values of a parameter; those in ``rest`` are tried in the full run only."""
    return [*always, *(pytest.param(value, marks=_FULL) for value in rest)]


def build(folder: Path) -> Path:
    """Build cut.c as a library in this folder."""
    library, source = folder / "cut.so", Path(__file__).with_name("cut.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


class Cutting(Namespace):
    """A namespace in which lowlat-gen and grub-editenv can be cut."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "usr")
        self._library = build(folder)
        self.start({"LD_PRELOAD": str(self._library)})
        for name in ("grub-editenv", "grub2-editenv"):
            path, write = folder / "usr/usr/local/sbin" / name, 'cat >"$1" && chmod 755 "$1"'
            assert self.program("sh", "-c", write, "sh", path, stdin=_EDITENV).status == 0

    def run(self, host: Host, at: int, *words: str, **fault: str) -> Answer:
        """Run a verb that dies in its call number ``at``; -1 lets it finish. ``fault`` adds
        variables to cut.c's environment."""
        tmp = host.path / "tmp"
        shutil.copy(self._library, tmp / "cut.so")
        for name in ("cut.count", "cut.log"):
            (tmp / name).unlink(missing_ok=True)
        common = {
            "LOWLAT_CUT_AT": str(at),
            "LOWLAT_CUT_DEV": str(host.path.stat().st_dev),
            **fault,
        }
        inner = {**common, "LOWLAT_CUT_ROOT": str(host.path), "LD_PRELOAD": "/tmp/cut.so"}
        seen = "/tmp" if host.live else str(tmp)
        rows = [f"export LOWLAT_CUT_{name.upper()}=/tmp/cut.{name}" for name in ("count", "log")]
        rows += [f"export {name}='{value}'" for name, value in inner.items()]
        (tmp / "cut.env").write_text("\n".join([*rows, ""]))
        outer = {f"LOWLAT_CUT_{name.upper()}": f"{seen}/cut.{name}" for name in ("count", "log")}
        try:
            return host.lowlat(words[0], *words[1:], **common, **outer)
        finally:
            (tmp / "cut.env").unlink()


@pytest.fixture(scope="session")
def cutting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cutting]:
    started = Cutting(tmp_path_factory.mktemp("cut"))
    yield started
    started.stop()


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Prints the number of tries in one row, visible even without -s."""

    def tell(row: str) -> None:
        with capsys.disabled():
            print(f"\n{row} ", end="", flush=True)

    return tell


def calls(host: Host) -> int:
    """The number of calls that the last run() counted."""
    return int.from_bytes((host.path / "tmp/cut.count").read_bytes(), sys.byteorder)


def logged(host: Host) -> list[Call]:
    return list(read_log(host.path / "tmp/cut.log"))


def put(source: Path, host: Host) -> None:
    """Replace the host's disk by a stored copy."""
    for name in KEPT:
        shutil.rmtree(host.path / name)
        shutil.copytree(source / name, host.path / name, symlinks=True)


@dataclass(frozen=True)
class State:
    """A state after a power cut: ``folder`` has /boot, /etc and /var; ``where`` names the first cut
    that led to it."""

    folder: Path
    where: str


@dataclass(frozen=True)
class Replayed:
    """``cuts`` is the number of cuts tried on the image, ``states`` their distinct results."""

    cuts: int
    states: tuple[State, ...]

    def differing(self, *tops: str) -> tuple[State, ...]:
        """The states that differ in these folders: in boot and etc for states that will be
        booted."""
        first: dict[str, State] = {}
        for state in self.states:
            first.setdefault(content_of(state.folder, tops), state)
        return tuple(first.values())


def distinct_states(host: Host, namespace: Cutting, work: Path, *words: str) -> Replayed:
    """Run a verb on the host until it ends, and replay each prefix of its writes on an ext4 image
    in ``work`` (replay.py explains what a cut leaves). Works with any tree in which Host runs
    lowlat-gen. The states contain files up to 1 MiB."""
    image = make_image(host.path, work)
    answer = namespace.run(host, -1, *words)
    assert answer.status == 0, answer
    return replay(host.path / "tmp/cut.log", host.path, image)


def replay(log: Path, root: Path, image: Path) -> Replayed:
    """Replay a log of calls below ``root``; the states are stored beside the image."""
    script, out = Path(__file__).with_name("replay.py"), image.with_name("out")
    done = subprocess.run(
        ["unshare", "-m", sys.executable, script, log, root, image, out],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    states = (State(Path(each["folder"]), each["where"]) for each in found["states"])
    return Replayed(found["copies"], tuple(states))


def make_image(root: Path, work: Path) -> Path:
    """An ext4 image of the present disk, with room for new files."""
    tree, image = work / "tree", work / "image"
    tree.mkdir(parents=True)
    large = ["find", ".", "-type", "f", "-size", f"+{_LARGE // 1024}k", "-delete"]
    subprocess.run(["cp", "-a", *(root / name for name in KEPT), tree], check=True)
    subprocess.run(large, cwd=tree, check=True)
    blocks = sum(path.lstat().st_size // 1024 + 1 for path in tree.rglob("*"))
    made = ["-t", "ext4", "-b", "1024", "-m", "0", "-J", "size=1", "-d", str(tree), str(image)]
    command = ["mke2fs", "-q", *made, f"{6 * 1024 + 2 * blocks}k"]
    subprocess.run(command, check=True, capture_output=True)
    return image


def sampled(items: Sequence[T], most: int) -> list[T]:
    """At most ``most`` items, evenly spread and with the last one; all with LOWLAT_CUTS=1."""
    if ALL or len(items) <= most:
        return list(items)
    return [items[(number + 1) * len(items) // most - 1] for number in range(most)]
