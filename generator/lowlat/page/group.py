# SPDX-License-Identifier: GPL-2.0-or-later
"""One comparison with all that is told of it, as a page of its own or as a part of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

from lowlat.page.side import Side, detailed, sides
from lowlat.plan import Plan
from lowlat.report.comparison import Comparison, Runs, compare
from lowlat.report.evidence import Setting


@dataclass(frozen=True)
class Group:
    """``effect`` is what verify found in the second arm, ``plan`` the plan whose reasons are told;
    ``sides`` are detailed()."""

    title: str
    found: Comparison
    sides: tuple[Side, ...]
    effect: Optional[Sequence[Setting]] = None
    plan: Optional[Plan] = None

    @classmethod
    def of(
        cls,
        title: str,
        arms: Sequence[Runs],
        plan: Optional[Plan] = None,
        found: Optional[Comparison] = None,
    ) -> Group:
        """The arms, the first of which is the measure of the others; compared here, unless that was
        ``found`` before. Raises Refused where a run's file is damaged."""
        known = compare(arms[0], arms[1:]) if found is None else found
        return cls(title, known, detailed(sides(arms)), arms[1].effect, plan)
