# SPDX-License-Identifier: GPL-2.0-or-later
"""What oslat (rt-tests) printed, with the known faults of its versions corrected or flagged.

- The average is wrong in all versions (an iteration counts as the upper edge of its bucket, and the
  first thread's overflow is added to every thread, in the wrong unit with ``-W``): the true mean
  is the duration divided by the number of iterations.
- Up to 2.8 times are rounded up, from 2.9 on down, so figures of differing versions don't compare.
  2.5 to 2.8 rounded up and yet took the result for the lower edge: without ``-W`` their buckets
  are one microsecond too high.
- With ``-W`` the JSON has nanoseconds beside microseconds; its keys end in a stray colon.
- 2.1 and 2.10 both call themselves 2.10; only the buckets tell them apart.

Sources: src/oslat/oslat.c of rt-tests 2.4, 2.6 and 2.9.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional

from lowlat.report import rt_tests


@dataclass(frozen=True)
class Bucket:
    """So many iterations took from ``lower_us`` to ``upper_us``; the last holds all above it."""

    lower_us: float
    upper_us: float
    count: int


@dataclass(frozen=True)
class Thread:
    """One CPU's result in microseconds; ``min_us`` and ``max_us`` as they were printed.

    ``max_range_us`` is where the true maximum lies, after the rounding. ``mean_us`` is the
    corrected average, None where a duration or count is missing.
    """

    cpu: int
    min_us: float
    max_us: float
    max_range_us: tuple[float, float]
    mean_us: Optional[float]
    histogram: tuple[Bucket, ...]


@dataclass(frozen=True)
class Oslat:
    """One run: its version ("2.40", "" where unknown), a result for each CPU, and what to know."""

    version: str
    threads: tuple[Thread, ...]
    flags: tuple[str, ...] = ()

    @property
    def max_us(self) -> Optional[float]:
        return max((thread.max_us for thread in self.threads), default=None)


@dataclass(frozen=True)
class _Printed:
    """One thread as printed; times in us, buckets by their label."""

    cpu: int
    low: float
    high: float
    duration_s: Optional[float]
    counts: Mapping[float, int]


@dataclass(frozen=True)
class _Scheme:
    """How a version bins: the resolution, and how far labels and maxima lie above the truth."""

    unit_us: float
    width_us: float
    rounds_up: bool
    labels_high: float


def parse(output: str) -> Optional[Oslat]:
    """Read oslat's JSON or its text; None where there is no result in it (it was ended early)."""
    brace = output.find("{")
    data = rt_tests.load(output[brace:]) if brace >= 0 else {}
    version, printed = _from_json(data) if data else _from_text(output)
    if not printed:
        return None
    scheme = _scheme(version, printed, _width(str(data.get("cmdline", "")), printed))
    threads = tuple(_thread(thread, scheme) for thread in printed)
    return Oslat(version, threads, tuple(_flags(version, scheme)))


def _from_json(data: Mapping[str, Any]) -> tuple[str, Sequence[_Printed]]:
    try:
        items = list(data["thread"].values())
        # Histogram labels are microseconds, with decimals exactly where all else is nanoseconds.
        in_ns = any("." in label for item in items for label in item.get("histogram", {}))
        printed = [_printed(item, 0.001 if in_ns else 1.0) for item in items]
    except (ValueError, KeyError, AttributeError, TypeError):
        return "", ()
    return str(data.get("rt_test_version", "")), printed


def _printed(item: Mapping[str, object], unit: float) -> _Printed:
    histogram = item.get("histogram", {})
    if not isinstance(histogram, dict):
        raise TypeError("histogram")
    return _Printed(
        cpu=int(str(item["cpu"])),
        low=float(str(item["min"])) * unit,
        high=float(str(item["max"])) * unit,
        duration_s=float(str(item["duration"])) if "duration" in item else None,
        counts={float(label): int(count) for label, count in histogram.items()},
    )


