# SPDX-License-Identifier: GPL-2.0-or-later
"""``apply``: write the tuned boot entries and TuneD's profile beside what is there."""

from __future__ import annotations

from dataclasses import dataclass

from lowlat.base.errors import Refused
from lowlat.boot import apply, trials, tuned_plugin
from lowlat.boot.apply import Proposal
from lowlat.boot.decision import Decision
from lowlat.boot.loaders.by_hand import ByHand
from lowlat.boot.loaders.detect import detect
from lowlat.boot.loaders.interface import Loader
from lowlat.host.root import Root
from lowlat.model.machine import Machine
from lowlat.model.plan import Plan
from lowlat.verbs import options
from lowlat.verbs.arguments import flag, option
from lowlat.verbs.options import PlanChoice


@dataclass(frozen=True)
class ApplyArguments(options.HostArguments):
    plan: PlanChoice = PlanChoice()
    boot: str = option(
        None,
        "tuned: TuneD's bootloader plugin changes the stock entries; no trial, no promote; "
        "default: %(default)s",
        "own",
        choices=("own", "tuned"),
    )
    runtime: str = option(
        None, "who does the run-time half; default: %(default)s", "tuned", choices=("tuned", "none")
    )
    accept_pending: bool = flag(
        "boot entries somebody else changed, and did not generate yet, may appear too"
    )


def main(asked: ApplyArguments) -> int:
    root = asked.open()
    machine, plan = options.make_plan(asked.plan, root)
    proposal, found = propose(asked.plan, root, machine, plan, asked.boot, asked.runtime)
    if asked.boot == "tuned":
        return _by_tuned(proposal, found, root, asked.dry_run)
    if asked.dry_run:
        _show(proposal, found)
        return 0
    _tell(proposal, found, root, asked.accept_pending)
    return 0


def propose(
    choice: PlanChoice,
    root: Root,
    machine: Machine,
    plan: Plan,
    boot: str = "own",
    runtime: str = "tuned",
) -> tuple[Proposal, Loader]:
    """What would be applied, and by which loader. Raises Refused where this host is not ready."""
    found = detect(root)
    apply.check(root, found, boot, runtime)
    decision = Decision(choice.profile, plan.isolated, choice.wanted.options(), boot, runtime)
    return apply.propose(decision, plan, machine, found.describe(), root), found


def _by_tuned(proposal: Proposal, found: Loader, root: Root, dry_run: bool) -> int:
    if proposal.decision.runtime == "none":
        raise Refused("--boot tuned needs TuneD for both halves", hint="leave --runtime none out")
    tuned_plugin.check(root, proposal, found.describe())
    if dry_run:
        print(f"TuneD would put onto every stock line: {proposal.plan.boot_line}")
        return 0
    tuned_plugin.apply(proposal, root)
    print("'tuned-adm profile lowlat-local' puts the line onto every stock entry")
    print("'lowlat-gen status' reads it back; after a reboot 'lowlat-gen verify' tells the effect")
    return 0


def _show(proposal: Proposal, found: Loader) -> None:
    for note in proposal.notes:
        print(f"note: {note}")
    for plan in proposal.plans:
        print(f"would add an entry for Linux {plan.kernel}: … {plan.boot_line}")
    rows = found.pending()
    if rows:
        print("not lowlat's, and not generated yet:")
    for row in rows:
        print(f"  {row}")


def _tell(proposal: Proposal, found: Loader, root: Root, accept_pending: bool) -> None:
    promoted = trials.read(root).promoted
    boot = apply.apply(proposal, found, root, accept_pending)
    for note in proposal.notes:
        print(f"note: {note}")
    if isinstance(found, ByHand):
        _tell_steps(found)
        return
    for entry in boot.tuned():
        print(f"added the entry {entry.id}")
    default = boot.default
    if default is not None:
        gone = promoted and not default.ours
        if gone:
            print(f"note: {promoted} was promoted and is gone: it has another line now")
        print(f"the default {'is' if gone else 'stays'} {default.id}, Linux {default.release}")
    print("'lowlat-gen trial' boots the tuned entry once")


def _tell_steps(found: ByHand) -> None:
    print(f"this machine boots by {found.name}: the plan is stored, no boot entry is written")
    print("'lowlat-gen trial --kexec' boots the tuned line once, without the boot loader")
    print("to boot it from then on:")
    print(found.steps())
