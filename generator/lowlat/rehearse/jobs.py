# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots in parallel, as many as the host can run, with a message at each begin and end."""

import math
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import Callable, Optional

from lowlat.base.errors import LowlatError, Refused
from lowlat.base.terminal import say

#: After this many failures without any success, the work stops.
_HOPELESS = 3

#: Raises an exception soon after the event is set.
Work = Callable[[threading.Event], object]


def work(jobs: Mapping[str, Work], at_once: int, done: int = 0) -> dict[str, LowlatError]:
    """Run all jobs, keyed by title, ``at_once`` at a time. Returns the failed ones with their
    errors. Raises Refused if a job is refused, LowlatError if all fail; ``done`` jobs succeeded
    before. Any exception, even an interrupt, first ends the running jobs."""
    stop = threading.Event()
    failed: dict[str, LowlatError] = {}
    begin = time.monotonic()
    with ThreadPoolExecutor(at_once) as pool:
        try:
            futures = {pool.submit(_one, title, job, stop): title for title, job in jobs.items()}
            for ended, future in enumerate(as_completed(futures), 1):
                title, error = futures[future], _error(future)
                how = f"{title} failed: {error}" if error else f"{title}: done"
                rest = _rest(ended, len(jobs), at_once, time.monotonic() - begin)
                say("  " + ", ".join((how, *rest)))
                if error:
                    failed[title] = error
                    if not done and len(failed) == ended >= _HOPELESS:
                        raise error
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return failed


def _one(title: str, job: Work, stop: threading.Event) -> None:
    say(f"• {title} …")
    job(stop)


def _error(future: Future[None]) -> Optional[LowlatError]:
    try:
        future.result()
    except Refused:
        raise
    except LowlatError as error:
        return error
    return None


def _rest(ended: int, jobs: int, at_once: int, passed: float) -> Iterator[str]:
    """How many jobs have ended, and the time for the rest, after ``passed`` seconds."""
    left = jobs - ended
    if left:
        # Running jobs are half done on average.
        running = min(at_once, left) / 2
        yield f"{ended} of {jobs}"
        yield f"about {math.ceil(passed / (ended + running) * (left - running) / 60)} min left"
