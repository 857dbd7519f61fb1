# SPDX-License-Identifier: GPL-2.0-or-later
"""An audit as a value: rows by kind and place, what was not seen, limits, and its JSON form."""

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from lowlat.audit import kinds
from lowlat.audit.counting import Counts, Site, plain_name
from lowlat.audit.lines import Line
from lowlat.audit.perf_script import Frame
from lowlat.base import reader, schema, typed_json

SCHEMA = "lowlat.audit/1"


@dataclass(frozen=True)
class CodePlace:
    """Where in the program: ``function`` and ``object`` are "" if not known, ``file`` and ``line``
    None without debug information."""

    function: str = ""
    object: str = ""
    file: Optional[str] = None
    line: Optional[int] = None


@dataclass(frozen=True)
class AuditRow:
    """So many events of a kind at one place. ``what``: the call, the signal, or the function of a
    library that was called there."""

    kind: str
    what: str
    place: CodePlace
    count: int


@dataclass(frozen=True)
class Most:
    """A limit: at most so many events of a kind or a sum."""

    name: str
    most: int


@dataclass(frozen=True)
class Audit:
    """``counts`` has the total of each kind that was seen, also where it has no rows. ``since`` is
    "start", "after" or "mark"; ``begun`` is whether that came. ``problems`` are the reasons why the
    counts are lower bounds. ``elsewhere`` counts events on other CPUs."""

    command: tuple[str, ...]
    cpus: str
    user: Optional[str]
    observer: str
    since: str
    begun: bool
    observed_s: float
    status: int
    counts: Mapping[str, Optional[int]]
    rows: tuple[AuditRow, ...]
    elsewhere: Mapping[str, int]
    unseen: Mapping[str, str]
    problems: tuple[str, ...]

    def total(self, name: str) -> Optional[int]:
        """The count of a kind or of a sum; None if a part of it is not seen."""
        parts = [self.counts.get(kind) for kind in kinds.parts_of(name)]
        seen = [part for part in parts if part is not None]
        return sum(seen) if len(seen) == len(parts) else None

    def keeps(self, limit: Most) -> bool:
        """Whether the limit was kept, which incomplete counts cannot show."""
        total = self.total(limit.name)
        complete = self.begun and not self.problems
        return complete and total is not None and total <= limit.most


def rows_of(tally: Counts, lines: Mapping[Frame, Line]) -> tuple[AuditRow, ...]:
    """The sites of each line together, the most frequent first."""
    merged: Counter[tuple[str, str, CodePlace]] = Counter()
    for site, count in tally.sites.items():
        merged[site.kind, site.what, _place(site, lines)] += count
    return tuple(AuditRow(*key, count) for key, count in merged.most_common())


def _place(site: Site, lines: Mapping[Frame, Line]) -> CodePlace:
    """The innermost caller with debug information, else the innermost one."""
    for frame in site.callers:
        if frame in lines:
            line = lines[frame]
            return CodePlace(line.function, frame.object, line.file, line.line)
    inner = site.callers[0] if site.callers else site.foreign
    return CodePlace(plain_name(inner.symbol), inner.object) if inner else CodePlace()


def document(audit: Audit, limits: Iterable[Most], sentence: str) -> dict[str, object]:
    """The contract lowlat.audit/1; see packaging/doc/schemas.md."""
    judged = [
        {
            "name": limit.name,
            "most": limit.most,
            "count": audit.total(limit.name),
            "kept": audit.keeps(limit),
        }
        for limit in limits
    ]
    totals = {name: audit.total(name) for name in (*kinds.TITLES, *kinds.SUMS)}
    fields = {**typed_json.encode_fields(audit), "counts": totals}
    return schema.stamped(SCHEMA, {"sentence": sentence, **fields, "limits": judged})


def is_audit(path: Path) -> bool:
    """Whether a file is one: its schema comes first."""
    with suppress(OSError):
        return SCHEMA.encode() in reader.read(path, 100, whole=False)
    return False


def read(path: Path) -> tuple[Audit, tuple[Most, ...]]:
    """The audit in a file, and its limits. Raises Refused if it is damaged."""
    return typed_json.read_document(path, _built, SCHEMA, "lowlat-gen run --out", "audit again")


def _built(value: dict[str, object]) -> tuple[Audit, tuple[Most, ...]]:
    limits = typed_json.decode(tuple[Most, ...], value.get("limits"), "limits")
    return typed_json.decode(Audit, value), limits
