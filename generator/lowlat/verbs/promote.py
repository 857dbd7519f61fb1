# SPDX-License-Identifier: GPL-2.0-or-later
"""``promote``: make the entry that was tried the default."""

from __future__ import annotations

import argparse

from lowlat.boot import promote as choice
from lowlat.boot.loaders import interface as loader
from lowlat.verbs import hosts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    hosts.add_host(parser)
    parser.add_argument("--kernel", metavar="RELEASE", help="whose entry; default: the running one")
    parser.add_argument(
        "--follow-kernels",
        action="store_true",
        help="newer kernels' tuned entries become the default without a trial",
    )


def main(args: argparse.Namespace) -> int:
    root = hosts.open_host(args)
    choice.check_applied(root)
    found = loader.detect(root)
    found.check()
    entry = choice.pick(found.describe(), root, args.kernel)
    choice.check_tried(root, entry)
    if args.dry_run:
        print(f"the default would be {entry.id}")
        return 0
    boot = choice.promote(root, found, entry, args.follow_kernels)
    if boot.default is not None:
        print(f"the default is {boot.default.id}, Linux {boot.default.release}")
    print("'lowlat-gen rollback' takes it back")
    return 0
