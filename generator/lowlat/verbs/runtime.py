# SPDX-License-Identifier: GPL-2.0-or-later
"""``runtime``: set, undo or check the run-time half of a plan; TuneD calls this."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("start", "stop", "verify"))
    parser.add_argument("--plan", metavar="FILE", help=f"default: {store.PLAN}")
    what = "as this profile says for the running machine, where no plan of it is applied"
    parser.add_argument("--profile", metavar="P", help=what)
    parser.add_argument("--dry-run", action="store_true", help="say what would be written")
    options.add_root(parser)


def main(args: argparse.Namespace) -> int:
    root = open_root(args.root)
    if args.action == "stop":
        return _stop(args, root)
    plan = _plan(args, root)
    if args.action == "verify" or args.dry_run:
        outcomes = settings.inspect(settings.ours(plan), root)
    else:
        with runstate.alone(root):
            store.keep_in_use(plan, root)
            outcomes = settings.start(plan, root)
    if args.dry_run:
        for outcome in settings.pending(outcomes):
            print(f"{_now(outcome)} would become {outcome.setting.value}")
    failed = [outcome for outcome in outcomes if outcome.failed]
    for outcome in () if args.dry_run else failed:
        problem = f": {outcome.problem}" if outcome.problem else ""
        print(f"{_now(outcome)} is not {outcome.setting.value}{problem}")
    done = sum(outcome.effective for outcome in outcomes)
    print(f"{done} of {len(outcomes)} run-time values as planned")
    _say(filter(None, [tuned.advice(root)]))
    return 0 if args.dry_run or not failed else 1


def _plan(args: argparse.Namespace, root: Root) -> Plan:
    if args.plan and args.profile:
        raise Refused("--plan and --profile both choose what is set", hint="give one of the two")
    used = store.in_use(root) if args.action == "verify" and not args.plan else None
    if used is not None and args.profile in (None, used.profile):
        return used
    if args.profile:
        return current.plan(args.profile, root)
    return store.read(args.plan, root)


def _now(outcome: settings.Inspected) -> str:
    held = "not there" if outcome.value is None else outcome.value or "empty"
    return plain(f"{spoken(outcome.path)} ({held})")


def _stop(args: argparse.Namespace, root: Root) -> int:
    if args.dry_run:
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
