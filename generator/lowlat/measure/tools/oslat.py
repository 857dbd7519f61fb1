# SPDX-License-Identifier: GPL-2.0-or-later
"""The maxima that oslat (rt-tests) printed, with the faults of its versions corrected.

- Up to 2.8 times are rounded up, from 2.9 on down: for these the upper limit is given.
- 2.1 and 2.10 both call themselves 2.10; only the buckets tell them apart.
- With ``-W`` the JSON has nanoseconds beside microseconds; its keys end in a stray colon.

Its other figures are not used: the average is wrong in all versions (an iteration counts as the
upper edge of its bucket, and the first thread's overflow is added to every thread), and without
``-W`` the buckets of 2.5 to 2.8 are one microsecond too high.

Sources: src/oslat/oslat.c of rt-tests 2.4, 2.6 and 2.9.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional

from lowlat.model.run import ToolResult


@dataclass(frozen=True)
class _Printed:
    """One thread as printed; times in us, buckets by their label."""

    cpu: int
    low: float
    high: float
    counts: Mapping[float, int]


def parse(output: str) -> Optional[ToolResult]:
    """Read oslat's JSON or text: for each CPU an upper limit in us of its longest time. None if the
    output has no result (oslat was ended early)."""
    brace = output.find("{")
    data = load(output[brace:]) if brace >= 0 else {}
    version, printed = _from_json(data) if data else _from_text(output)
    if not printed:
        return None
    unit, up = _rounding(version, printed)
    limits = {str(thread.cpu): round(thread.high + (0 if up else unit), 6) for thread in printed}
    return ToolResult("2.1" if version == "2.10" and up else version, limits)


def _from_json(data: Mapping[str, Any]) -> tuple[str, Sequence[_Printed]]:
    try:
        items = list(data["thread"].values())
        # Histogram labels are microseconds; they have decimals only if all else is nanoseconds.
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
        counts={float(label): int(count) for label, count in histogram.items()},
    )


def _from_text(text: str) -> tuple[str, Sequence[_Printed]]:
    rows = {key: row.split() for key, row in re.findall(r"^ *(\w+):[ \t]*([\d. ]+)", text, re.M)}
    cpus, low, high = rows.get("Core", []), rows.get("Minimum", []), rows.get("Maximum", [])
    if not cpus or not len(cpus) == len(low) == len(high):
        return "", ()
    version = re.search(r"oslat V (\S+)", text)
    buckets = _buckets(text)
    return version[1] if version else "", [
        _Printed(
            cpu=int(cpu),
            low=float(low[n]),
            high=float(high[n]),
            counts={label: counts[n] for label, counts in buckets if len(counts) > n},
        )
        for n, cpu in enumerate(cpus)
    ]


def _buckets(text: str) -> list[tuple[float, list[int]]]:
    rows = re.findall(r"^ *(\d+(?:\.\d+)?) \(us\):[ \t]*([\d ]+)", text, re.M)
    return [(float(label), [int(count) for count in counts.split()]) for label, counts in rows]


def _rounding(version: str, printed: Sequence[_Printed]) -> tuple[float, bool]:
    """The unit in us to which times are rounded, and whether up. A minimum of 0 was rounded down; a
    first bucket equal to the minimum, up; else the version decides."""
    # 2.9 is printed as 2.90, 2.8 as 2.80, but 2.10 as 2.10.
    up = bool(re.match(r"2\.([2-8])0$|1\.", version))
    if any(label % 1 for thread in printed for label in thread.counts):
        return 0.001, up
    lowest = min(thread.low for thread in printed)
    first = min((label for t in printed for label, n in t.counts.items() if n), default=lowest)
    return 1.0, lowest > 0 if lowest == 0 or first == lowest else up


def load(text: str) -> dict[str, Any]:
    """The JSON object of any program of rt-tests (src/lib/rt-utils.c: rt_write_json) at the start
    of ``text``, without stray colons after its keys; {} if there is none."""
    try:
        data, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return {}
    return {key.rstrip(":"): value for key, value in data.items()} if isinstance(data, dict) else {}
