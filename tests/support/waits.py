# SPDX-License-Identifier: GPL-2.0-or-later
"""How tests wait: for what they can see, and never for a time.

The guard only ends what hangs. ``LOWLAT_PATIENCE=5`` multiplies it on a slow machine.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from support import procs

#: In seconds; for every time limit in tests.
GUARD_S = 120 * float(os.environ.get("LOWLAT_PATIENCE", "1"))

_LOOK_S = 0.02


def until(condition: Callable[[], object], what: str = "") -> None:
    """Wait until the condition holds. Raises AssertionError if it does not within the guard."""
    end = time.monotonic() + GUARD_S
    while not condition():
        assert time.monotonic() < end, f"waited {GUARD_S:.0f} s in vain{': ' if what else ''}{what}"
        time.sleep(_LOOK_S)


def at(pid: int, path: Path) -> None:
    """Wait until the process, or one that it started, waits for the file: it has it open, and has
    slept twice since.

    lowlat polls its locks, so that it never stands in /proc/locks.
    """
    found: list[int] = []

    def opened() -> bool:
        found[:] = [each for each in (pid, *procs.children(pid)) if procs.has_open(each, path)]
        return bool(found)

    until(opened, f"process {pid} has not opened {path}")
    begun = procs.sleeps(found[0])
    until(lambda: procs.sleeps(found[0]) >= begun + 2, f"process {pid} does not wait for {path}")


def pause(seconds: float) -> None:
    """For the dice of proofs alone, which try what may happen at any time."""
    time.sleep(seconds)


def phase(lines: IO[str], wanted: str) -> None:
    """Read the phases of lowlat-measure (``--phases``) up to the wanted one.

    Raises AssertionError if the run ends before.
    """
    seen = []
    for line in lines:
        seen.append(line.strip())
        if seen[-1] == wanted:
            return
    raise AssertionError(f"the run ended before the phase '{wanted}': {seen}")
