# SPDX-License-Identifier: GPL-2.0-or-later
"""What happens in every boot before TuneD starts: the run-time half follows the boot's marker."""

from __future__ import annotations

from contextlib import suppress
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.boot import apply, decision, promote, status, tuned_profile
from lowlat.boot.disk import Disk
from lowlat.boot.transaction import AT_BOOT_S, Transaction, lock
from lowlat.host import tuned
from lowlat.host.root import Root
from lowlat.model.plan import Plan
from lowlat.plan import store


def select(root: Root) -> str:
    """In a tuned boot, select lowlat-local and make this kernel's plan the applied one. In every
    other boot, and where that is not known, restore the administrator's profile. Returns what was
    done."""
    if _plan(root) is not None:
        with Transaction(root, AT_BOOT_S) as change:
            plan = _plan(root)
            if plan is not None:  # no rollback was faster
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
        # Other kernels have plans of their own: TuneD and ``runtime`` read this one's from now on.
        change.write(store.PLAN, plan.text())
        apply.write_profile(change, plan)
    except Refused as error:
        kept = f" ({error})"
    tuned_profile.select(change.disk)
    return f"a boot of plan {plan.id}: {tuned.LOCAL} is selected{kept}"


def _plan(root: Root) -> Optional[Plan]:
    """The plan that this boot's line names; None in a stock boot, or where the plan is damaged."""
    here = status.read_boot(root, set())
    with suppress(Refused):
        plan = decision.stored(root, here.kernel or "")
        return plan if plan and plan.id == here.plan else None
    return None
