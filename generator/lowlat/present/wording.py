# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers and findings as text for people; plain ASCII, so that every terminal shows them."""

import math
from typing import Optional

from lowlat.base.terminal import plain
from lowlat.claim.build import Report
from lowlat.claim.pair import ComparedFigure
from lowlat.claim.verdict import DESCRIPTIVE, INCREASED, UNCHANGED
from lowlat.figures.endpoint import SUBJECTS, THROUGHPUT
from lowlat.figures.measure import size
from lowlat.model.plan import NOISE
from lowlat.model.tool import MoreThan

#: With fewer events of a CPU in a boot, the text has counts instead of rates.
_FEW = 100

#: The largest number of digits of a ratio.
_DIGITS = 3

#: The words for less and more, by unit or figure. BETTER says which are good.
_LESS_MORE = {
    "ns": ("shorter", "longer"),
    "us": ("shorter", "longer"),
    "1/s": ("fewer", "more"),
    "1/ms": ("slower", "faster"),
    THROUGHPUT: ("slower", "faster"),
}
BETTER = "better: less, fewer, shorter, faster"

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
    """About three significant digits: "5,234", "236.1", "3.80", "0.012", "0"; ">1,000"."""
    if isinstance(value, MoreThan):
        return f">{number(float(value))}"
    if value == 0:
        return "0"
    if value >= 1000:
        return f"{value:,.0f}"
    if value >= 10:
        return f"{value:.1f}"
    if value >= 0.1:
        return f"{value:.2f}"
    return f"{value:.2g}" if value >= 1e-4 else significant(value, 2)


def lasted(seconds: float) -> str:
    """A time as "2 s", "29.97 s", "43,200 s"."""
    return f"{seconds:,.0f} s" if seconds >= 1000 else f"{seconds:.4g} s"


def noise(ppm: float) -> str:
    """Lost time, in ppm and in percent: "1,200 ppm (0.12 %)"."""
    return f"{number(ppm)} ppm ({significant(ppm / 1e4, 2)} %)"


def significant(value: float, digits: int) -> str:
    """So many significant digits, never an exponent: "3,100", "0.0021"."""
    if value == 0:
        return "0"
    places = digits - 1 - math.floor(math.log10(abs(value)))
    return f"{round(value, places):,.{max(places, 0)}f}"


def change(endpoint: ComparedFigure) -> str:
    """The change in words, with as many digits as the data support: "62 times fewer", "1.6 times
    more", "at least 900 times fewer" if nothing was counted after; "-" if it is not known."""
    kind = endpoint.name if endpoint.name == THROUGHPUT else endpoint.unit
    less, more = _LESS_MORE.get(kind, ("less", "more"))
    if endpoint.ratio is not None:
        if not endpoint.ratio:
            return "up from 0"
        times, word = max((endpoint.ratio, less), (1 / endpoint.ratio, more))
        shown = significant(times, _digits(endpoint))
        if _bare(shown) == "1":
            return "equal" if endpoint.ratio == 1 else "about equal"
        return f"{shown} times {word}"
    least, (_, greatest) = endpoint.ratio_at_least or 0.0, endpoint.ci95 or (0.0, math.inf)
    if 0 < greatest < 1:
        return f"{at_least(1 / greatest)} times {more}"
    return f"{at_least(least)} times {less}" if least > 1 else "-"


def at_least(bound: float) -> str:
    """A bound, never rounded up."""
    places = 1 - math.floor(math.log10(bound))
    return f"at least {significant(math.floor(bound * 10.0**places) / 10.0**places, 2)}"


def _digits(endpoint: ComparedFigure) -> int:
    """A hundred events give two digits, ten thousand three; an interval as many as distinguish its
    ends."""
    digits = _DIGITS
    if endpoint.counts is not None:
        fewest = max(min(endpoint.counts), 1.0)
        digits = min(digits, 1 + int(math.log10(fewest) / 2))
    if endpoint.ci95 is not None and endpoint.ci95[0] > 0:
        half = math.log(endpoint.ci95[1] / endpoint.ci95[0]) / 2
        digits = min(digits, 2 - math.ceil(math.log10(half))) if half > 0 else digits
    return max(digits, 1)


