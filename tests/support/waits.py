# SPDX-License-Identifier: GPL-2.0-or-later
"""How tests wait: for what they can see, and never for a time.

The guard only ends what hangs. ``LOWLAT_PATIENCE=5`` multiplies it on a slow machine.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
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


def at(pid: int, path: Path, *, or_ended: bool = False) -> None:
    """Wait until the process, or one that it started, waits for the file: it has it open, and has
    slept twice since. With ``or_ended`` it may end instead.

    lowlat polls its locks, so that it never stands in /proc/locks.
    """
    begun: dict[int, int] = {}

    def met() -> bool:
        waiter = procs.opener(pid, path)
        slept = procs.sleeps(waiter)
        waits = waiter > 0 and slept >= begun.setdefault(waiter, slept) + 2
        return waits or (or_ended and not procs.alive(pid))

    until(met, f"process {pid} does not wait for {path}")


@contextmanager
def reader(fifo: Path) -> Iterator[None]:
    """Wait until a program reads a line from the FIFO; it gets one when the block ends."""
    opened: list[int] = []

    def met() -> bool:
        with suppress(OSError):  # ENXIO: nobody reads
            opened.append(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
        return bool(opened)

    until(met, f"nobody reads {fifo}")
    try:
        yield
    finally:
        os.write(opened[0], b"\n")
        os.close(opened[0])


def stopped(pid: int, seconds: float) -> None:
    """Wait until a process that got SIGSTOP stands still, and then for so long: what it waits for
    comes meanwhile. A shorter time proves less, and fails nothing."""
    until(lambda: procs.state(pid) == "T", f"process {pid} does not stop")
    time.sleep(seconds)


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
