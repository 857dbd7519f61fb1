# SPDX-License-Identifier: GPL-2.0-or-later
"""What happens in every boot before TuneD starts: the run-time half follows the boot's marker."""

from __future__ import annotations

import json

from lowlat import planfile
from lowlat.boot import application, choice, decision, selection, status
from lowlat.boot.transaction import Transaction
from lowlat.errors import Refused
from lowlat.plan import Plan
from lowlat.root import Root


def select(root: Root) -> str:
    """Select lowlat-local in a boot of ours and make this kernel's plan the applied one; restore
    the administrator's profile in every other boot. Returns what was done."""
    release = status.read_boot(root, set()).kernel or ""
    plan = decision.stored(root, release)
    if plan is None or not status.read_boot(root, {plan.id}).ours:
        choice.note_return(root)
        with Transaction(root) as change:
            restored = selection.restore(change.disk)
        return "a stock boot" + (": the administrator's profile is back" if restored else "")
    kept = ""
    with Transaction(root) as change:
        try:
            _adopt(change, plan)
        except Refused as error:
            kept = f" ({error})"
        selection.select(change.disk)
    return f"a boot of plan {plan.id}: {selection.LOCAL} is selected{kept}"


def _adopt(change: Transaction, plan: Plan) -> None:
    """Other kernels have plans of their own: what TuneD and ``runtime`` read becomes this one's."""
    change.write(planfile.PLAN, json.dumps(plan.to_json(), indent=2) + "\n")
    application.write_profile(change, plan)
