# SPDX-License-Identifier: GPL-2.0-or-later
"""One row of verify: a setting, what was planned, what holds, and how that is known."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Optional


class Standing(Enum):
    """How a setting stands; the first three make verify exit with 1."""

    IGNORED = "ignored-by-kernel"
    NOT_APPLIED = "not-applied"
    UNDONE = "undone"
    EFFECTIVE = "effective"
    OVERRIDDEN = "overridden"
    NOT_PLANNED = "not-planned"
    UNVERIFIABLE = "unverifiable"

    @property
    def bad(self) -> bool:
        return self in (Standing.IGNORED, Standing.NOT_APPLIED, Standing.UNDONE)

    @property
    def lost(self) -> bool:
        """A planned value does not hold."""
        return self.bad or self is Standing.OVERRIDDEN


@dataclass(frozen=True)
class Finding:
    """``by`` names who undid or overrode the setting, where that is known."""

    name: str
    where: str
    planned: str
    effective: Optional[str]
    state: Standing
    by: Optional[str] = None
    evidence: str = ""

    @property
    def told(self) -> str:
        """State, culprit and evidence in words."""
        by = f" by {self.by}" if self.by else ""
        return f"{self.state.value}{by}: {self.evidence}"


def of_setting(rows: Iterable[Finding], name: Optional[str]) -> Optional[Finding]:
    """The row of a setting; of several the one that is not as planned."""
    found = (row for row in rows if row.name == name)
    return max(found, key=lambda row: row.state.bad, default=None)


class Judged(NamedTuple):
    """How a parameter stands, what is in effect, and how that is known."""

    state: Standing
    effective: Optional[str]
    evidence: str
