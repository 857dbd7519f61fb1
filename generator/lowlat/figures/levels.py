# SPDX-License-Identifier: GPL-2.0-or-later
"""Gaps above sizes of one's own (``--level 1ms``), counted in the histograms."""

from collections.abc import Iterable
from functools import partial
from typing import Optional

from lowlat.base.arguments import seconds
from lowlat.base.errors import Refused
from lowlat.figures.measure import Endpoint, Key, Pooling
from lowlat.model.run import CpuRun, Run

_NAME = "above_per_s"

#: In seconds; the greatest is that of a run.
_SPAN = (1e-9, 1e6, "1ns to 277h")


def level(text: str) -> Endpoint:
    """The rate of the gaps at least as long as a time with its unit. Raises Refused if it is no
    such time."""
    ns = round(1e9 * seconds("--level", text, _SPAN, "100us or 1ms"))
    return Endpoint(
        _NAME,
        "1/s",
        partial(_rate, ns),
        text,
        Pooling.TIME,
        counted=True,
        title=f"gaps of {text} and more",
    )


def _rate(ns: float, cpu: CpuRun) -> Optional[float]:
    """A bucket that holds the level counts as a whole: no gap is missed."""
    count = sum(count for _, upper, count in cpu.histogram.rows if upper > ns)
    return 1e9 * count / cpu.runtime_ns if cpu.runtime_ns else None


def asked(words: Iterable[str], runs: Iterable[Run]) -> tuple[Endpoint, ...]:
    """The figures of these levels. Raises Refused if runs did not record so short gaps."""
    least = max(run.threshold_ns for run in runs)
    result = {text: level(text) for text in words}
    for text in result:
        if 1e9 * seconds("--level", text) < least:
            why = f"--level {text}: the runs count gaps of {least:g} ns and more"
            raise Refused(why, hint=f"give {least:g}ns or a longer time")
    return tuple(result.values())


def shown(keys: Iterable[Key]) -> list[Endpoint]:
    """The rows of a table for the levels among these figures."""
    return [level(key.row) for key in keys if key.name == _NAME and key.cpu == "all"]
