# SPDX-License-Identifier: GPL-2.0-or-later
"""Settings that were planned but not in effect during the runs after."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lowlat.base.typed_json import decode, read_document
from lowlat.model import cmdline
from lowlat.model.finding import SCHEMA, Finding, Standing
from lowlat.model.run import Run

#: The states, the most important first: effective rows are many and add nothing.
_ORDER = sorted(Standing, key=lambda state: state is Standing.EFFECTIVE)


@dataclass(frozen=True)
class Missing:
    """A setting that was not in effect, and the evidence."""

    name: str
    why: str


def read_verify(path: Path) -> tuple[Finding, ...]:
    """Read the output of ``lowlat-gen verify --json``. Raises Refused if it cannot be read or is
    another document."""
    writer = "'lowlat-gen verify --json'"
    return read_document(path, _findings, SCHEMA, writer, "verify again")


def _findings(value: dict[str, object]) -> tuple[Finding, ...]:
    return decode(tuple[Finding, ...], value.get("settings"), "settings")


def of_boots(boots: Sequence[Sequence[Finding]]) -> tuple[Finding, ...]:
    """The findings of verify in the boots of an arm: each row from the boot with its worst
    state."""
    rows: dict[tuple[str, int], list[Finding]] = {}
    for findings in boots:
        seen: Counter[str] = Counter()  # a setting may have a row for each CPU
        for row in findings:
            seen[row.name] += 1
            rows.setdefault((row.name, seen[row.name]), []).append(row)
    return tuple(_worst(each, len(boots)) for each in rows.values())


def _worst(rows: Sequence[Finding], boots: int) -> Finding:
    worst = min(rows, key=rank)
    count = sum(row.state is worst.state for row in rows)
    if count == boots:
        return worst
    where = f"in {count} of {boots} boots"
    return replace(worst, evidence=": ".join(filter(None, (where, worst.evidence))))


def rank(row: Finding) -> int:
    """The rank of a row's state, the most important first."""
    return _ORDER.index(row.state)


def not_in_effect(settings: Sequence[Finding], after: Sequence[Run]) -> tuple[Missing, ...]:
    """The settings that verify found missing, and CPUs that the command line isolates but the
    kernel does not."""
    return (
        *(Missing(row.name, _why(row)) for row in settings if row.state.lost),
        *_not_isolated(after),
    )


def _why(row: Finding) -> str:
    planned, effective = (value or "nothing" for value in (row.planned, row.effective))
    text = f"{row.state.value}: planned {planned}, in effect {effective}"
    return f"{text} ({row.evidence})" if row.evidence else text


def unknown(settings: Sequence[Finding]) -> Iterator[str]:
    """One sentence about the settings that verify could not check."""
    names = [row.name for row in settings if row.state is Standing.UNVERIFIABLE]
    if names:
        yield f"could not be verified: {', '.join(names)}"


def _not_isolated(after: Sequence[Run]) -> Iterator[Missing]:
    asked = [run for run in after if cmdline.values(run.cmdline, "isolcpus")]
    bare = dict.fromkeys(run.measured - run.isolated for run in asked)
    for cpus in filter(None, bare):
        noun = "CPU" if len(cpus) == 1 else "CPUs"
        yield Missing("isolcpus", f"{noun} {cpus} measured after, but not isolated by the kernel")
