# SPDX-License-Identifier: GPL-2.0-or-later
"""``apply``: write the tuned boot entries and TuneD's profile beside what is there."""

from __future__ import annotations

import argparse

from lowlat.base.errors import Refused
from lowlat.boot import apply as application
from lowlat.boot import journal, trials
from lowlat.boot import tuned_plugin as plugin
from lowlat.boot.apply import Proposal
from lowlat.boot.decision import PLANS, Decision
from lowlat.boot.disk import Disk
from lowlat.boot.loaders import interface as loader
from lowlat.boot.loaders.interface import Loader
from lowlat.boot.transaction import edited
from lowlat.host.root import Root
from lowlat.verbs import hosts
from lowlat.verbs import options as common


def add_arguments(parser: argparse.ArgumentParser) -> None:
    hosts.add_host(parser)
    common.add_plan_options(parser)
    common.add_kernel(parser)
    parser.add_argument(
        "--boot",
        choices=("own", "tuned"),
        default="own",
        help="tuned: TuneD's bootloader plugin changes the stock entries; no trial, no promote; "
        "default: %(default)s",
    )
    parser.add_argument(
        "--runtime",
        choices=("tuned", "none"),
        default="tuned",
        help="who does the run-time half; default: %(default)s",
    )
    parser.add_argument(
        "--accept-pending",
        action="store_true",
        help="boot entries somebody else changed, and did not generate yet, may appear too",
    )


def main(args: argparse.Namespace) -> int:
    root = hosts.open_host(args)
    _, plan = common.make_plan(args, root)
    application.check_tuned(root, args.runtime)
    application.check_way(root, args.boot)
    found = loader.detect(root, plan.boot_line)
    found.check()
    refuse_edited(root)
    options = common.options_of(args)
    decision = Decision(args.profile, plan.isolated, options, args.boot, args.runtime)
    proposal = application.propose(decision, plan, found.describe(), root)
    if args.boot == "tuned":
        return _by_tuned(proposal, found, root, args.dry_run)
    if args.dry_run:
        _show(proposal, found)
        return 0
    refuse_pending(found, args.accept_pending)
    _tell(proposal, found, root)
    return 0


def refuse_edited(root: Root) -> None:
    """Raises Refused where somebody edited what lowlat wrote, or others than root could."""
    disk = Disk(root)
    for folder in ("/etc/lowlat", PLANS):
        disk.check_ours(folder)
    trials.read(root)
    changed = edited(disk, journal.read(disk))
    if changed:
        raise Refused(
            f"{changed[0]} was edited since lowlat wrote it",
            hint="move it away, or take everything back with 'lowlat-gen rollback' first",
        )


def refuse_pending(found: Loader, accepted: bool) -> None:
    """Raises Refused where the loader would show changes of others too, and that is not wanted."""
    rows = found.pending()
    if rows and not accepted:
        marked = [row for row in rows if row[:1] in "+-" and row[:3] not in ("+++", "---")]
        changed = sorted(marked, key=lambda row: row[0] != "+")
        raise Refused(
            f"{found.name}: {len(changed)} lines would change that are not lowlat's, first "
            f"'{' '.join(changed[0].split())[:120]}'",
            hint="generate its configuration first, or give --accept-pending; --dry-run shows all",
        )


def _by_tuned(proposal: Proposal, found: Loader, root: Root, dry_run: bool) -> int:
    if proposal.decision.runtime == "none":
        raise Refused("--boot tuned needs TuneD for both halves", hint="leave --runtime none out")
    plugin.check(root, proposal, found.describe())
    if dry_run:
        print(f"TuneD would put onto every stock line: {proposal.plan.boot_line}")
        return 0
    plugin.apply(proposal, root)
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


def _tell(proposal: Proposal, found: Loader, root: Root) -> None:
    boot = application.apply(proposal, found, root)
    for note in proposal.notes:
        print(f"note: {note}")
    for entry in boot.tuned():
        print(f"added the entry {entry.id}")
    default = boot.default
    if default is not None:
        print(f"the default stays {default.id}, Linux {default.release}")
    print("'lowlat-gen trial' boots the tuned entry once")
