# SPDX-License-Identifier: GPL-2.0-or-later
"""``rollback``: undo all changes of apply, trial and promote."""

from contextlib import suppress

from lowlat.base.errors import LowlatError, Unmet
from lowlat.boot import decision, foreign, programs, rollback, status
from lowlat.boot import journal as journals
from lowlat.boot.disk import Disk
from lowlat.boot.loaders import by_hand
from lowlat.boot.loaders.detect import find
from lowlat.host.root import Root
from lowlat.model import cmdline
from lowlat.verbs import options

#: The tree, and whether to write to it.
RollbackArguments = options.ChangeArguments


def main(args: RollbackArguments) -> int:
    root = args.open(takes_back=True)
    if not rollback.applied(root):
        if not args.dry_run:
            rollback.tidy(root)
        options.show_change(args.json, False, ["nothing is applied"])
        return 0
    # Refuse damaged state before any lock is taken.
    disk = Disk(root)
    journals.read(disk)
    # Also if the machine boots by another loader by now.
    loader = None if by_hand.is_used(root) else find(root)
    if args.dry_run:
        said = list(options.foreseen(rollback.foresee(root, loader)))
        with suppress(LowlatError):  # a damaged menu must not hide the rest
            entries = loader.describe().entries if loader else ()
            said += [f"would remove the entry {entry.id}" for entry in entries if entry.ours]
        options.show_change(args.json, True, said)
        return 0
    programs.check_mounted(root)
    if loader is not None:
        loader.check()
    by_tuned = _by_tuned(root)
    added = "" if loader else _added(root)
    kept = rollback.reverse(root, loader)
    left = rollback.left(root, loader) if loader else []
    if added:
        place = foreign.source(root, f"{cmdline.MARKER}={added}")
        left = [f"the line of plan {added} was added by hand to {place}"]
    whole = not kept and not left
    said = ["the boot is as it was before lowlat" if whole else "the rest is as it was"]
    if by_tuned:
        said.append("$tuned_params stays where TuneD put it, /etc/default/grub: it is empty now")
    options.show_change(args.json, True, said)
    if kept:
        raise Unmet(f"kept because it was edited since: {', '.join(kept)}")
    if left:
        raise Unmet("; ".join(left), hint="remove it there")
    return 0


def _added(root: Root) -> str:
    """The plan whose line a person added to a loader that lowlat does not write to, or ""."""
    here = status.read_boot(root, set())
    return "" if here.trial else here.plan or ""


def _by_tuned(root: Root) -> bool:
    with suppress(LowlatError):  # a damaged decision must not prevent a rollback
        made = decision.read(root)
        by_tuned = made is not None and made.boot == "tuned"
        return by_tuned and "$tuned_params" in (root.read("/etc/default/grub") or "")
    return False
