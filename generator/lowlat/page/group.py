# SPDX-License-Identifier: GPL-2.0-or-later
"""One comparison with all that is told of it, as a page of its own or as a part of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

from lowlat.model.plan import Plan
from lowlat.report.comparison import Comparison, Runs
from lowlat.view.arm import Side, detailed, sides


@dataclass(frozen=True)
class Group:
    """``plan`` is the plan whose reasons are told; ``sides`` are detailed()."""

    title: str
    found: Comparison
    sides: tuple[Side, ...]
    plan: Optional[Plan]

    @classmethod
    def of(
        cls,
        title: str,
        found: Comparison,
        arms: Sequence[Runs],
        plan: Optional[Plan] = None,
    ) -> Group:
        """What was found of these arms. Raises Refused where a run's file is damaged."""
        return cls(title, found, detailed(sides(arms)), plan)
