# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers and findings as a person reads them; plain ASCII, so that every terminal shows them."""

from __future__ import annotations

from typing import Optional

from lowlat.base.terminal import plain
from lowlat.report.build import Endpoint, Report
from lowlat.report.figures import INTERRUPTS
from lowlat.report.verdict import DESCRIPTIVE, UNCHANGED, boot_words

#: Relative changes below the first are called the same unless the test finds them, below the second
#: given in percent.
_SAME = 0.01
_SMALL = 0.1

_ROWS = {
    "LOC": "local timer",
    "RES": "rescheduling",
    "CAL": "function calls",
    "TLB": "TLB shootdowns",
    "IWI": "irq work",
    "PMI": "performance monitoring",
    "NMI": "non-maskable",
    "MCP": "machine-check polls",
    "HYP": "hypervisor",
}


def number(value: float) -> str:
    """About three digits that matter: "5,234", "236.1", "3.80", "0.012", "0"."""
    if value == 0:
        return "0"
    if value >= 1000:
        return f"{value:,.0f}"
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def factor(value: float) -> str:
    """A ratio of 1 or more: "62", "4.3"."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def change(endpoint: Endpoint) -> str:
    """The change in a word: "62x less", "> 900x less", "1.4x more", "+3.1 %", "same"."""
    if endpoint.ratio is None or endpoint.ratio == 0:
        return _from_or_to_zero(endpoint)
    relative = 1 / endpoint.ratio - 1
    if abs(relative) < _SAME:
        return f"{relative * 100:+.2g} %" if endpoint.changed else "same"
    if abs(relative) < _SMALL:
        return f"{relative * 100:+.1f} %"
    less = endpoint.ratio > 1
    return f"{factor(endpoint.ratio)}x less" if less else f"{factor(1 / endpoint.ratio)}x more"


def _from_or_to_zero(endpoint: Endpoint) -> str:
    if endpoint.before == endpoint.after:
        return "same"
    if endpoint.after:
        return "new"
    least = endpoint.ratio_at_least
    return f"> {factor(least)}x less" if least and least > 1 else "none left"


def gain(endpoint: Endpoint) -> str:
    """The change of a throughput in percent, where more is better."""
    if not endpoint.before:
        return "-"
    return f"{(endpoint.after / endpoint.before - 1) * 100:+.1f} %"


def source(row: str) -> str:
    """A row of /proc/interrupts with its meaning."""
    row = plain(row)
    irq, _, action = row.partition(":")
    if irq.isdigit():
        return f"interrupt {irq} {action}".rstrip()
    return f"{row} ({_ROWS[row]})" if row in _ROWS else row


def headline(report: Report) -> str:
    """The finding in one sentence."""
    primary = report.primary
    if primary is None:
        return f"Not comparable: {report.why}."
    interrupts = primary.name == INTERRUPTS
    where = _where(report)
    subject = f"Interrupts on {where}" if interrupts else f"Noise on {where}"
    unit, less = ("/s", "fewer") if interrupts else (" ppm", "less")
    one, other = number(primary.before) + unit, number(primary.after) + unit
    basis = _basis(report, primary)
    if report.verdict == UNCHANGED:
        return f"{subject} did not measurably change: {one} before, {other} after ({basis})."
    verb = "rose" if primary.after > primary.before else "fell"
    size = _times(primary, less)
    if size is None:
        return f"{subject} did not change: {one} before, {other} after ({basis})."
    return f"{subject} {verb} from {one} to {other}: {size} ({basis})."


def interval(endpoint: Endpoint) -> str:
    """The interval of the ratio before/after: "55 to 70", "at least 55" where only its low end is
    known, "" where nothing is. Where 1 is not in it, it has the digits to show that."""
    if endpoint.ci95 is None:
        least_known = endpoint.ratio_at_least if endpoint.ratio else None
        return f"at least {_digits(least_known, 3)}" if least_known else ""
    low, high = endpoint.ci95
    least = 3
    while not low <= 1 <= high and "1" in (_digits(low, least), _digits(high, least)):
        least += 1
    return f"{_digits(low, least)} to {_digits(high, least)}"


def _digits(value: float, least: int) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.{least}g}"


def probability(p: Optional[float]) -> str:
    """A p with two digits that matter."""
    return "" if p is None else f"{p:.2g}"


def _basis(report: Report, primary: Endpoint) -> str:
    if report.verdict == DESCRIPTIVE:
        return f"descriptive only: {report.why}"
    boots = boot_words(report.boots)
    if primary.p is None:
        return boots
    between = f"ratio {interval(primary)} (95 %), " if interval(primary) else ""
    return f"{between}p = {probability(primary.p)}, {boots}"


def _where(report: Report) -> str:
    return f"the {'isolated' if report.isolated else 'measured'} CPUs"


def _times(primary: Endpoint, less: str) -> Optional[str]:
    """The size of the change for the headline; None where there is none."""
    words = change(primary)
    if words == "same":
        return None
    if words == "new":
        return "there was none before"
    if words.endswith("%"):
        return f"{words[1:]} {'more' if words[0] == '+' else less}"
    if words.endswith("x more"):
        return f"{words[:-6]} times as {'many' if less == 'fewer' else 'much'}"
    times = words.replace("x less", f" times {less}")
    return f"at least {times[2:]} if boots do not differ in it" if times[0] == ">" else times
