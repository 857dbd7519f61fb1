# SPDX-License-Identifier: GPL-2.0-or-later
"""A program whose output is kept in a file, ended when its time is up or nobody wants it."""

from __future__ import annotations

import os
import select
import shlex
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Optional

from lowlat.base import process

_POLL_S = 0.2


class Stopped(Exception):
    """The program was ended because somebody asked for it."""


def follow(
    argv: Sequence[str],
    environment: Mapping[str, str],
    log: Path,
    limit: float,
    stop: threading.Event,
) -> Optional[int]:
    """Run to the end: the command, its output and its errors go to ``log``.

    Returns the exit status, None where the time was up and the program and all it started was
    ended. Raises Stopped where ``stop`` was set, LowlatError where it cannot be started.
    """
    # A pipe, not the file itself: QEMU would open that anew and write over what is there.
    with log.open("wb", buffering=0) as kept:
        kept.write(f"{shlex.join(argv)}\n".encode())
        child = process.start(argv, env=environment, stderr=subprocess.STDOUT)
        try:
            ended = _pump(child, kept, time.monotonic() + limit, stop)
        finally:
            # QEMU may outlive what started it, and a hung one SIGTERM.
            process.end_group(child)
    return child.returncode if ended else None


def _pump(
    child: subprocess.Popen[bytes], kept: BinaryIO, deadline: float, stop: threading.Event
) -> bool:
    """Whether the program ended in time. It stays to be reaped: until then its group is its own."""
    asked = os.WEXITED | os.WNOHANG | os.WNOWAIT
    while time.monotonic() < deadline:
        if stop.is_set():
            raise Stopped
        data = _read(child)
        if data:
            kept.write(data)
        elif os.waitid(os.P_PID, child.pid, asked) is not None:
            return True
    return False


def _read(child: subprocess.Popen[bytes]) -> bytes:
    """What the program has written, after a moment's waiting for it."""
    assert child.stdout is not None  # noqa: S101 (it was asked for)
    if select.select([child.stdout], [], [], _POLL_S)[0]:
        data = os.read(child.stdout.fileno(), 1 << 16)
        if data:
            return data
        time.sleep(_POLL_S)  # closed, and the program still runs
    return b""
