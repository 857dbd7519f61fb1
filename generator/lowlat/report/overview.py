# SPDX-License-Identifier: GPL-2.0-or-later
"""Several arms in one table, the first of them the measure of the others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Optional

from lowlat.report.comparison import Comparison, Named
from lowlat.report.figures import ENTRIES
from lowlat.report.tables import Table
from lowlat.report.verdict import INCREASED, REDUCED
from lowlat.report.words import change, interval, number, probability

#: So many arms are named in a sentence; of more it tells how many.
_FEW = 4


def headline(found: Comparison) -> str:
    """What was compared, in one sentence."""
    told = map(_told, found.arms) if len(found.arms) <= _FEW else _counted(found)
    return f"{subject(found)} against {found.first}: {', '.join(told)}."


def subject(found: Comparison) -> str:
    """What the verdicts are about, in words."""
    return "Kernel entries" if _entries(found) else "Noise"


def _told(arm: Named) -> str:
    words = f"{arm.name} {arm.report.verdict.replace('-', ' ')}"
    primary = arm.report.primary
    if primary is None or arm.report.verdict not in (REDUCED, INCREASED):
        return words
    return f"{words} ({change(primary)})"


def _counted(found: Comparison) -> Iterator[str]:
    """How many arms have which verdict, and which where they are few."""
    verdicts: dict[str, list[str]] = {}
    for arm in found.arms:
        verdicts.setdefault(arm.report.verdict, []).append(arm.name)
    for word, names in verdicts.items():
        which = f" ({', '.join(names)})" if len(names) <= _FEW else ""
        yield f"{word.replace('-', ' ')} in {len(names)} of {len(found.arms)} arms{which}"


def table(found: Comparison) -> Table:
    """A row for each arm: boots, the primary endpoint, its ratio, interval, p and the verdict."""
    figure = "kernel entries, /s" if _entries(found) else "noise, ppm of the time"
    header = (found.first, "boots", figure, "change", "ratio, 95 %", "p", "verdict")
    return Table(
        header,
        tuple(_row(arm) for arm in found.arms),
        note="each against the first; p is adjusted for their number, the intervals are not",
    )


def _row(arm: Named) -> tuple[str, ...]:
    report = arm.report
    boots = "{} / {}".format(*report.boots)
    primary = report.primary
    if primary is None:
        return arm.name, boots, "-", "-", "", "", report.verdict
    figure = f"{number(primary.before)} -> {number(primary.after)}"
    words = change(primary), interval(primary), probability(primary.p)
    return arm.name, boots, figure, *words, report.verdict


def notes(found: Comparison) -> Iterator[str]:
    """What is to be known of the arms; the same of several is one sentence."""
    flags: dict[str, list[str]] = {}
    for arm in found.arms:
        refused = [f"not comparable: {arm.report.why}"] if arm.report.verdict == "refused" else []
        for flag in (*refused, *arm.report.flags):
            flags.setdefault(flag, []).append(arm.name)
    for flag, names in flags.items():
        everywhere = len(names) == len(found.arms)
        yield flag if everywhere else f"{', '.join(names)}: {flag}"


def missing(found: Comparison) -> Iterator[str]:
    """What was not in effect, and in which arms."""
    lost: dict[str, list[str]] = {}
    for arm in found.arms:
        for item in arm.report.not_in_effect:
            lost.setdefault(f"{item.name}: {item.why}", []).append(arm.name)
    yield from (f"{', '.join(names)}: {words}" for words, names in lost.items())


def _entries(found: Comparison) -> bool:
    primary: list[Optional[str]] = [
        arm.report.primary.name for arm in found.arms if arm.report.primary is not None
    ]
    return ENTRIES in primary
