# SPDX-License-Identifier: GPL-2.0-or-later
"""One arm of the comparison as it is drawn: its name, its colour, and its runs in time order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Optional

from lowlat.model.plan import Plan
from lowlat.model.run import Run
from lowlat.report.comparison import ArmRuns, Comparison
from lowlat.report.in_effect import VerifiedSetting
from lowlat.view.run_details import Detail, read_detail

#: Colours of the style sheet.
_KINDS = ("before", "after", "third", "fourth", "fifth", "sixth")


@dataclass(frozen=True)
class ViewArm:
    """``kind`` is the class of the style sheet that gives it its colour and its kind of line, one
    of its own as long as they are not many(); ``details`` belong to the runs, and are empty until
    detailed(); ``effect`` is what verify found in its boots, None where that was not checked."""

    name: str
    kind: str
    runs: tuple[Run, ...]
    details: tuple[Detail, ...] = ()
    effect: Optional[Sequence[VerifiedSetting]] = None


def sides(arms: Sequence[ArmRuns]) -> tuple[ViewArm, ...]:
    """The arms, the first one first."""
    # Times of one form (ISO 8601, UTC) sort as text.
    return tuple(
        ViewArm(
            arm.name,
            _kind(number, len(arms)),
            tuple(sorted(arm.runs, key=lambda run: run.started)),
            effect=arm.effect,
        )
        for number, arm in enumerate(arms)
    )


def detailed(drawn: Sequence[ViewArm]) -> tuple[ViewArm, ...]:
    """The sides with what only a page needs. Raises Refused where a run's file is damaged."""
    return tuple(replace(side, details=tuple(map(read_detail, side.runs))) for side in drawn)


def many(drawn: Sequence[ViewArm]) -> bool:
    """Whether they are too many for one drawing: then each is drawn by itself beside the first."""
    return len(drawn) > len(_KINDS)


def legend(drawn: Sequence[ViewArm]) -> tuple[tuple[str, str], ...]:
    """Every kind with the name of what looks like it."""
    if many(drawn):
        return ((drawn[0].kind, drawn[0].name), (drawn[1].kind, "the other arms"))
    return tuple((side.kind, side.name) for side in drawn)


def _kind(number: int, arms: int) -> str:
    if arms > len(_KINDS):
        return _KINDS[min(number, 1)]
    return _KINDS[number]


@dataclass(frozen=True)
class Group:
    """``plan`` is the plan whose reasons are told; ``sides`` are detailed()."""

    title: str
    found: Comparison
    sides: tuple[ViewArm, ...]
    plan: Optional[Plan]

    @classmethod
    def of(
        cls,
        title: str,
        found: Comparison,
        arms: Sequence[ArmRuns],
        plan: Optional[Plan] = None,
    ) -> Group:
        """What was found of these arms. Raises Refused where a run's file is damaged."""
        return cls(title, found, detailed(sides(arms)), plan)
