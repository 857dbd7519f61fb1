# SPDX-License-Identifier: GPL-2.0-or-later
"""The longest latencies of wake-ups that cyclictest (rt-tests) printed, with ``--quiet`` and
``--histogram`` or as JSON.

Its histogram is left alone: periods missed while it was held up are skipped, not counted, so its
percentiles leave out exactly the worst times (coordinated omission).

Sources: src/cyclictest/cyclictest.c of rt-tests 2.4 to 2.9.
"""

import re

from lowlat.measure.tools import oslat


def maxima_us(output: str) -> tuple[float, ...]:
    """One for each thread; none where there is no result in it. The text does not tell
    microseconds from the nanoseconds of its option -N and is taken for the former."""
    brace = output.find("{")
    if brace >= 0:
        return _from_json(output[brace:])
    found = re.search(r"^# Max Latencies:([ \d]+)$", output, re.M)
    return tuple(map(float, found[1].split())) if found else ()


def _from_json(text: str) -> tuple[float, ...]:
    data = oslat.load(text)
    unit = 0.001 if data.get("resolution_in_ns") else 1.0
    try:
        return tuple(float(thread["max"]) * unit for thread in data["thread"].values())
    except (ValueError, KeyError, AttributeError, TypeError):
        return ()