def _from_text(text: str) -> tuple[str, Sequence[_Printed]]:
    rows = {key: row.split() for key, row in re.findall(r"^ *(\w+):[ \t]*([\d. ]+)", text, re.M)}
    cpus, low, high = rows.get("Core", []), rows.get("Minimum", []), rows.get("Maximum", [])
    if not cpus or not len(cpus) == len(low) == len(high):
        return "", ()
    version = re.search(r"oslat V (\S+)", text)
    durations = [float(value) for value in rows.get("Duration", [])]
    buckets = _buckets(text)
    return version[1] if version else "", [
        _Printed(
            cpu=int(cpu),
            low=float(low[n]),
            high=float(high[n]),
            duration_s=durations[n] if len(durations) > n else None,
            counts={label: counts[n] for label, counts in buckets if len(counts) > n},
        )
        for n, cpu in enumerate(cpus)
    ]


def _buckets(text: str) -> list[tuple[float, list[int]]]:
    rows = re.findall(r"^ *(\d+(?:\.\d+)?) \(us\):[ \t]*([\d ]+)", text, re.M)
    return [(float(label), [int(count) for count in counts.split()]) for label, counts in rows]


def _scheme(version: str, printed: Sequence[_Printed], width: float) -> _Scheme:
    """What tells: a minimum of 0 was rounded down; a first bucket of the minimum itself, up."""
    up = _rounds_up(version)
    if any(label % 1 for thread in printed for label in thread.counts):
        return _Scheme(0.001, width, up, 0.0)
    lowest = min(thread.low for thread in printed)
    first = min((label for t in printed for label, n in t.counts.items() if n), default=lowest)
    if lowest == 0 or first == lowest:
        return _Scheme(1.0, width, lowest > 0, 0.0)
    return _Scheme(1.0, width, up, 1.0 if up and width == 1 and version != "2.40" else 0.0)


def _width(command: str, printed: Sequence[_Printed]) -> float:
    """Of a bucket, in us. The text has every bucket, the JSON the filled ones and the command."""
    given = re.search(r"(?:^|\s)(?:-W|--bucket-width)[ =]?(\d+)", command)
    if given or command:
        return int(given[1]) / 1000 if given else 1.0
    labels = sorted({label for thread in printed for label in thread.counts})
    return min((upper - lower for lower, upper in zip(labels, labels[1:])), default=1.0)


def _rounds_up(version: str) -> bool:
    """2.9 is printed as 2.90, 2.8 as 2.80, but 2.10 as 2.10."""
    found = re.match(r"2\.([1-8])0$|1\.", version)
    return bool(found) and version != "2.10"


def _thread(printed: _Printed, scheme: _Scheme) -> Thread:
    """Times on the true scale: of a rounded value only its interval is known."""
    unit, samples = scheme.unit_us, sum(printed.counts.values())
    low = max(printed.high - unit, 0.0) if scheme.rounds_up else printed.high
    mean = None
    if printed.duration_s is not None and samples:
        mean = printed.duration_s * 1e6 / samples
    return Thread(
        cpu=printed.cpu,
        min_us=printed.low,
        max_us=printed.high,
        max_range_us=(round(low, 6), round(low + unit, 6)),
        mean_us=mean,
        histogram=tuple(_histogram(printed, scheme, low + unit)),
    )


def _histogram(printed: _Printed, scheme: _Scheme, longest: float) -> Iterator[Bucket]:
    """With a bias, the first bucket takes all below it, too."""
    filled = sorted(label for label, count in printed.counts.items() if count)
    shortest = printed.low - (scheme.unit_us if scheme.rounds_up else 0.0)
    for label in filled:
        upper = label - scheme.labels_high
        lower = upper - scheme.width_us
        if label == filled[0]:
            lower = min(lower, shortest)
        if label == filled[-1]:
            upper = max(upper, longest)
        yield Bucket(round(max(lower, 0.0), 6), round(upper, 6), printed.counts[label])


def _flags(version: str, scheme: _Scheme) -> Iterator[str]:
    way = "up" if scheme.rounds_up else "down"
    unit = "ns" if scheme.unit_us < 1 else "us"
    yield f"oslat {version or 'of unknown version'} rounds {way} to whole {unit}"
    if scheme.labels_high:
        yield "its buckets were one us too high and are corrected"
    if version == "2.10" and scheme.rounds_up:
        yield "it calls itself 2.10 and is 2.1"
