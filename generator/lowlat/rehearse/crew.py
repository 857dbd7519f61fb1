# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots side by side: as many at once as the host carries, told as they come and go."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Callable, Generic, TypeVar

from lowlat.errors import LowlatError, Refused
from lowlat.terminal import say

T = TypeVar("T")

#: So many failures without one success are no accident.
_HOPELESS = 3


@dataclass(frozen=True)
class Piece(Generic[T]):
    """A piece of work and its title. The work ends early, with an exception, once the event is
    set."""

    title: str
    work: Callable[[threading.Event], T]


@dataclass(frozen=True)
class Failure:
    """A piece that did not come to its end, and why."""

    title: str
    why: LowlatError


def work(pieces: Sequence[Piece[T]], jobs: int) -> tuple[list[T], list[Failure]]:
    """Do all pieces, ``jobs`` at a time, in their order; what they brought, and what failed.

    Raises Refused where one was refused, and LowlatError where everything fails. Whatever is raised
    here, an interrupt too, first ends what runs.
    """
    stop = threading.Event()
    brought: list[T] = []
    failed: list[Failure] = []
    with ThreadPoolExecutor(jobs) as pool:
        done = _Done(len(pieces), jobs)
        futures = {pool.submit(_one, piece, stop): piece for piece in pieces}
        try:
            for future in as_completed(futures):
                _collect(future, futures[future].title, brought, failed)
                done.tell(futures[future].title)
                if len(failed) >= _HOPELESS and not brought:
                    raise failed[-1].why
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return brought, failed


def _one(piece: Piece[T], stop: threading.Event) -> T:
    say(f"• {piece.title} …")
    return piece.work(stop)


def _collect(future: Future[T], title: str, brought: list[T], failed: list[Failure]) -> None:
    try:
        brought.append(future.result())
    except Refused:
        raise
    except LowlatError as error:
        say(f"  {title} failed: {error}")
        failed.append(Failure(title, error))


class _Done:
    """What is done, and how long the rest will take."""

    def __init__(self, pieces: int, jobs: int) -> None:
        self._pieces, self._jobs = pieces, jobs
        self._begin, self._done = time.monotonic(), 0

    def tell(self, title: str) -> None:
        self._done += 1
        say("  " + ", ".join((f"{title}: done", *self._rest())))

    def _rest(self) -> Iterator[str]:
        left = self._pieces - self._done
        if left:
            passed = time.monotonic() - self._begin
            # Those that run now are half done, more or less.
            running = min(self._jobs, left) / 2
            seconds = passed / (self._done + running) * (left - running)
            yield f"{self._done} of {self._pieces}"
            yield f"about {math.ceil(seconds / 60)} min left"
