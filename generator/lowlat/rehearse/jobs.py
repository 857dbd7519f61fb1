# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots side by side: as many at once as the host carries, told as they come and go."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Callable, Optional

from lowlat.base.errors import LowlatError, Refused
from lowlat.base.terminal import say

#: So many failures without one success are no accident.
_HOPELESS = 3


@dataclass(frozen=True)
class Job:
    """A title and the work. The work ends early, with an exception, once the event is
    set."""

    title: str
    work: Callable[[threading.Event], object]


@dataclass(frozen=True)
class Failure:
    """A job that did not come to its end, and why."""

    title: str
    why: LowlatError


def work(jobs: Sequence[Job], at_once: int, done: int = 0) -> list[Failure]:
    """Do all jobs, ``at_once`` at a time, in their order; what failed.

    Raises Refused where one was refused, and LowlatError where everything fails; ``done`` jobs
    went well before. Whatever is raised here, an interrupt too, first ends what runs.
    """
    stop = threading.Event()
    failed: list[Failure] = []
    with ThreadPoolExecutor(at_once) as pool:
        progress = _JobProgress(len(jobs), at_once)
        futures = {pool.submit(_one, job, stop): job.title for job in jobs}
        try:
            for future in as_completed(futures):
                failure = _failure(future, futures[future])
                failed += [failure] if failure else []
                progress.tell(futures[future], failure)
                if failure and not done and len(failed) == progress.ended >= _HOPELESS:
                    raise failure.why
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return failed


def _one(job: Job, stop: threading.Event) -> None:
    say(f"• {job.title} …")
    job.work(stop)


def _failure(future: Future[None], title: str) -> Optional[Failure]:
    try:
        future.result()
    except Refused:
        raise
    except LowlatError as error:
        return Failure(title, error)
    return None


class _JobProgress:
    """What has ended, and how long the rest will take."""

    def __init__(self, jobs: int, at_once: int) -> None:
        self._jobs, self._at_once = jobs, at_once
        self._begin, self.ended = time.monotonic(), 0

    def tell(self, title: str, failure: Optional[Failure]) -> None:
        self.ended += 1
        how = f"{title} failed: {failure.why}" if failure else f"{title}: done"
        say("  " + ", ".join((how, *self._rest())))

    def _rest(self) -> Iterator[str]:
        left = self._jobs - self.ended
        if left:
            passed = time.monotonic() - self._begin
            # Those that run now are half done, more or less.
            running = min(self._at_once, left) / 2
            seconds = passed / (self.ended + running) * (left - running)
            yield f"{self.ended} of {self._jobs}"
            yield f"about {math.ceil(seconds / 60)} min left"
