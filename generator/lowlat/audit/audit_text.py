# SPDX-License-Identifier: GPL-2.0-or-later
"""An audit in words."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from lowlat.audit import kinds
from lowlat.audit.result import Audit, AuditRow, CodePlace, Most
from lowlat.base.terminal import filled

#: The most rows that a screen shows.
_ROWS = 8

_SINCE = {"start": "from its start on", "after": "after the time given", "mark": "after the mark"}


def sentence(audit: Audit) -> str:
    """The audit in one sentence."""
    since = _SINCE[audit.since]
    if not audit.begun:
        return f"Nothing was observed: the program ended before {_BEGIN[audit.since]}."
    total = audit.total("entries")
    if total is None:
        faults = audit.total("page-faults")
        seen = "nothing is known of kernel entries" if faults is None else f"{faults} page faults"
        return f"{seen[0].upper()}{seen[1:]} {since}; system calls were not seen."
    if total == 0:
        return f"No kernel entry {since}: the program ran undisturbed by itself."
    where, count = _most_common(audit.rows)
    return f"{count} of {total} kernel entries {since} are {where}."


_BEGIN = {"start": "it ran", "after": "the time given", "mark": "it set the mark"}


def _most_common(rows: Iterable[AuditRow]) -> tuple[str, int]:
    causes: Counter[str] = Counter()
    for row in rows:
        if row.kind in kinds.SUMS["page-faults"]:
            causes[f"page faults of its own at {where(row.place)}"] += row.count
        elif row.kind == "calls":
            causes[f"calls of {row.what} at {where(row.place)}"] += row.count
    return causes.most_common(1)[0]


def where(place: CodePlace) -> str:
    """Such as "feed.c:88 (fill)"."""
    behind = f" ({place.function})" if place.function else ""
    if place.file:
        return f"{PurePosixPath(place.file).name}:{place.line}{behind}"
    name = PurePosixPath(place.object).name
    if name and place.function:
        return f"{place.function} in {name}"
    return name or place.function or "a place that is not known"


def lines(audit: Audit, limits: Iterable[Most]) -> Iterator[str]:
    yield from filled(sentence(audit))
    on = f"Observed {audit.observed_s:.3f} s on CPU {audit.cpus} by {audit.observer}."
    yield from filled(on)
    for name, title in kinds.TITLES.items():
        if audit.counts.get(name):
            yield f"  {audit.counts[name]:9}  {title}"
            yield from _places([row for row in audit.rows if row.kind == name])
    elsewhere = [f"{count} {kinds.TITLES[kind]}" for kind, count in audit.elsewhere.items()]
    if elsewhere:
        yield from filled(f"On other CPUs, and not counted: {', '.join(elsewhere)}.")
    yield from not_seen(audit.unseen)
    for problem in audit.problems:
        yield from filled(f"The counts are lower bounds: {problem}.")
    for limit in limits:
        kept = "kept" if audit.keeps(limit) else "NOT kept"
        found = audit.total(limit.name)
        yield f"limit {limit.name}={limit.most}: {kept} ({'not known' if found is None else found})"


def _places(rows: list[AuditRow]) -> Iterator[str]:
    for row in rows[:_ROWS]:
        what = f"{row.what}: " if row.what else ""
        yield from filled(f"{what}{where(row.place)}", f"  {row.count:9}    ", " " * 15)
    if rows[_ROWS:]:
        rest = sum(row.count for row in rows[_ROWS:])
        yield f"  {rest:9}    at {len(rows) - _ROWS} more places (--out FILE has them)"


def observer(perf: bool) -> str:
    """Who counts."""
    return "perf" if perf else "the kernel's accounts (all CPUs)"


def not_seen(unseen: Mapping[str, str]) -> Iterator[str]:
    """A line for each reason."""
    reasons: dict[str, list[str]] = {}
    for what, why in unseen.items():
        reasons.setdefault(why, []).append(kinds.TITLES.get(what, what))
    for why, titles in reasons.items():
        yield from filled(f"Not seen: {', '.join(titles)}: {why}.")
