# SPDX-License-Identifier: GPL-2.0-or-later
"""The maxima that ``rtla osnoise hist`` and ``rtla timerlat hist`` printed.

osnoise's maximum is computed from the lower edges of its buckets: too low by up to a bucket;
timerlat's is the tracer's own value, truncated to us. For both the upper limit is given.
From Linux 6.9 on timerlat adds a table over all CPUs, which is left out here.

Sources: tools/tracing/rtla/src/osnoise_hist.c, timerlat_hist.c.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Optional

from lowlat.model.run import ToolResult


def parse(output: str, _: str) -> Optional[ToolResult]:
    """The maxima by column. None without a result."""
    maxima = maxima_us(output)
    return ToolResult("", {str(i): us for i, us in enumerate(maxima)}) if maxima else None


def maxima_us(output: str) -> tuple[float, ...]:
    """The maximum of each column with a sample: a CPU or, for timerlat, the interrupt, thread or
    user of a CPU. Empty without a histogram (no tracer, ended early, nanoseconds)."""
    title = re.search(r"^# RTLA (osnoise|timerlat) histogram", output, re.M)
    head = re.search(r"^Index((?:\s+(?:CPU|IRQ|Thr|Usr)-\d+)+)\s*$", output, re.M)
    if not title or not head or "(ns)" in output:
        return ()
    body = output[head.end() :].split("\nALL:")[0]
    rows = dict(_rows(body, len(head[1].split())))
    if not {"over", "count", "max"} <= set(rows):
        return ()
    width = _width(rows) if title[1] == "osnoise" else 1
    ends = (high for high, count in zip(rows["max"], rows["count"]) if high is not None and count)
    return tuple(high + width for high in ends)


def _rows(body: str, width: int) -> Iterator[tuple[str, Sequence[Optional[int]]]]:
    """The table's rows by their first cell; "-" means that nothing was counted."""
    pattern = r"^(\d+|over:|count:|min:|avg:|max:)((?:[ \t]+[\d-]+)+)[ \t]*$"
    for key, line in re.findall(pattern, body, re.M):
        values = [None if cell == "-" else int(cell) for cell in line.split()]
        if len(values) == width:
            yield key.rstrip(":"), values


def _width(keys: Iterable[str]) -> int:
    """The width of a bucket in us. Rows of zeros are left out: it divides all steps."""
    edges = sorted(int(key) for key in keys if key.isdigit())
    steps = [upper - lower for lower, upper in zip(edges, edges[1:])]
    return math.gcd(*steps) if steps else 1
