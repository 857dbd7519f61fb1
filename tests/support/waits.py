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
    """Wait until the process waits for the file: it has it open, and has slept twice since.

    lowlat polls its locks, so that it never stands in /proc/locks.
    """
    real = path.resolve()
    until(lambda: real in procs.opened(pid), f"process {pid} has not opened {path}")
    begun = procs.sleeps(pid)
    until(lambda: procs.sleeps(pid) >= begun + 2, f"process {pid} does not wait for {path}")


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
