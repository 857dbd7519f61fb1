# SPDX-License-Identifier: GPL-2.0-or-later
"""cyclictest's (rt-tests) output on wake-up latency, with ``--quiet`` and ``--histogram``, and its
JSON.

Periods that it misses while delayed are skipped, not counted, so its percentiles leave out exactly
the worst times (coordinated omission). They serve for comparison in a quiet minute.

Sources: src/cyclictest/cyclictest.c of rt-tests 2.4 to 2.9.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import Any, Optional

from lowlat.model.run import ToolResult


def parse(output: str, written: str) -> Optional[ToolResult]:
    """The maxima by thread, and the percentiles of the JSON if there is one. None without a
    result."""
    maxima = {str(thread): us for thread, us in enumerate(maxima_us(output))}
    beyond = percentiles_us(written) if maxima and written else ()
    return ToolResult("", {**maxima, **dict(beyond)}) if maxima else None


def maxima_us(output: str) -> tuple[float, ...]:
    """The maximum of each thread, from the text; empty without a result."""
    match = re.search(r"^# Max Latencies:([ \d]+)$", output, re.M)
    return tuple(map(float, match[1].split())) if match else ()


def percentiles_us(text: str) -> Iterator[tuple[str, float]]:
    """Percentiles from the JSON, by name: the mean over the threads of the middle of each one's
    bucket. A percentile above the histogram of some thread is left out."""
    threads = list(json.loads(text)["thread"].values())
    for share in ("50", "99", "99.9", "99.99"):
        latencies = [us for one in threads if (us := _at(one, float(share) / 100)) is not None]
        if latencies and len(latencies) == len(threads):
            yield f"p{share}", fmean(latencies) + 0.5


def _at(thread: Mapping[str, Any], quantile: float) -> Optional[int]:
    left = max(math.ceil(quantile * thread["cycles"]), 1)
    for late, count in sorted((int(us), count) for us, count in thread["histogram"].items()):
        left -= count
        if left <= 0:
            return late
    return None
