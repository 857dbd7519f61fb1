# SPDX-License-Identifier: GPL-2.0-or-later
"""What was planned and not in effect while the runs after were made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lowlat.base.typed_json import read_document
from lowlat.model import cmdline
from lowlat.model.run import Run
from lowlat.verify import SCHEMA
from lowlat.verify.finding import Standing

#: The states of verify that mean a planned value did not hold.
_LOST = {state.value for state in Standing if state.bad or state is Standing.OVERRIDDEN}


@dataclass(frozen=True)
class VerifiedSetting:
    """One row of verify: a setting, its state, and what was found."""

    name: str
    state: str
    planned: str
    effective: str
    evidence: str

    def why(self) -> str:
        """The finding in words."""
        text = f"{self.state}: planned {self.planned}, in effect {self.effective}"
        return f"{text} ({self.evidence})" if self.evidence else text


@dataclass(frozen=True)
class Missing:
    """A setting that was not in effect, and the evidence."""

    name: str
    why: str


@dataclass(frozen=True)
class _Row:
    name: str
    state: str
    planned: object
    effective: object
    evidence: object = ""


@dataclass(frozen=True)
class _Verified:
    settings: tuple[_Row, ...]


def read_verify(path: Path) -> tuple[VerifiedSetting, ...]:
    """Read what ``lowlat-gen verify --json`` printed.

    Raises Refused where it cannot be read or is something else.
    """
    writer = "'lowlat-gen verify --json'"
    return tuple(
        VerifiedSetting(
            row.name, row.state, _words(row.planned), _words(row.effective), str(row.evidence or "")
        )
        for row in read_document(path, _Verified, SCHEMA, writer, "verify again").settings
    )


def _words(value: object) -> str:
    return "nothing" if value is None or value == "" else str(value)


def not_in_effect(settings: Sequence[VerifiedSetting], after: Sequence[Run]) -> tuple[Missing, ...]:
    """The settings that verify found missing, and CPUs that the kernel was told to isolate and did
    not."""
    return (
        *(Missing(row.name, row.why()) for row in settings if row.state in _LOST),
        *_not_isolated(after),
    )


def unknown(settings: Sequence[VerifiedSetting]) -> Iterator[str]:
    """One sentence on the settings that verify could not look at."""
    names = [row.name for row in settings if row.state == Standing.UNVERIFIABLE.value]
    if names:
        yield f"could not be verified: {', '.join(names)}"


def _not_isolated(after: Sequence[Run]) -> Iterator[Missing]:
    asked = [run for run in after if cmdline.values(run.cmdline, "isolcpus")]
    bare = dict.fromkeys(run.measured - run.isolated for run in asked)
    for cpus in filter(None, bare):
        noun = "CPU" if len(cpus) == 1 else "CPUs"
        yield Missing("isolcpus", f"{noun} {cpus} measured after, but not isolated by the kernel")
