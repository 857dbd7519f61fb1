# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``apply`` and ``tune`` would do here with a chosen plan, and what they would refuse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Optional

from lowlat.base.errors import Refused
from lowlat.boot import apply
from lowlat.boot import decision as decisions
from lowlat.boot.apply import Proposal
from lowlat.boot.decision import Decision, Planner
from lowlat.boot.loaders.by_hand import ByHand
from lowlat.boot.loaders.interface import Loader
from lowlat.host.root import Root
from lowlat.model.machine import Machine
from lowlat.model.plan import Plan
from lowlat.probe import probe
from lowlat.verbs import chosen_plan
from lowlat.verbs.options import PlanChoice

if TYPE_CHECKING:
    from lowlat.tune.start import TuneOptions
    from lowlat.tune.state import LoopState


@dataclass(frozen=True)
class ChosenApply:
    """The proposal and its loader, the decision ``made`` before, and a refusal for each program
    that has to be installed first."""

    proposal: Proposal
    loader: Loader
    made: Optional[Decision]
    lacking: tuple[Refused, ...]

    @property
    def by_hand(self) -> bool:
        """Whether a person adds the line."""
        return isinstance(self.loader, ByHand)

    def check(self) -> None:
        """Raises Refused if something has to be installed first."""
        for lack in self.lacking:
            raise lack


def prepare_apply(
    choice: PlanChoice, root: Root, boot: Optional[str] = None, runtime: Optional[str] = None
) -> ChosenApply:
    """For these options of apply, by default those that were applied before. Raises Refused as
    apply.prepare() does, or if there is no plan."""
    made = decisions.read(root)
    boot = boot or (made.boot if made else "own")
    runtime = runtime or (made.runtime if made else "tuned")
    choice = chosen_plan.repeated(choice, root)
    chosen = chosen_plan.make_plan(choice, root)
    plan = chosen.plan
    decision = Decision(plan.profile, plan.isolated, choice.wanted, boot, runtime)
    return _prepared(root, chosen.machine, plan, decision, made)


def prepare_previous(root: Root) -> ChosenApply:
    """For the decision that the applied one replaced. Raises Refused as apply.prepare() does, or if
    there is none."""
    made = decisions.read(root)
    kept = decisions.read_replaced(root) if made else None
    if kept is None:
        raise Refused("--previous: no plan was replaced here", hint="name the plan by its options")
    machine = probe(root)
    plan = Planner(kept.decision, root, machine).plan(machine.kernel.release or "")
    return _prepared(root, machine, plan, kept.decision, made)


def _prepared(
    root: Root, machine: Machine, plan: Plan, decision: Decision, made: Optional[Decision]
) -> ChosenApply:
    proposal, loader = apply.prepare(root, machine, plan, decision)
    return ChosenApply(proposal, loader, made, tuple(apply.lacks(root, decision.runtime)))


def prepare_tune(
    choice: PlanChoice, root: Root, wanted: TuneOptions
) -> tuple[ChosenApply, LoopState]:
    """For a loop with these options. Raises Refused as prepare() does, or if the loop could not
    run to its end."""
    # Imported late: other verbs do not need it.
    from lowlat.tune import start

    start.check_none(root)
    start.check_boot(root, chosen_plan.make_plan(chosen_plan.repeated(choice, root), root).plan)
    found = prepare_apply(choice, root, "own", "tuned")
    found.check()
    return found, start.prepare(root, found.proposal, found.loader, wanted)
