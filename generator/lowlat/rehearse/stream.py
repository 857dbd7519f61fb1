# SPDX-License-Identifier: GPL-2.0-or-later
"""A program whose output is kept in a file and followed line by line, ended when its time is up."""

from __future__ import annotations

import selectors
import shlex
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Callable, Optional

from lowlat import process


def follow(
    argv: Sequence[str],
    environment: Mapping[str, str],
    log: Path,
    tell: Callable[[str], None],
    limit: float,
) -> Optional[int]:
    """Run to the end: the command and its errors go to ``log``, each line of output to ``tell``.

    Returns the exit status, None where the time was up and the program and all it started was
    ended. Raises LowlatError where it cannot be started.
    """
    with log.open("wb") as kept:
        kept.write(f"{shlex.join(argv)}\n".encode())
        child = process.start(argv, env=environment)
        try:
            return _pump(child, kept, tell, time.monotonic() + limit)
        finally:
            # QEMU outlives what started it, and a hung one SIGTERM.
            process.end_group(child)


def _pump(
    child: subprocess.Popen[bytes],
    kept: BinaryIO,
    tell: Callable[[str], None],
    deadline: float,
) -> Optional[int]:
    lines = _Lines(tell)
    with selectors.DefaultSelector() as waiting:
        waiting.register(_pipe(child.stdout), selectors.EVENT_READ, lines.feed)
        waiting.register(_pipe(child.stderr), selectors.EVENT_READ, kept.write)
        while waiting.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            for key, _ in waiting.select(left):
                data = key.fileobj.read1(1 << 16)  # type: ignore[union-attr]
                if data:
                    key.data(data)
                    kept.flush()
                else:
                    waiting.unregister(key.fileobj)
    lines.end()
    try:
        return child.wait(max(deadline - time.monotonic(), 1.0))
    except subprocess.TimeoutExpired:
        return None


def _pipe(stream: Optional[object]) -> BinaryIO:
    assert stream is not None  # noqa: S101 (both were asked for)
    return stream  # type: ignore[return-value]


class _Lines:
    """Whole lines out of pieces of bytes."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._rest = b""

    def feed(self, data: bytes) -> None:
        *whole, self._rest = (self._rest + data).split(b"\n")
        for line in whole:
            self._tell(line.decode("utf-8", "replace").rstrip("\r"))

    def end(self) -> None:
        if self._rest:
            self.feed(b"\n")
