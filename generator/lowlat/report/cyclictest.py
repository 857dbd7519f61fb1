# SPDX-License-Identifier: GPL-2.0-or-later
"""What cyclictest (rt-tests) printed with ``--quiet --histogram``: latencies of wake-ups.

Its faults that a reader must know: periods missed while it was held up are skipped, not counted, so
its percentiles leave out exactly the worst times (coordinated omission); what is beyond the
histogram is only counted. The JSON leaves the overflows out; they are the rest of the cycles.

Sources: src/cyclictest/cyclictest.c of rt-tests 2.4 to 2.9.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional

from lowlat.report import rt_tests


@dataclass(frozen=True)
class Thread:
    """One thread's latencies in whole ``Cyclictest.unit``; ``cpu`` is None in the text form."""

    cpu: Optional[int]
    cycles: int
    min: float
    mean: float
    max: float
    histogram: Mapping[int, int]
    overflows: int


@dataclass(frozen=True)
class Cyclictest:
    """One run; ``unit`` is "us", or "ns" with its option -N."""

    version: str
    unit: str
    threads: tuple[Thread, ...]


def parse(output: str) -> Optional[Cyclictest]:
    """Read its JSON or its text; None where there is no result in it."""
    brace = output.find("{")
    found = _from_json(rt_tests.load(output[brace:])) if brace >= 0 else _from_text(output)
    return found if found and found.threads else None


def _from_json(data: Mapping[str, Any]) -> Optional[Cyclictest]:
    try:
        threads = tuple(_thread(item) for item in data["thread"].values())
        unit = "ns" if data.get("resolution_in_ns") else "us"
    except (ValueError, KeyError, AttributeError, TypeError):
        return None
    return Cyclictest(str(data.get("rt_test_version", "")), unit, threads)


def _thread(item: Mapping[str, Any]) -> Thread:
    histogram = {int(value): int(count) for value, count in item.get("histogram", {}).items()}
    cycles = int(item["cycles"])
    return Thread(
        cpu=int(item["cpu"]) if "cpu" in item else None,
        cycles=cycles,
        min=float(item["min"]),
        mean=float(item["avg"]),
        max=float(item["max"]),
        histogram=histogram,
        overflows=cycles - sum(histogram.values()) if histogram else 0,
    )


def _from_text(text: str) -> Optional[Cyclictest]:
    rows = [line.split() for line in re.findall(r"^\d+ [\d \t]+$", text, re.M)]
    low, mean, high = (_values(text, f"{name} Latencies") for name in ("Min", "Avg", "Max"))
    overflows = _values(text, "Histogram Overflows") or [0] * len(low)
    if not low or not len(low) == len(mean) == len(high) == len(overflows):
        return None
    threads = []
    for n, least in enumerate(low):
        counts = {int(row[0]): int(row[n + 1]) for row in rows if len(row) > n + 1}
        histogram = {value: count for value, count in counts.items() if count}
        cycles = sum(histogram.values()) + overflows[n]
        threads.append(Thread(None, cycles, least, mean[n], high[n], histogram, overflows[n]))
    return Cyclictest("", "us", tuple(threads))


def _values(text: str, name: str) -> Sequence[int]:
    found = re.search(rf"^# {name}:([ \d]+)$", text, re.M)
    return [int(value) for value in found[1].split()] if found else []
