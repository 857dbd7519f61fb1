# SPDX-License-Identifier: GPL-2.0-or-later
"""Isolating the running system until the next boot, and taking that back from any state."""

from lowlat.base.errors import Refused
from lowlat.host import runstate
from lowlat.host.root import Root
from lowlat.model.plan import Plan
from lowlat.plan import store
from lowlat.plan.now import NowPlan
from lowlat.runtime import journal, settings
from lowlat.runtime.settings import Inspected


def check(found: NowPlan, root: Root) -> None:
    """Raises Refused if other CPUs are isolated already, or run-time settings are in use. Settings
    may be added: a daemon that they are for may have started since."""
    held = store.now(root)
    if held is None and journal.read(root).done:
        why = "run-time settings of lowlat are in use, by TuneD or by 'lowlat-gen runtime start'"
        raise Refused(why, hint="'tuned-adm off' or 'lowlat-gen runtime stop' takes them back")
    if held is not None and _split(held.plan) != _split(found.plan):
        already = f"profile {held.plan.profile}, isolated CPUs {held.plan.isolated}"
        raise Refused(f"isolated already: {already}", hint="'lowlat-gen rollback' takes that back")


def _split(plan: Plan) -> tuple[object, ...]:
    return plan.profile, plan.isolated, plan.cpus.sets


def start(found: NowPlan, root: Root) -> list[Inspected]:
    """Isolate. Raises Refused if the journal cannot be written."""
    with runstate.exclusive_lock(root):
        store.keep_now(found, root)
        store.keep_in_use(found.plan, root)
        return settings.start(found.plan, root)


def remains(root: Root) -> bool:
    """Whether stop() has something to take back, be it what stayed the last time."""
    record = journal.read(root)
    return not root.absent(store.NOW) or bool(record.old and not record.done)


def stop(root: Root) -> tuple[list[str], list[str]]:
    """Take start() back. Returns what could not be restored, and what stays, with reasons."""
    with runstate.exclusive_lock(root):
        problems, kept = settings.stop(root)
        if not problems:
            runstate.forget(root, store.NOW)
    return problems, kept
