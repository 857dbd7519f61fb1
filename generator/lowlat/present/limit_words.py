# SPDX-License-Identifier: GPL-2.0-or-later
"""What the arms showed of limits, as a table and as the reasons why one is not met."""

from collections.abc import Iterable, Iterator, Sequence

from lowlat.base.errors import Unmet
from lowlat.claim.limits import Observed
from lowlat.present.wording import number

#: oslat's clock, which it calibrates itself, shows 1.998 s of 2 s.
_ENOUGH = 0.999


def check(found: Iterable[Observed]) -> None:
    """Raises Unmet, naming every limit that was exceeded or not observed for long enough."""
    for words in told(found):
        raise Unmet(words)


def told(found: Iterable[Observed]) -> Iterator[str]:
    """A sentence on all limits that were exceeded or not observed for long enough, if there are
    some."""
    missed = [words for one in found for words in _missed(one)]
    if missed:
        yield f"--limit not met: {'; '.join(missed)}"


def _missed(one: Observed) -> Iterator[str]:
    what = f"{one.arm}, {one.what}"
    if one.above:
        count = f"{'at least ' if one.least else ''}{one.above:,} above {one.limit}"
        yield f"{what}: {count}, the longest {number(one.longest_ns / 1e3)} us"
    elif one.hours < _ENOUGH * one.hours_wanted:
        seen = f"{one.hours:.4g}" if one.hours else "an unknown time"
        yield f"{what}: {seen} of {one.hours_wanted:g} hours observed"


def rows(found: Sequence[Observed]) -> Iterator[tuple[str, ...]]:
    """The header, then a row for each arm and kind."""
    yield "limit", "above", "longest, us", "CPU-hours", "at most (95 %)"
    for one in found:
        count = f"{'at least ' if one.least else ''}{one.above:,}" if one.above else "none"
        seen = f"{one.hours:.4g}" if one.hours else "?"
        wanted = f", {seen} of {one.hours_wanted:g} h" if one.hours_wanted else ""
        yield (
            f"{one.arm}, {one.what}: {number(one.limit_ns / 1e3)} us{wanted}",
            *(count, number(one.longest_ns / 1e3)),
            *(number(one.cpu_hours) if one.cpu_hours else "?", _rate(one)),
        )


def _rate(one: Observed) -> str:
    """The bound in words: "one in 24.0 CPU-hours", "7,200 in a CPU-hour"."""
    most = one.at_most_per_hour
    if most is None:
        return "-"
    return f"one in {number(1 / most)} CPU-hours" if most < 1 else f"{number(most)} in a CPU-hour"
