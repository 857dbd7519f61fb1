# SPDX-License-Identifier: GPL-2.0-or-later
"""``runtime``: set, undo or check the run-time settings of a plan; TuneD calls this verb."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Optional

from lowlat.base.arguments import flag, option, positional
from lowlat.base.errors import LowlatError, Refused
from lowlat.host import runstate, tuned
from lowlat.host.archive import open_root
from lowlat.host.root import Root
from lowlat.model.plan import Plan
from lowlat.plan import current, store
from lowlat.runtime import settings
from lowlat.runtime.kthreads import display_name
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
    if args.action == "stop":
        return _stop(args, root)
    if args.action == "start":
        options.refuse_container(root)
    plan = _plan(args, root)
    outcomes = settings.inspect(settings.ours(plan), root)
    due = settings.pending(outcomes) if args.dry_run else []
    before = _values(outcomes)
    if args.action == "start" and not args.dry_run:
        with runstate.exclusive_lock(root):
            store.keep_in_use(plan, root)
            outcomes = settings.start(plan, root)
    after = _values(outcomes, {item.path: item.setting.value for item in due})
    said = list(_describe(args.dry_run, outcomes, tuned.advice(root)))
    options.show_change(args.json, before != after, said, before, after)
    return 0 if args.dry_run or not any(item.failed for item in outcomes) else 1


def _describe(dry_run: bool, outcomes: Sequence[Inspected], advice: str) -> Iterator[str]:
    if dry_run:
        for outcome in settings.pending(outcomes):
            yield f"{_held(outcome, ':')} would become {_planned(outcome)}"
    else:
        yield from (_failed(outcome) for outcome in outcomes if outcome.failed)
    done = sum(outcome.effective for outcome in outcomes)
    yield f"{done} of {len(outcomes)} run-time values are as planned"
    yield from filter(None, [advice])


def _failed(outcome: Inspected) -> str:
    said = display_name(outcome.path) if outcome.value is None else _held(outcome, " is")
    why = "" if outcome.problem in (outcome.value or "") else f": {outcome.problem}"
    return f"{said}, planned {_planned(outcome)}{why}"


def _values(outcomes: Iterable[Inspected], due: Mapping[str, str] = MappingProxyType({})) -> str:
    """The present values, or those in ``due`` instead, a row each."""
    return "".join(f"{item.path}: {due.get(item.path, item.value)}\n" for item in outcomes)


def _plan(args: RuntimeArguments, root: Root) -> Plan:
    if args.plan and args.profile:
        raise Refused("--plan and --profile both choose what is set", hint="give one of the two")
    used = store.in_use(root) if args.action == "verify" and not args.plan else None
    if used is not None and args.profile in (None, used.profile):
        return used
    if args.profile:
        return current.settings(args.profile, root)
    return store.read_here(args.plan, root)


def _held(outcome: Inspected, between: str) -> str:
    value = outcome.value
    held = "missing" if value is None else outcome.entry.reads.listed(value) or "empty"
    return f"{display_name(outcome.path)}{between} {held}"


def _planned(outcome: Inspected) -> str:
    return outcome.entry.reads.listed(outcome.setting.value)


def _stop(args: RuntimeArguments, root: Root) -> int:
    old = settings.read_journal(root).old
    if args.dry_run or root.absent(runstate.FOLDER):
        staying = settings.staying(root, old)
        said = [
            staying.get(path) or f"{display_name(path)} would become {value}"
            for path, value in old.items()
        ]
        options.show_change(args.json, bool(old), said)
        return 0
    with runstate.exclusive_lock(root):
        problems, kept = settings.stop(root)
    options.show_change(args.json, bool(old), kept)
    if problems:
        raise LowlatError(f"{len(problems)} values could not be put back, first {problems[0]}")
    return 0
