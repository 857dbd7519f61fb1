# SPDX-License-Identifier: GPL-2.0-or-later
"""One guest's sequence of boots, each of which runs steps of guest/steps.py."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from lowlat.base import process
from support import needs
from support.guest import REPOSITORY, VM, boots
from support.guest.boots import Guest

#: In seconds, to build the packages.
_BUILD_S = 600.0


class Journey:
    """The completed boots: ``found`` has the results of each, ``after`` the machine after each."""

    def __init__(self, folder: Path, *packages: Path) -> None:
        self.found: dict[str, Any] = {}
        self.after: dict[str, Guest] = {}
        self.share = folder / "share"
        self.share.mkdir()
        for file in (VM / "guest/steps.py", VM / "guest/cycle.py", *packages):
            shutil.copy(file, self.share)

    def go(
        self,
        guest: Guest,
        name: str,
        steps: str,
        *,
        before: str = "",
        recorder: boots.BootRecorder | None = None,
    ) -> Guest:
        """Boot the guest to run these steps, and the script ``before`` them."""
        after = guest.work(self.share, before + task(name, steps), recorder=recorder)
        self.keep(name, after, (self.share / f"{name}.json").read_bytes())
        return after

    def keep(self, name: str, guest: Guest, text: bytes) -> None:
        self.after[name] = guest
        self.found[name] = json.loads(text)

    def marker(self, name: str) -> str | None:
        """The plan's marker on this boot's line; None for a stock boot."""
        words = [w for w in self.found[name]["boot"]["line"] if w.startswith("lowlat.plan=")]
        assert len(words) <= 1, words
        return words[0] if words else None


def differing(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The differing values. Threads come and go: only those present both times count."""
    paths = before.keys() | after.keys()
    pairs = {path: (before.get(path), after.get(path)) for path in paths}
    return {
        path: pair
        for path, pair in pairs.items()
        if pair[0] != pair[1] and not ("kthread:" in path and None in pair)
    }


def other_boot(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The differences of one boot from another: its line, its values, its TuneD profile."""
    values = differing(before["values"], after["values"])
    return {**values, **differing({**before, "values": 0}, {**after, "values": 0})}


def task(name: str, steps: str) -> str:
    return f"python3 steps.py . {name} {steps}\n"


@cache
def packages_or_skip() -> tuple[Path, Path]:
    """The DEBs of this tree: the generator's and the harness's."""
    folder = REPOSITORY / "build/vm-deb"
    # `make test` runs the harness's tests already.
    argv = ["env", "DEB_BUILD_OPTIONS=nocheck", str(REPOSITORY / "packaging/build-deb")]
    ended = process.run([*argv, str(folder)], timeout=_BUILD_S)
    if ended.status == 2:
        needs.absent(ended.stderr.strip())
    assert ended.status == 0, ended.stderr
    return next(folder.glob("lowlat_*.deb")), next(folder.glob("lowlat-measure_*.deb"))