def in_counts(endpoint: ComparedFigure, report: Report) -> bool:
    """Whether so few events were counted, in the same time in both arms, that counts are shown."""
    one, other = report.seconds
    few = endpoint.counts is not None and min(endpoint.before, endpoint.after) * one < _FEW
    return few and abs(one - other) < one / 100


def values(endpoint: ComparedFigure, report: Report) -> tuple[str, str]:
    """The value of each arm: a rate, or the events of a CPU in a boot."""
    both = (endpoint.before, endpoint.after)
    if not in_counts(endpoint, report):
        own = size(endpoint.unit)
        return number(both[0] / own), number(both[1] / own)
    one, other = (number(value * report.seconds[0]) for value in both)
    return _bare(one), _bare(other)


def per(endpoint: ComparedFigure, report: Report) -> str:
    """The unit of values(): "/s", "in 30 s", " us"."""
    if endpoint.unit in ("ns", "us"):
        return " us"
    return f"in {lasted(report.seconds[0])}" if in_counts(endpoint, report) else "/s"


def _bare(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def source(row: str) -> str:
    """A row of /proc/interrupts with its meaning."""
    row = plain(row)
    irq, _, action = row.partition(":")
    if irq.isdigit():
        return f"interrupt {irq} {action}".rstrip()
    return f"{row} ({_ROWS[row]})" if row in _ROWS else row


def headline(report: Report) -> str:
    """The finding in one sentence, with its basis."""
    claim, basis = finding(report)
    basis = f"descriptive only: {basis}" if report.verdict == DESCRIPTIVE else basis
    return f"{claim} ({basis})." if basis else f"{claim}."


def finding(report: Report) -> tuple[str, str]:
    """The finding, and its basis: the interval and the reason of the verdict."""
    primary = report.primary
    if primary is None:
        return f"Not comparable: {report.why}", ""
    one, other = _both(primary, report)
    where = "isolated" if report.isolated else "measured"
    subject = SUBJECTS[primary.name].name
    subject += f" on the {where} CPUs" if report.cpus else ""
    apart = f"{one} in {report.first}, {other} in {report.name}"
    if report.verdict == DESCRIPTIVE:
        return f"{subject}: {apart}", report.why
    if report.verdict == UNCHANGED:
        return f"{subject} did not measurably change: {apart}", report.why
    verb = "rose" if report.verdict == INCREASED else "fell"
    apart = f"{verb} from {one} in {report.first} to {other} in {report.name}"
    known = interval(primary)
    between = f"{known} with 95 % confidence; " if known else ""
    return f"{subject} {apart}: {change(primary)}", f"{between}{report.why}"


def _both(primary: ComparedFigure, report: Report) -> tuple[str, str]:
    if primary.name == NOISE:
        return noise(primary.before), noise(primary.after)
    unit = per(primary, report)
    if in_counts(primary, report):
        unit = f" a CPU {unit}"
    one, other = (f"{words}{unit}" for words in values(primary, report))
    return one, other


def interval(endpoint: ComparedFigure) -> str:
    """The interval of the change, seen like the change itself: "55 to 70" times less, "at least 55"
    without an upper end, "1.1 more to 1.3 less" if it includes 1, "" if nothing is known, or the
    change itself says no more. If it excludes 1, it has enough digits to show that."""
    low, high = endpoint.ci95 or (endpoint.ratio_at_least or 0.0, math.inf)
    digits = min(_digits(endpoint) + 1, _DIGITS)
    if (low, high) == (0, math.inf):
        return ""
    if low <= 1 <= high:
        most = f"{significant(1 / low, digits)} more" if low else "any more"
        return f"{most} to {significant(high, digits) if math.isfinite(high) else 'any'} less"
    if high < 1:
        low, high = 1 / high, 1 / low if low else math.inf
    if math.isinf(high):
        return at_least(low) if endpoint.ratio else ""
    while "1" in {_bare(significant(end, digits)) for end in (low, high)}:
        digits += 1
    return f"{significant(low, digits)} to {significant(high, digits)}"


def probability(p: Optional[float]) -> str:
    """A p with two significant digits."""
    return "" if p is None else f"{p:.2g}"
