# SPDX-License-Identifier: GPL-2.0-or-later
"""``promote``: make the entry that was tried the default."""

from __future__ import annotations

import argparse

from lowlat.boot import promote
from lowlat.verbs import trial


def add_arguments(parser: argparse.ArgumentParser) -> None:
    trial.add_arguments(parser)
    what = "newer kernels' tuned entries become the default without a trial"
    parser.add_argument("--follow-kernels", action="store_true", help=what)


def main(args: argparse.Namespace) -> int:
    root, found, entry = trial.applied_entry(args)
    promote.check_tried(root, entry)
    if args.dry_run:
        print(f"the default would be {entry.id}")
        return 0
    boot = promote.promote(root, found, entry, args.follow_kernels)
    if boot.default is not None:
        print(f"the default is {boot.default.id}, Linux {boot.default.release}")
    print("'lowlat-gen rollback' takes it back")
    return 0
