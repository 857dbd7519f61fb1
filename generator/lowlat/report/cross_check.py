# SPDX-License-Identifier: GPL-2.0-or-later
"""The cross-checks: other programs that measure the same CPUs, one row each."""

from dataclasses import dataclass

from lowlat.report.measure import Endpoint, TableSection


@dataclass(frozen=True)
class CrossCheck:
    """A program as a run names it, its command, and the title of a column if it tells the longest
    time of each CPU."""

    tool: str
    command: str
    column: str = ""

    @property
    def longest(self) -> Endpoint:
        return Endpoint(
            f"{self.tool}_max_us",
            "us",
            pool=max,
            section=TableSection.CROSS_CHECK,
            title=f"{self.command} maximum of any CPU, us",
            column=self.column,
        )


OSLAT = CrossCheck("oslat", "oslat", "oslat max, us")

CROSS_CHECKS = (
    OSLAT,
    CrossCheck("cyclictest", "cyclictest"),
    CrossCheck("osnoise", "rtla osnoise"),
    CrossCheck("timerlat", "rtla timerlat"),
)

#: The beginnings of the harness's notes on one that is missing or failed.
NOTES = tuple({f"{word} " for one in CROSS_CHECKS for word in (one.tool, one.command.split()[0])})
