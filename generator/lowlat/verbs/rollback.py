# SPDX-License-Identifier: GPL-2.0-or-later
"""``rollback``: undo all changes of apply, trial and promote: first what ``apply --now`` set."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Optional

from lowlat.base.errors import LowlatError, Unmet
from lowlat.boot import decision, places, rollback, way_back
from lowlat.boot import journal as journals
from lowlat.boot.disk import Disk
from lowlat.boot.loaders import by_hand
from lowlat.boot.loaders.detect import find
from lowlat.boot.loaders.interface import Loader
from lowlat.boot.way_back import WayBack
from lowlat.host import runstate
from lowlat.host.root import Root
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
        runstate.sweep_run_folder(root)
    # Also if the machine boots by another loader by now.
    loader = None if by_hand.is_used(root) else find(root)
    back = way_back.read(root)
    rolled = rollback.applied(root, loader)
    if rolled:
        _boot(args, root, said, loader, back)
    elif not args.dry_run:
        rollback.tidy(root)
    if failed:
        raise failed
    if not rolled:
        steps = back.steps if back else ()
        options.show_change(args.json, bool(said), [*(said or ["nothing is applied"]), *steps])
        _check_whole(back, rollback.marked_stock_entries(root, loader or find(root)))
    return 0


def _check_whole(
    back: Optional[WayBack], marked: Sequence[str], others: Sequence[str] = ()
) -> None:
    """Raises Unmet if something stays, most of which only a person can take back."""
    if back:
        raise Unmet("; ".join((back.why, *others)), hint="the steps above take them out")
    if marked or others:
        raise Unmet("; ".join((*marked, *others)), hint="remove it there" if marked else None)


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


def _boot(
    args: RollbackArguments,
    root: Root,
    said: list[str],
    loader: Optional[Loader],
    back: Optional[WayBack],
) -> None:
    # Refuse damaged state, and places that do not count, before any lock is taken.
    journals.read(Disk(root))
    places.check(root)
    lost = [f"note: {one}" for one in rollback.lost(root, loader)]
    outlasting = _outlasting(loader)
    steps = back.steps if back else ()
    if args.dry_run:
        said += options.foreseen(rollback.foresee(root, loader))
        with suppress(LowlatError):  # a damaged menu must not hide the rest
            entries = loader.describe().entries if loader else ()
            said += [f"would remove the entry {entry.id}" for entry in entries if entry.ours]
        options.show_change(args.json, True, [*said, *lost, *steps])
        _check_whole(back, (), outlasting)
        return
    if loader is not None:
        loader.check()
    by_tuned = _by_tuned(root)
    kept = rollback.reverse(root, loader)
    marked = rollback.marked_stock_entries(root, loader)
    edited = [f"kept because it was edited since: {', '.join(kept)}"] if kept else []
    others = [*(edited or rollback.left(loader)), *outlasting]
    whole = not (back or marked or others)
    if lost:
        said += ["nothing of lowlat's is left" if whole else "the rest of lowlat's is gone", *lost]
    else:
        said.append("the boot is as it was before lowlat" if whole else "the rest is as it was")
    if by_tuned:
        said.append("$tuned_params stays where TuneD put it, /etc/default/grub: it is empty now")
    options.show_change(args.json, True, [*said, *steps])
    _check_whole(back, () if kept else marked, others)


def _outlasting(loader: Optional[Loader]) -> list[str]:
    with suppress(LowlatError):  # a damaged menu must not hide the rest
        return list(loader.outlasting()) if loader else []
    return []


def _by_tuned(root: Root) -> bool:
    with suppress(LowlatError):  # a damaged decision must not prevent a rollback
        made = decision.read(root)
        by_tuned = made is not None and made.boot == "tuned"
        return by_tuned and "$tuned_params" in (root.read("/etc/default/grub") or "")
    return False
