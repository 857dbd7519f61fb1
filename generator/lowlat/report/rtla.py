# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``rtla osnoise hist`` and ``rtla timerlat hist`` printed.

osnoise's average and maximum are computed from the lower edges of its buckets, so both are too low
by up to a bucket: the true maximum lies in ``max_range_us``. timerlat's are the tracer's own
values, cut to whole microseconds. From Linux 6.9 on timerlat adds a table over all CPUs, which is
left out here.

Sources: tools/tracing/rtla/src/osnoise_hist.c, timerlat_hist.c.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class Column:
    """One CPU's histogram: ``kind`` is "noise", "irq", "thread" or "user".

    ``histogram`` maps a bucket's lower edge in us to its count; ``over`` counts what lies above the
    last. ``mean_us`` and the limits are None where nothing was seen.
    """

    cpu: int
    kind: str
    histogram: Mapping[int, int]
    over: int
    count: int
    mean_us: Optional[float]
    max_range_us: Optional[tuple[float, float]]


@dataclass(frozen=True)
class Rtla:
    """One run; ``tracer`` is "osnoise" or "timerlat", ``seconds`` its duration."""

    tracer: str
    seconds: Optional[int]
    columns: tuple[Column, ...]


_KINDS = {"CPU": "noise", "IRQ": "irq", "Thr": "thread", "Usr": "user"}


def parse(output: str) -> Optional[Rtla]:
    """Read the histogram; None where there is none (no tracer, ended early, nanoseconds)."""
    title = re.search(r"^# RTLA (osnoise|timerlat) histogram", output, re.M)
    head = re.search(r"^Index((?:\s+(?:CPU|IRQ|Thr|Usr)-\d+)+)\s*$", output, re.M)
    if not title or not head or "(ns)" in output:
        return None
    names = [name.split("-") for name in head[1].split()]
    body = output[head.end() :].split("\nALL:")[0]
    rows = dict(_rows(body, len(names)))
    if not {"over", "count", "max"} <= set(rows):
        return None
    tracer = title[1]
    columns = (
        _column(_KINDS[kind], int(cpu), {key: row[n] for key, row in rows.items()}, tracer)
        for n, (kind, cpu) in enumerate(names)
    )
    return Rtla(tracer, _seconds(output), tuple(columns))


def _rows(body: str, width: int) -> Iterator[tuple[str, Sequence[Optional[int]]]]:
    """The table's rows by their first cell; "-" stands where nothing was counted."""
    pattern = r"^(\d+|over:|count:|min:|avg:|max:)((?:[ \t]+[\d-]+)+)[ \t]*$"
    for key, line in re.findall(pattern, body, re.M):
        values = [None if cell == "-" else int(cell) for cell in line.split()]
        if len(values) == width:
            yield key.rstrip(":"), values


def _column(kind: str, cpu: int, cells: Mapping[str, Optional[int]], tracer: str) -> Column:
    edges = sorted(int(key) for key in cells if key.isdigit())
    steps = [upper - lower for lower, upper in zip(edges, edges[1:])]
    # Rows of zeros are left out, so the common divisor of the steps is at most a bucket.
    width = math.gcd(*steps) if tracer == "osnoise" and steps else 1
    histogram = {edge: cells[str(edge)] or 0 for edge in edges if cells[str(edge)]}
    longest, mean = cells.get("max"), cells.get("avg")
    count = cells["count"] or 0
    return Column(
        cpu=cpu,
        kind=kind,
        histogram=histogram,
        over=cells["over"] or 0,
        count=count,
        mean_us=float(mean) if mean is not None and count and tracer == "timerlat" else None,
        max_range_us=(longest, longest + width) if longest is not None and count else None,
    )


def _seconds(output: str) -> Optional[int]:
    found = re.search(r"^# Duration:\s+(\d+) (\d+):(\d+):(\d+)", output, re.M)
    if not found:
        return None
    days, hours, minutes, rest = map(int, found.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + rest
