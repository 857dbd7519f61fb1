# SPDX-License-Identifier: GPL-2.0-or-later
"""The clock of the kernel's trace in ticks of a run's clock."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ClockPair:
    """Two moments, each in ticks of the run's clock and in ns of CLOCK_MONOTONIC_RAW."""

    first: tuple[int, int]
    last: tuple[int, int]

    def ticks(self, raw_ns: int) -> int:
        """The run's ticks at a moment of CLOCK_MONOTONIC_RAW."""
        (t0, r0), (t1, r1) = self.first, self.last
        return t0 + (raw_ns - r0) * (t1 - t0) // max(r1 - r0, 1)

    def ns(self, ticks: float) -> float:
        """A duration in ns."""
        (t0, r0), (t1, r1) = self.first, self.last
        return ticks * (r1 - r0) / max(t1 - t0, 1)

    def span(self, ns: float) -> int:
        """A duration in whole ticks."""
        return int(ns / max(self.ns(1), 1e-9))
