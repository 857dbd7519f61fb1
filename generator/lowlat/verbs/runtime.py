# SPDX-License-Identifier: GPL-2.0-or-later
"""``runtime``: set, undo or check the run-time half of a plan; TuneD calls this."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Optional

from lowlat.base.errors import LowlatError, Refused
from lowlat.base.terminal import plain
from lowlat.host import runstate, tuned
from lowlat.host.archive import open_root
from lowlat.host.root import Root
from lowlat.model.plan import Plan
from lowlat.plan import current, store
from lowlat.runtime import settings
from lowlat.runtime.kthreads import spoken
from lowlat.verbs import options
from lowlat.verbs.arguments import flag, option, positional


@dataclass(frozen=True)
class RuntimeArguments:
    action: str = positional(None, "", choices=("start", "stop", "verify"))
    plan: Optional[str] = option("FILE", f"default: {store.PLAN}")
    profile: Optional[str] = option(
        "P", "as this profile says for the running machine, where no plan of it is applied"
    )
    dry_run: bool = flag("say what would be written")
    root: str = options.root()


def main(asked: RuntimeArguments) -> int:
    root = open_root(asked.root)
    if asked.action == "stop":
        return _stop(asked, root)
    plan = _plan(asked, root)
    if asked.action == "verify" or asked.dry_run:
        outcomes = settings.inspect(settings.ours(plan), root)
    else:
        with runstate.alone(root):
            store.keep_in_use(plan, root)
            outcomes = settings.start(plan, root)
    if asked.dry_run:
        for outcome in settings.pending(outcomes):
            print(f"{_now(outcome)} would become {outcome.setting.value}")
    failed = [outcome for outcome in outcomes if outcome.failed]
    for outcome in () if asked.dry_run else failed:
        problem = f": {outcome.problem}" if outcome.problem else ""
        print(f"{_now(outcome)} is not {outcome.setting.value}{problem}")
    done = sum(outcome.effective for outcome in outcomes)
    print(f"{done} of {len(outcomes)} run-time values as planned")
    _say(filter(None, [tuned.advice(root)]))
    return 0 if asked.dry_run or not failed else 1


def _plan(asked: RuntimeArguments, root: Root) -> Plan:
    if asked.plan and asked.profile:
        raise Refused("--plan and --profile both choose what is set", hint="give one of the two")
    used = store.in_use(root) if asked.action == "verify" and not asked.plan else None
    if used is not None and asked.profile in (None, used.profile):
        return used
    if asked.profile:
        return current.plan(asked.profile, root)
    return store.read(asked.plan, root)


def _now(outcome: settings.Inspected) -> str:
    held = "not there" if outcome.value is None else outcome.value or "empty"
    return plain(f"{spoken(outcome.path)} ({held})")


def _stop(asked: RuntimeArguments, root: Root) -> int:
    if asked.dry_run:
        for path, value in settings.read_journal(root).old.items():
            print(plain(f"{spoken(path)} would become {value}"))
        return 0
    if root.absent(runstate.FOLDER):
        return 0
    with runstate.alone(root):
        stopped = settings.stop(root)
    _say(stopped.kept)
    if stopped.problems:
        raise LowlatError(
            f"{len(stopped.problems)} values could not be put back, first {stopped.problems[0]}"
        )
    return 0


def _say(sentences: Iterable[str]) -> None:
    for sentence in sentences:
        print(sentence)
