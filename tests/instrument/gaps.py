# SPDX-License-Identifier: GPL-2.0-or-later
"""The gaps that a detector found, and the share of the truth in them."""

from __future__ import annotations

import csv
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from scipy.stats import beta

#: Begin and end, in ticks.
Span = tuple[int, int]


class Gaps:
    """Gaps of one CPU, without overlaps."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self._spans = sorted(spans)
        self._begins = [begin for begin, _ in self._spans]

    def __len__(self) -> int:
        return len(self._spans)

    @property
    def window(self) -> Span:
        """From the begin of the first gap to the end of the last one: the detector was running
        meanwhile."""
        return self._spans[0][0], self._spans[-1][1]

    def around(self, span: Span) -> Optional[Span]:
        """The gap that contains the whole span, or None."""
        index = bisect_right(self._begins, span[0]) - 1
        if index < 0 or self._spans[index][1] < span[1]:
            return None
        return self._spans[index]


@dataclass(frozen=True)
class Recall:
    found: int
    of: int

    @property
    def share(self) -> float:
        return self.found / self.of if self.of else 0.0

    @property
    def lower(self) -> float:
        """The exact (Clopper-Pearson) lower bound at 95 %, one-sided."""
        if not self.found:
            return 0.0
        return float(beta.ppf(0.05, self.found, self.of - self.found + 1))

    def __str__(self) -> str:
        return f"{self.share:.4f} ({self.found} of {self.of}, at least {self.lower:.5f})"


def read_spans(path: Path, cpu: Optional[int] = None) -> list[Span]:
    """Gaps from rows of ``begin,end``, or of ``cpu,begin,end`` for one CPU."""
    with path.open() as file:
        return [
            (int(row["begin"]), int(row["end"]))
            for row in csv.DictReader(file)
            if cpu is None or int(row["cpu"]) == cpu
        ]


def recall(spans: Iterable[Span], gaps: Gaps) -> Recall:
    """The recall of the spans within the window of the gaps."""
    begin, end = gaps.window
    inside = [span for span in spans if span[0] >= begin and span[1] <= end]
    return Recall(sum(gaps.around(span) is not None for span in inside), len(inside))
