# SPDX-License-Identifier: GPL-2.0-or-later
"""Several arms in one table, the first of them the measure of the others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Optional

from lowlat.report.comparison import Comparison, Named
from lowlat.report.figures import ENTRIES
from lowlat.report.tables import Table
from lowlat.report.words import change, interval, number, probability


def headline(found: Comparison) -> str:
    """What was compared, in one sentence."""
    told = [f"{arm.name} {arm.report.verdict.replace('-', ' ')}" for arm in found.arms]
    what = "Kernel entries" if _entries(found) else "Noise"
    return f"{what} against {found.first}: {', '.join(told)}."


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
    """What was not in effect, by arm."""
    for arm in found.arms:
        yield from (f"{arm.name}: {item.name}: {item.why}" for item in arm.report.not_in_effect)


def _entries(found: Comparison) -> bool:
    primary: list[Optional[str]] = [
        arm.report.primary.name for arm in found.arms if arm.report.primary is not None
    ]
    return ENTRIES in primary
