# SPDX-License-Identifier: GPL-2.0-or-later
"""Plans of exact stalls, and how well a detector finds and measures them."""

from __future__ import annotations

import csv
import random
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gaps import Recall
from programs import FULL, Loop

#: Nanoseconds, and their number. Lengths above microseconds are no multiples of one, so that they
#: lie in the middle of oslat's buckets.
SIZES: Mapping[int, int] = {
    50: 800, 100: 800, 200: 800, 500: 800, 1_500: 800, 5_500: 800, 20_500: 800, 100_500: 800,
    1_500_500: 150, 10_000_000: 20, 100_000_000: 3, 1_000_000_000: 1,
}  # fmt: skip
FACTOR = 10 if FULL else 1

#: A stall longer than requested by more than a tenth plus this was disturbed at its end.
LATE_NS = 100
#: An earlier disturbance is over before the stall's end is due, so the stall is found and has its
#: length. But the code after the stall is then cold, and the resulting delay is not an error of the
#: clock. Long stalls stay undisturbed on no machine.
STRUCK_NS = 1_000
LONG_NS = 10_000_000


@dataclass(frozen=True)
class Stall:
    """See ``stall.h``."""

    ns: int
    begin: int
    end: int
    raw_ns: int
    before: int
    struck_ns: int


def write_plan(path: Path, sizes: Mapping[int, int] = SIZES, longest_wait: int = 5000) -> Path:
    """Stalls in random order, 500 to ``longest_wait`` readings apart; the same each time."""
    chance = random.Random(1)
    lengths = [ns for ns, count in sizes.items() for _ in range(count * FACTOR)]
    chance.shuffle(lengths)
    rows = (f"{ns} {chance.randint(500, longest_wait)}\n" for ns in lengths)
    path.write_text("".join(rows))
    return path


def read_truth(path: Path) -> list[Stall]:
    """The stalls, without one that the end of the run cut short."""
    with path.open() as file:
        rows = [{name: int(value) for name, value in row.items()} for row in csv.DictReader(file)]
    return [Stall(**row) for row in rows if row["end"]]


@dataclass(frozen=True)
class Size:
    """All stalls of one length. ``errors`` in ns: reported minus true length."""

    ns: int
    recall: Recall
    #: Not counted: another gap prolonged it or came one reading before it.
    hit: int
    #: Not timed: another gap was inside.
    struck: int
    errors: Sequence[float]


@dataclass(frozen=True)
class Score:
    sizes: Sequence[Size]

    def recall(self, at_least_ns: int) -> Recall:
        counted = [size.recall for size in self.sizes if size.ns >= at_least_ns]
        return Recall(sum(each.found for each in counted), sum(each.of for each in counted))

    @property
    def hit(self) -> int:
        return sum(size.hit for size in self.sizes)

    def errors(self, at_least_ns: int = 100) -> list[float]:
        """Absolute errors, sorted."""
        chosen = (size.errors for size in self.sizes if size.ns >= at_least_ns)
        return sorted(abs(error) for errors in chosen for error in errors)


def quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def late(stall: Stall, ticks_per_ns: float) -> bool:
    return stall.end - stall.begin > (1.1 * stall.ns + LATE_NS) * ticks_per_ns


def was_hit(stall: Stall, ticks_per_ns: float, threshold_ns: int) -> bool:
    """A stall one reading behind another gap coincides with the storing of that gap."""
    return late(stall, ticks_per_ns) or stall.before >= threshold_ns * ticks_per_ns


def score(stalls: Iterable[Stall], loop: Loop, threshold_ns: int) -> Score:
    by_size: dict[int, list[Stall]] = {}
    for stall in stalls:
        by_size.setdefault(stall.ns, []).append(stall)
    return Score([_score(ns, by_size[ns], loop, threshold_ns) for ns in sorted(by_size)])


def _score(ns: int, stalls: Sequence[Stall], loop: Loop, threshold_ns: int) -> Size:
    rate = loop.true_ticks_per_ns
    counted = [stall for stall in stalls if not was_hit(stall, rate, threshold_ns)]
    found, struck, errors = 0, 0, []
    for stall in counted:
        gap = loop.gaps.around((stall.begin, stall.end))
        found += gap is not None
        if stall.struck_ns > STRUCK_NS and ns < LONG_NS:
            struck += 1
        elif gap:
            truth = stall.raw_ns or (stall.end - stall.begin) / rate
            errors.append((gap[1] - gap[0]) / loop.ticks_per_ns - truth)
    return Size(ns, Recall(found, len(counted)), len(stalls) - len(counted), struck, errors)


def show(score: Score) -> str:
    """One row for each length."""
    rows = [
        f"{'stall':>9} {'recall':>7} {'of':>5} {'hit':>5} {'struck':>6} {'error: median':>14} p99"
    ]
    for size in score.sizes:
        ordered = sorted(abs(error) for error in size.errors)
        row = f"{name(size.ns):>9} {size.recall.share:7.4f} {size.recall.of:5} {size.hit:5}"
        if ordered:
            middle, p99 = statistics.median(ordered), quantile(ordered, 0.99)
            row += f" {size.struck:6} {middle:11.0f} ns {p99:.0f} ns"
        rows.append(row)
    return "\n".join(rows)


def name(ns: int) -> str:
    for unit, factor in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if ns >= factor:
            return f"{ns / factor:g} {unit}"
    return f"{ns} ns"
