# SPDX-License-Identifier: GPL-2.0-or-later
"""``explain``: what one tunable does, costs and needs."""

from __future__ import annotations

import argparse

from lowlat.catalogue import CATALOGUE, lookup, never
from lowlat.errors import Refused
from lowlat.explain import explain, overview


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="a tunable; without it: all names")
    parser.add_argument("--all", action="store_true", help="every tunable in full")


def main(args: argparse.Namespace) -> int:
    if args.all and args.name:
        raise Refused(f"--all and {args.name[:60]}: give one of the two")
    if args.all:
        print("\n\n".join(explain(entry) for entry in CATALOGUE))
    elif args.name and never(args.name):
        print(f"{args.name} is never set: {never(args.name)}.")
    elif args.name:
        print(explain(lookup(args.name)))
    else:
        print(overview())
    return 0
