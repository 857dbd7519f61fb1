# SPDX-License-Identifier: GPL-2.0-or-later
"""The delay of a thread that wakes on a schedule, beside cyclictest in the same minute."""

from collections.abc import Iterable, Iterator

from lowlat.report.endpoint import WAKEUPS, pooled_name
from lowlat.report.osnoise import OsnoiseArm, cell

_NAMES = tuple(
    [pooled_name(name.format(share)) for share in WAKEUPS]
    for name in ("wakeup_{}_ns", "wakeup_{}_skipping_ns", "cyclictest_{}_us")
)

#: The note below the rows.
NOTE = (
    "cyclictest skips wake-ups that come due while it is delayed, and truncates to whole us; "
    "skipping: lowlat-measure with the same rule; agreement: skipping divided by cyclictest"
)


def rows(arms: Iterable[OsnoiseArm]) -> Iterator[tuple[str, ...]]:
    """The header, then rows for each arm that has them: its latency; then cyclictest's beside the
    same part of its own, with their ratio."""
    yield ("wake-up latency, us", *WAKEUPS)
    for arm in arms:
        own, skipping, theirs = ([arm.get(name) for name in names] for names in _NAMES)
        if any(own):
            yield (arm.name, *(cell(value, 1e3) for value in own))
        if any(own) and any(theirs):
            yield ("- skipping", *(cell(value, 1e3) for value in skipping))
            yield ("- cyclictest", *map(cell, theirs))
            pairs = zip(skipping, theirs)
            yield ("- agreement", *(cell(one, 1e3 * (other or 0)) for one, other in pairs))
