# SPDX-License-Identifier: GPL-2.0-or-later
"""``runtime``: set, undo or check the run-time half of a plan; TuneD calls this."""

from __future__ import annotations

import argparse

from lowlat import planfile, runtime
from lowlat.errors import LowlatError
from lowlat.root import Root, open_root
from lowlat.verbs import common


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("start", "stop", "verify"))
    parser.add_argument("--plan", metavar="FILE", help=f"default: {planfile.PLAN}")
    parser.add_argument("--dry-run", action="store_true", help="say what would be written")
    common.add_root(parser)


def main(args: argparse.Namespace) -> int:
    root = open_root(args.root)
    if args.action == "stop":
        return _stop(args, root)
    plan = planfile.read(args.plan, root)
    if args.action == "verify" or args.dry_run:
        outcomes = runtime.inspect(runtime.ours(plan), root)
    else:
        outcomes = runtime.start(plan, root)
    if args.dry_run:
        for outcome in runtime.pending(outcomes):
            print(f"{outcome.path} ({outcome.value}) would become {outcome.setting.value}")
    failed = [outcome for outcome in outcomes if outcome.failed]
    for outcome in () if args.dry_run else failed:
        problem = f": {outcome.problem}" if outcome.problem else ""
        print(f"{outcome.path} ({outcome.value}) is not {outcome.setting.value}{problem}")
    done = sum(outcome.effective for outcome in outcomes)
    print(f"{done} of {len(outcomes)} run-time values as planned")
    return 0 if args.dry_run or not failed else 1


def _stop(args: argparse.Namespace, root: Root) -> int:
    if args.dry_run:
        for path, value in runtime.read_journal(root).old.items():
            print(f"{path} would become {value}")
        return 0
    problems = runtime.stop(root)
    if problems:
        raise LowlatError(f"{len(problems)} values could not be put back, first {problems[0]}")
    return 0
