# SPDX-License-Identifier: GPL-2.0-or-later
"""Ends what works too much on one input, or waits: a reader's work is bounded, not only the size of
what it reads."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Optional

from support.waits import GUARD_S

#: CPU seconds. No input of the tests takes a tenth of it, on a slow machine.
WORK_S = 10 * float(os.environ.get("LOWLAT_PATIENCE", "1"))


@contextmanager
def bounded(what: object) -> Iterator[None]:
    """Raises AssertionError in the block once it has taken WORK_S of CPU time, or waits."""

    def end(number: int, frame: Optional[FrameType]) -> None:
        told = f"took {WORK_S:g} s of CPU time" if number == signal.SIGPROF else "waits"
        raise AssertionError(f"{what}: {told}")

    limits = (
        (signal.ITIMER_PROF, signal.SIGPROF, WORK_S),
        (signal.ITIMER_REAL, signal.SIGALRM, GUARD_S),
    )
    # One that a verb left blocked and pending is dropped.
    before = [signal.signal(number, signal.SIG_IGN) for _, number, _ in limits]
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number for _, number, _ in limits})
    try:
        for timer, number, limit in limits:
            signal.signal(number, end)
            signal.setitimer(timer, limit)
        yield
    finally:
        for (timer, number, _), handler in zip(limits, before):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)
