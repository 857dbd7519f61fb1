# SPDX-License-Identifier: GPL-2.0-or-later
"""How long lowlat-measure takes, so that its end can be awaited.

All numbers of its own that Python knows are here; a test compares them with what its help says.
"""

from __future__ import annotations

import os
import re
from typing import Optional

#: What --duration and --warmup take: the least and the most seconds, and both in words.
TIMES = {"--duration": (0.001, 86400.0, "1ms to 24h"), "--warmup": (0.0, 3600.0, "0s to 1h")}

#: The longest of a second opinion, a work kind and a run of stress-ng's matrix, in seconds, and how
#: many opinions and kinds "all" stands for (measure/: run/second_opinions.c, run/works.c,
#: load/throughput.h).
_OPINION_S, _OPINIONS = 30.0, 4
_WORK_S, _KINDS = 10.0, 6
_THROUGHPUT_S = 2.0

#: Runs that ``--throughput`` alone stands for.
THROUGHPUT_RUNS = "5"


def opinions_seconds(names: Optional[str], oslat: bool, measured: float) -> float:
    """Of the second opinions, oslat's that is wanted anyway among them."""
    count = _count(names, _OPINIONS)
    counted = names == "all" or "oslat" in (names or "").split(",")
    return min(measured, _OPINION_S) * (count + (oslat and not counted))


def work_seconds(kinds: Optional[str], alone: bool, measured: float) -> float:
    """Of the work kinds, on as many CPUs as there are where it is one after another."""
    turns = (os.cpu_count() or 1) if alone else 1
    return min(measured, _WORK_S) * _count(kinds, _KINDS) * turns


def throughput_seconds(runs: Optional[str]) -> float:
    """Of so many runs; lowlat-measure refuses what is no number."""
    return _THROUGHPUT_S * int(runs) if re.fullmatch(r"[0-9]{1,4}", runs or "") and runs else 0.0


def _count(names: Optional[str], everything: int) -> int:
    if not names:
        return 0
    return everything if names == "all" else names.count(",") + 1
