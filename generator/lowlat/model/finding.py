# SPDX-License-Identifier: GPL-2.0-or-later
"""One row of verify: a setting, its planned and its effective value, and the evidence."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Optional

SCHEMA = "lowlat.verify/1"


class Standing(Enum):
    """The state of a setting, as packaging/doc/schemas.md defines it; the first three make verify
    exit with 1."""

    IGNORED = "ignored-by-kernel"
    NOT_APPLIED = "not-applied"
    UNDONE = "undone"
    EFFECTIVE = "effective"
    OVERRIDDEN = "overridden"
    NOT_PLANNED = "not-planned"
    NO_SETTING = "no-setting"
    UNVERIFIABLE = "unverifiable"

    @property
    def bad(self) -> bool:
        return self in (Standing.IGNORED, Standing.NOT_APPLIED, Standing.UNDONE)

    @property
    def lost(self) -> bool:
        """A planned value is not in effect."""
        return self.bad or self is Standing.OVERRIDDEN


@dataclass(frozen=True)
class Finding:
    """``by`` names the program that undid or overrode the setting, if known."""

    name: str
    where: str
    planned: str
    effective: Optional[str]
    state: Standing
    by: Optional[str] = None
    evidence: str = ""

    @property
    def told(self) -> str:
        """A text of the state, the culprit and the evidence."""
        by = f" by {self.by}" if self.by else ""
        return f"{self.state.value}{by}: {self.evidence}"


def of_setting(rows: Iterable[Finding], name: Optional[str]) -> Optional[Finding]:
    """The row of a setting; if there are several, a bad one first."""
    matching = (row for row in rows if row.name == name)
    return max(matching, key=lambda row: row.state.bad, default=None)


class Judged(NamedTuple):
    """The state of a parameter, its effective value, and the evidence; ``unseen`` is the part of
    its value whose effect nothing shows."""

    state: Standing
    effective: Optional[str]
    evidence: str
    unseen: str = ""
