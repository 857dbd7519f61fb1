# SPDX-License-Identifier: GPL-2.0-or-later
"""oslat (rt-tests): its text and its JSON, with the faults of its versions corrected.

- Up to 2.8 times are rounded up, from 2.9 on down: for these the upper limit is given.
- 2.1 and 2.10 both call themselves 2.10; only the buckets tell them apart.
- Without ``--bucket-width`` the buckets of 2.5 to 2.8 are one microsecond too high.
- With it, the text is in us with three digits; the JSON has its buckets in us, and minimum and
  maximum in ns.
- The last bucket has all longer times: it is what lies above the range.
- ``--bias`` moves the rows: the text tells that it was given, and it counts among the options.

The average is not read: it is wrong in all versions (an iteration counts as the upper edge of its
bucket, and the first thread's overflow is added to every thread).

Sources: src/oslat/oslat.c of rt-tests 2.4, 2.6 and 2.9.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional

from lowlat.measure.tools import command, rt_tests
from lowlat.model.tool import ToolFile, ToolResult, ToolTimes

#: The buckets without --bucket-size: this many us.
_BUCKETS_US = 32

_NOTE = "oslat's average is left out: oslat counts each turn as its bucket's upper edge"


@dataclass(frozen=True)
class _Cpu:
    """Times in us as printed; ``rows`` by the printed edge, the empty ones included."""

    cpu: int
    low: float
    high: float
    rows: Mapping[float, float]


def read(text: str) -> Optional[ToolFile]:
    """Read oslat's text; None if it has no result (it is another program's, or oslat was ended
    early)."""
    rows = {key: row.split() for key, row in re.findall(r"^ *(\w+):[ \t]*([\d. ]+)", text, re.M)}
    cpus, low, high = rows.get("Core", []), rows.get("Minimum", []), rows.get("Maximum", [])
    if not cpus or not len(cpus) == len(low) == len(high):
        return None
    printed = re.findall(r"^ *(\d+|\d+\.\d{3}) \(us\):[ \t]*([\d ]+)", text, re.M)
    counts = [(float(edge), list(map(float, row.split()))) for edge, row in printed]
    each = [
        _Cpu(int(cpu), float(least), float(most), {edge: row[n] for edge, row in counts})
        for n, (cpu, least, most) in enumerate(zip(cpus, low, high))
    ]
    match = re.search(r"oslat V (\S+)", text)
    fine = "." in high[0]
    result = _result(match[1] if match else "unknown", each, fine=fine)
    lasted = [float(word) for word in rows.get("Duration", ())]
    told = [f"{key}: {value}" for key, value in re.findall(_SAID, text, re.M)]
    told += ["bias"] if re.search(r"^ *Global bias set ", text, re.M) else []
    told += filter(None, [command.settings("oslat", command.printed("oslat", text))])
    return ToolFile(
        *("oslat", "text", result),
        options="; ".join(told),
        seconds=max(lasted, default=0.0),
        notes=(_NOTE,),
    )


#: The options that the text tells.
_SAID = r"^(Thread priority|Workload|Workload mem): +\t*(.+?)\s*$"


def read_json(document: Mapping[str, Any]) -> ToolFile:
    """Read oslat's JSON. Raises ValueError, TypeError or KeyError if it is malformed."""
    line = rt_tests.command(document)
    threads = list(document["thread"].values())
    width = command.value(line, "W", "bucket-width")
    unit = 1000.0 if width else 1.0
    each = [
        _Cpu(
            int(one["cpu"]),
            one["min"] / unit,
            one["max"] / unit,
            _rows(one["histogram"], line, float(width or 1000) / 1000),
        )
        for one in threads
    ]
    result = _result(str(document["rt_test_version:"]), each, fine=bool(width))
    lasted = max((float(one["duration"]) for one in threads), default=0.0)
    file = rt_tests.described(document, result, lasted)
    return ToolFile(**{**vars(file), "notes": (_NOTE,)})


def _rows(histogram: Mapping[str, float], line: str, width_us: float) -> Mapping[float, float]:
    """The rows that counted, and the last, which the JSON lacks if it is empty."""
    size = command.value(line, "b", "bucket-size")
    last = width_us * (int(size) if size else round(_BUCKETS_US / width_us))
    rows = {float(edge): float(count) for edge, count in histogram.items()}
    return {max([last, *rows]): 0.0, **rows}


def _result(version: str, cpus: Sequence[_Cpu], *, fine: bool) -> ToolResult:
    lowest = min(one.low for one in cpus)
    used = [edge for one in cpus for edge, count in one.rows.items() if count]
    up = not fine and _rounds_up(version, lowest, min(used, default=None))
    late = not fine and _buckets_late(version, up)
    beyond = 0.0 if up or fine else 1.0
    # Empty rows may be left out (--zero-omit), but hardly ever the first.
    width = min((edge for one in cpus for edge in one.rows), default=1.0) if fine else 1.0
    return ToolResult(
        "2.1" if version == "2.10" and up else version,
        times=tuple(_times(one, width, late, beyond) for one in cpus),
    )


def _times(one: _Cpu, width: float, late: bool, beyond: float) -> ToolTimes:
    rows = sorted((edge - late, count) for edge, count in one.rows.items())
    last, over = rows[-1] if rows else (0.0, 0.0)
    return ToolTimes(
        one.cpu,
        samples=sum(count for _, count in rows),
        min_us=one.low,
        max_us=one.high + beyond,
        counts=tuple((upper - width, upper, count) for upper, count in rows[:-1] if count),
        over=over,
        range_us=max(last - width, 0.0),
    )


def _rounds_up(version: str, lowest: float, first: Optional[float]) -> bool:
    """A minimum of 0 was rounded down; a first bucket equal to the minimum, up; else the version
    decides."""
    if lowest == 0 or first in (lowest, None):
        return lowest > 0
    # 2.9 is printed as 2.90, 2.8 as 2.80, but 2.10 as 2.10.
    return bool(re.match(r"2\.([2-8])0$|1\.", version))


def _buckets_late(version: str, up: bool) -> bool:
    return up and bool(re.match(r"2\.[5-8]0$", version))
