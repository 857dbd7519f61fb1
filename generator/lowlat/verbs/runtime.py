# SPDX-License-Identifier: GPL-2.0-or-later
"""``runtime``: set, undo or check the run-time settings of a plan; TuneD calls this verb."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Optional

from lowlat.base.arguments import flag, option, positional
from lowlat.base.errors import LowlatError, Refused
from lowlat.host import runstate, tuned
from lowlat.host.archive import open_root
from lowlat.host.root import Root
from lowlat.model.plan import Plan
from lowlat.plan import current, store
from lowlat.runtime import journal, settings
from lowlat.runtime.settings import Inspected
from lowlat.verbs import options


@dataclass(frozen=True)
class RuntimeArguments:
    action: str = positional(None, "", choices=("start", "stop", "verify"))
    plan: Optional[str] = option("FILE", f"default: {store.PLAN}")
    profile: Optional[str] = option("P", "plan with this profile, unless a plan with it is applied")
    dry_run: bool = flag("print what would be written, and write nothing")
    root: str = options.root()
    json: bool = options.as_json()


def main(args: RuntimeArguments) -> int:
    root = open_root(args.root)
    if args.action != "verify" and not root.absent(store.NOW):
        why = "this system is isolated by 'lowlat-gen apply --now'"
        raise Refused(why, hint="'lowlat-gen rollback' takes that back")
    if args.action == "stop":
        return _stop(args, root)
    if args.action == "start":
        options.refuse_container(root)
    plan = _plan(args, root)
    outcomes = settings.inspect(settings.ours(plan, root), root)
    due = settings.pending(outcomes) if args.dry_run else []
    before = settings.values(outcomes)
    if args.action == "start" and not args.dry_run:
        with runstate.exclusive_lock(root):
            store.keep_in_use(plan, root)
            outcomes = settings.start(plan, root)
    after = settings.values(outcomes, {item.path: item.setting.value for item in due})
    said = list(_describe(args.dry_run, outcomes, tuned.advice(root)))
    options.show_change(args.json, before != after, said, before, after)
    return 0 if args.dry_run or not any(item.failed for item in outcomes) else 1


def _describe(dry_run: bool, outcomes: Sequence[Inspected], advice: str) -> Iterator[str]:
    if dry_run:
        for outcome in settings.pending(outcomes):
            yield f"{outcome.held(':')} would become {outcome.planned}"
    else:
        yield from (outcome.failure for outcome in outcomes if outcome.failed)
    done = sum(outcome.effective for outcome in outcomes)
    yield f"{done} of {len(outcomes)} run-time values are as planned"
    yield from filter(None, [advice])


def _plan(args: RuntimeArguments, root: Root) -> Plan:
    if args.plan is not None and args.profile:
        raise Refused("--plan and --profile both choose what is set", hint="give one of the two")
    used = store.in_use(root) if args.action == "verify" and args.plan is None else None
    if used is not None and args.profile in (None, used.profile):
        return used
    if args.profile:
        return current.settings(args.profile, root)
    return store.read_here(args.plan, root)


def _stop(args: RuntimeArguments, root: Root) -> int:
    old = journal.read(root).old
    if args.dry_run or root.absent(runstate.FOLDER):
        options.show_change(args.json, bool(old), settings.undoing(root))
        return 0
    with runstate.exclusive_lock(root):
        problems, kept = settings.stop(root)
    options.show_change(args.json, bool(old), kept)
    if problems:
        raise LowlatError(f"{len(problems)} values could not be put back, first {problems[0]}")
    return 0
