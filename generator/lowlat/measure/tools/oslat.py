# SPDX-License-Identifier: GPL-2.0-or-later
"""The maxima that oslat (rt-tests) printed, with the faults of its versions corrected.

- Up to 2.8 times are rounded up, from 2.9 on down: for these the upper limit is given.
- 2.1 and 2.10 both call themselves 2.10; only the buckets tell them apart.

Its other figures are not used: the average is wrong in all versions (an iteration counts as the
upper edge of its bucket, and the first thread's overflow is added to every thread), and without
``-W`` the buckets of 2.5 to 2.8 are one microsecond too high.

Sources: src/oslat/oslat.c of rt-tests 2.4, 2.6 and 2.9.
"""

import re
from typing import Optional

from lowlat.model.run import ToolResult


def parse(output: str, _: str = "") -> Optional[ToolResult]:
    """Read oslat's text: for each CPU an upper limit in us of its longest time. None if the output
    has no result (oslat was ended early)."""
    rows = {key: row.split() for key, row in re.findall(r"^ *(\w+):[ \t]*([\d. ]+)", output, re.M)}
    cpus, low, high = rows.get("Core", []), rows.get("Minimum", []), rows.get("Maximum", [])
    if not cpus or not len(cpus) == len(low) == len(high):
        return None
    match = re.search(r"oslat V (\S+)", output)
    version = match[1] if match else "unknown"
    up = _rounds_up(version, min(map(int, low)), _first_bucket(output))
    limits = {cpu: float(most) + (0 if up else 1) for cpu, most in zip(cpus, high)}
    return ToolResult("2.1" if version == "2.10" and up else version, limits)


def _rounds_up(version: str, lowest: int, first: Optional[int]) -> bool:
    """A minimum of 0 was rounded down; a first bucket equal to the minimum, up; else the version
    decides."""
    if lowest == 0 or first in (lowest, None):
        return lowest > 0
    # 2.9 is printed as 2.90, 2.8 as 2.80, but 2.10 as 2.10.
    return bool(re.match(r"2\.([2-8])0$|1\.", version))


def _first_bucket(output: str) -> Optional[int]:
    """In us; None if all are empty."""
    rows = re.findall(r"^ *(\d+) \(us\):[ \t]*([\d ]+)", output, re.M)
    return min(
        (int(label) for label, counts in rows if any(map(int, counts.split()))), default=None
    )
