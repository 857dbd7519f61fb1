# SPDX-License-Identifier: GPL-2.0-or-later
"""The second opinions of a run beside oslat's: cyclictest's and rtla's longest times."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Optional

from lowlat.measure.tools import cyclictest, rtla
from lowlat.model.run import Load


def name(tool: str) -> str:
    """What a tool's longest time is called among the figures of a run."""
    return f"{tool}_max_us"


def longest_us(opinion: Load) -> Optional[float]:
    """The longest time of any CPU in us, where a tool rounds it down its upper limit; None where
    there is no result: latency of a wake-up (cyclictest, timerlat) or one noise (osnoise)."""
    if opinion.tool == "cyclictest":
        return max(cyclictest.maxima_us(opinion.output), default=None)
    return max(rtla.maxima_us(opinion.output), default=None)


def versions(opinions: Iterable[Load]) -> str:
    """Of all of them that have a result, such as "cyclictest 2.40"."""
    told = {f"{o.tool} {o.version}" for o in opinions if longest_us(o) is not None}
    return " and ".join(sorted(told))
