# SPDX-License-Identifier: GPL-2.0-or-later
"""The work of systemd units at boot. Before TuneD starts, the marker on the boot line decides which
profile is selected. Before a trial counts as good, the executables in /etc/lowlat/health.d run in
order of name; the first that fails or takes too long fails the trial."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Optional

from lowlat.base import bounds, trust
from lowlat.base.errors import LowlatError, Refused
from lowlat.boot import apply, decision, programs, promote, status, trials, tuned_profile
from lowlat.boot.disk import Disk
from lowlat.boot.transaction import AT_BOOT_S, Transaction, lock
from lowlat.host import tuned
from lowlat.host.root import Root
from lowlat.model.plan import Plan
from lowlat.plan import store


def select(root: Root) -> str:
    """In a tuned boot, select lowlat-local and make this kernel's plan the applied one. In any
    other boot, or if the plan is not known, restore the administrator's profile. Returns a
    message."""
    if _plan(root) is not None:
        with Transaction(root, AT_BOOT_S) as change:
            plan = _plan(root)
            if plan is not None:  # no rollback came first
                return _select(change, plan)
    disk = Disk(root)
    with lock(disk, AT_BOOT_S):
        restored = tuned_profile.restore(disk)
        tuned_profile.forget(disk)
    promote.note_return(root)
    return "a stock boot" + (": the administrator's profile is back" if restored else "")


def _select(change: Transaction, plan: Plan) -> str:
    kept = ""
    try:
        # Each kernel has its own plan: TuneD and ``runtime`` read this kernel's from now on.
        change.write(store.PLAN, plan.text())
        apply.write_profile(change, plan)
    except Refused as error:
        kept = f" ({error})"
    tuned_profile.select(change.disk)
    return f"a boot of plan {plan.id}: {tuned.LOCAL} is selected{kept}"


def _plan(root: Root) -> Optional[Plan]:
    """The plan named on this boot's line; None in a stock boot or if the stored plan is damaged."""
    here = status.read_boot(root, set())
    with suppress(Refused):
        plan = decision.stored(root, here.kernel or "")
        return plan if plan and plan.id == here.plan else None
    return None


FOLDER = "/etc/lowlat/health.d"

#: Limit of each check, in seconds: the trial's unit reboots after ten minutes in all.
LIMIT_S = 60.0


def check_health(root: Root) -> Iterator[str]:
    """Run the checks of a pending trial; yields messages. After a failed check the reason is
    recorded and the machine reboots into its stock entry."""
    if trials.read(root).pending is None:
        return
    for name in sorted(root.names(FOLDER)):
        if name.startswith(".") or name.endswith("~"):
            continue
        path = f"{FOLDER}/{name}"
        failed = _failure(root, path)
        yield f"{path}: {failed or 'passed'}"
        if failed:
            with lock(Disk(root), AT_BOOT_S):
                known = trials.read(root)
                trials.write(root, replace(known, pending=None, failed=f"{path}: {failed}"))
            yield "back to the stock entry"
            if root.live:
                programs.run(root, [programs.need(root, "systemctl"), "--no-block", "reboot"])
            return


def _failure(root: Root, path: str) -> str:
    """The reason why a check failed, or ""."""
    try:
        trust.check_program(path, root.path)
        done = programs.run(root, [path], limit=LIMIT_S, keep=bounds.LAST_WORDS)
    except LowlatError as error:
        return str(error)
    return f"ended with {done.status}: {done.last_words[:200]}" if done.status else ""
