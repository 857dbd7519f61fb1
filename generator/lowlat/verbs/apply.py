# SPDX-License-Identifier: GPL-2.0-or-later
"""``apply``: write the tuned boot entries and TuneD's profile beside what is there."""

from __future__ import annotations

import argparse

from lowlat.base.errors import Refused
from lowlat.boot import apply, trials, tuned_plugin
from lowlat.boot.apply import Proposal
from lowlat.boot.decision import Decision
from lowlat.boot.loaders.detect import detect
from lowlat.boot.loaders.interface import Loader
from lowlat.host.root import Root
from lowlat.model.machine import Machine
from lowlat.model.plan import Plan
from lowlat.verbs import options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_host(parser)
    options.add_plan_options(parser)
    options.add_kernel(parser)
    what = (
        "tuned: TuneD's bootloader plugin changes the stock entries; no trial, no promote; "
        "default: %(default)s"
    )
    parser.add_argument("--boot", choices=("own", "tuned"), default="own", help=what)
    what = "who does the run-time half; default: %(default)s"
    parser.add_argument("--runtime", choices=("tuned", "none"), default="tuned", help=what)
    what = "boot entries somebody else changed, and did not generate yet, may appear too"
    parser.add_argument("--accept-pending", action="store_true", help=what)


def main(args: argparse.Namespace) -> int:
    root = options.open_host(args)
    machine, plan = options.make_plan(args, root)
    proposal, found = propose(args, root, machine, plan, args.boot, args.runtime)
    if args.boot == "tuned":
        return _by_tuned(proposal, found, root, args.dry_run)
    if args.dry_run:
        _show(proposal, found)
        return 0
    _tell(proposal, found, root, args.accept_pending)
    return 0


def propose(
    args: argparse.Namespace,
    root: Root,
    machine: Machine,
    plan: Plan,
    boot: str = "own",
    runtime: str = "tuned",
) -> tuple[Proposal, Loader]:
    """What would be applied, and by which loader. Raises Refused where this host is not ready."""
    found = detect(root, plan.boot_line)
    apply.check(root, found, boot, runtime)
    decision = Decision(args.profile, str(plan.isolated), options.options_of(args), boot, runtime)
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
    for entry in boot.tuned():
        print(f"added the entry {entry.id}")
    default = boot.default
    if default is not None:
        gone = promoted and not default.ours
        if gone:
            print(f"note: {promoted} was promoted and is gone: it has another line now")
        print(f"the default {'is' if gone else 'stays'} {default.id}, Linux {default.release}")
    print("'lowlat-gen trial' boots the tuned entry once")
