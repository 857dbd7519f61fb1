# SPDX-License-Identifier: GPL-2.0-or-later
"""``rollback``: undo all changes of apply, trial and promote: first what ``apply --now`` set."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Optional

from lowlat.base.errors import LowlatError, Unmet
from lowlat.boot import decision, foreign, places, rollback, status
from lowlat.boot import journal as journals
from lowlat.boot.disk import Disk
from lowlat.boot.loaders import by_hand
from lowlat.boot.loaders.detect import find
from lowlat.boot.loaders.interface import Loader
from lowlat.host import runstate
from lowlat.host.root import Root
from lowlat.model import cmdline
from lowlat.model.cpuset import CpuSet
from lowlat.plan import store
from lowlat.runtime import now, settings
from lowlat.verbs import options
from lowlat.verify import tasks

#: The tree, and whether to write to it.
RollbackArguments = options.ChangeArguments


def main(args: RollbackArguments) -> int:
    root = args.open(takes_back=True)
    said: list[str] = []
    failed = None
    try:
        said = _take_back_now(root, args.dry_run) if now.remains(root) else []
    except LowlatError as error:  # the boot entries must go all the same
        failed = error
    if not args.dry_run:
        runstate.sweep(root)
    # Also if the machine boots by another loader by now.
    loader = None if by_hand.is_used(root) else find(root)
    rolled = rollback.applied(root, loader)
    if rolled:
        _boot(args, root, said, loader)
    elif not args.dry_run:
        rollback.tidy(root)
    if failed:
        raise failed
    if not rolled:
        options.show_change(args.json, bool(said), said or ["nothing is applied"])
    return 0


def _take_back_now(root: Root, dry_run: bool) -> list[str]:
    """Undo ``apply --now``; returns what was done, or would be. Raises LowlatError if a value could
    not be put back."""
    if dry_run:
        return [*settings.undoing(root), "would take back 'lowlat-gen apply --now'"]
    found = None
    with suppress(LowlatError):  # a damaged plan must not prevent a rollback: the journal has all
        found = store.now(root)
    problems, kept = now.stop(root)
    if problems:
        why = f"{len(problems)} values could not be put back, first {problems[0]}"
        raise LowlatError(why, hint="the next boot is without them")
    narrow = _narrow(found.plan.housekeeping, root) if found else ()
    return [*kept, *narrow, "the running system is as it was before 'lowlat-gen apply --now'"]


def _narrow(cpus: CpuSet, root: Root) -> Iterator[str]:
    """Users' tasks that stay on the housekeeping CPUs: a task that asked for the mask that it had
    keeps that (sched_setaffinity() in kernel/sched/syscalls.c)."""
    for task in tasks.read(root, cpus):
        if not task.kernel and task.allowed == cpus:
            yield f"note: {task.name} stays on CPU {cpus} by its own mask"


def _boot(args: RollbackArguments, root: Root, said: list[str], loader: Optional[Loader]) -> None:
    # Refuse damaged state, and places that do not count, before any lock is taken.
    journals.read(Disk(root))
    places.check(root)
    lost = [f"note: {one}" for one in rollback.lost(root, loader)]
    outlasting = _outlasting(loader)
    if args.dry_run:
        said += options.foreseen(rollback.foresee(root, loader))
        with suppress(LowlatError):  # a damaged menu must not hide the rest
            entries = loader.describe().entries if loader else ()
            said += [f"would remove the entry {entry.id}" for entry in entries if entry.ours]
        options.show_change(args.json, True, [*said, *lost])
        if outlasting:
            raise Unmet("; ".join(outlasting))
        return
    if loader is not None:
        loader.check()
    by_tuned = _by_tuned(root)
    added = "" if loader else _added(root)
    kept = rollback.reverse(root, loader)
    left = rollback.left(root, loader) if loader else []
    if added:
        place = foreign.source(root, f"{cmdline.MARKER}={added}")
        left = [f"the line of plan {added} was added by hand to {place}"]
    whole = not (kept or left or outlasting)
    if lost:
        said += ["nothing of lowlat's is left" if whole else "the rest of lowlat's is gone", *lost]
    else:
        said.append("the boot is as it was before lowlat" if whole else "the rest is as it was")
    if by_tuned:
        said.append("$tuned_params stays where TuneD put it, /etc/default/grub: it is empty now")
    options.show_change(args.json, True, said)
    told = [f"kept because it was edited since: {', '.join(kept)}"] if kept else left
    if told or outlasting:
        hint = "remove it there" if left and not kept else None
        raise Unmet("; ".join((*told, *outlasting)), hint=hint)


def _outlasting(loader: Optional[Loader]) -> list[str]:
    with suppress(LowlatError):  # a damaged menu must not hide the rest
        return list(loader.outlasting()) if loader else []
    return []


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
