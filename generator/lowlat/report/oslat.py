# SPDX-License-Identifier: GPL-2.0-or-later
"""What oslat (rt-tests) printed, with the known faults of its versions left out or named.

All versions: the average is wrong (an iteration counts as at least one bucket, and one thread's
overflow is added to every thread), so it is never taken. 2.4 rounds up, later versions round
down, so figures of differing versions are not comparable. 2.4's JSON keys end in a stray colon.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class Thread:
    """One CPU's result in whole microseconds; the histogram's last bucket takes all above it."""

    cpu: int
    min_us: float
    max_us: float
    histogram: Mapping[int, int]


@dataclass(frozen=True)
class Oslat:
    """One run: its version ("2.40", "" where unknown) and a result for each CPU."""

    version: str
    threads: tuple[Thread, ...]

    @property
    def max_us(self) -> Optional[float]:
        return max((thread.max_us for thread in self.threads), default=None)


def parse(output: str) -> Optional[Oslat]:
    """Read oslat's JSON or its text; None where there is no result in it (it was ended early)."""
    brace = output.find("{")
    found = _parse_json(output[brace:]) if brace >= 0 else _parse_text(output)
    return found if found and found.threads else None


def _parse_json(text: str) -> Optional[Oslat]:
    try:
        data, _ = json.JSONDecoder().raw_decode(text)
        known = {key.rstrip(":"): value for key, value in data.items()}
        threads = tuple(_thread(item) for item in known["thread"].values())
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return None
    in_ns = bool(re.search(r"(?:^|\s)(?:-W|--bucket-width)", str(known.get("cmdline", ""))))
    # With -W the JSON mixes nanoseconds and microseconds under the same keys.
    return None if in_ns else Oslat(str(known.get("rt_test_version", "")), threads)


def _thread(item: Mapping[str, object]) -> Thread:
    histogram = item.get("histogram", {})
    if not isinstance(histogram, dict):
        raise TypeError("histogram")
    return Thread(
        cpu=int(str(item["cpu"])),
        min_us=float(str(item["min"])),
        max_us=float(str(item["max"])),
        histogram={int(bucket): int(count) for bucket, count in histogram.items()},
    )


def _parse_text(text: str) -> Optional[Oslat]:
    rows = {key: row.split() for key, row in re.findall(r"^ *(\w+):[ \t]*([\d. ]+)", text, re.M)}
    cpus, low, high = rows.get("Core", []), rows.get("Minimum", []), rows.get("Maximum", [])
    buckets = _buckets(text)
    if not cpus or not len(cpus) == len(low) == len(high):
        return None
    version = re.search(r"oslat V (\S+)", text)
    threads = (
        Thread(
            cpu=int(cpu),
            min_us=float(low[n]),
            max_us=float(high[n]),
            histogram={bucket: counts[n] for bucket, counts in buckets if len(counts) > n},
        )
        for n, cpu in enumerate(cpus)
    )
    return Oslat(version[1] if version else "", tuple(threads))


def _buckets(text: str) -> list[tuple[int, list[int]]]:
    rows = re.findall(r"^ *(\d+) \(us\):[ \t]*([\d ]+)", text, re.M)
    return [(int(bucket), [int(count) for count in counts.split()]) for bucket, counts in rows]
