# SPDX-License-Identifier: GPL-2.0-or-later
"""``explain``: what one tunable or profile does, costs and needs."""

from __future__ import annotations

import argparse
import textwrap

from lowlat.base.errors import Refused
from lowlat.catalogue import CATALOGUE, alias, elsewhere, lookup, never
from lowlat.explain import reference
from lowlat.explain.entries import explain, explain_profile, overview
from lowlat.explain.guides import GUIDES
from lowlat.host.root import Root
from lowlat.plan import profile


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = "a tunable, a profile or a guide; without it: all names"
    parser.add_argument("name", nargs="?", metavar="NAME", help=what)
    parser.add_argument("--all", action="store_true", help="every tunable in full")
    parser.add_argument(
        "--markdown", action="store_true", help="with --all: the reference as Markdown"
    )


def main(args: argparse.Namespace) -> int:
    if args.all and args.name:
        raise Refused(f"--all and {args.name[:60]}: give one of the two")
    if args.markdown and not args.all:
        raise Refused("--markdown: it is the form of the whole reference", hint="add --all")
    if args.markdown:
        print(reference.everything(), end="")
    elif args.all:
        print("\n\n".join(explain(entry) for entry in CATALOGUE))
    else:
        print(_one(args.name) if args.name else _overview())
    return 0


def _overview() -> str:
    return f"{overview()}\n\nWork on the isolated CPUs:\n  {', '.join(GUIDES)}"


def _one(name: str) -> str:
    if name in GUIDES:
        return GUIDES[name]
    if never(name):
        return textwrap.fill(f"{name} is never set: {never(name)}.", 88)
    if elsewhere(name):
        return textwrap.fill(f"{name} is not set by lowlat: {elsewhere(name)}.", 88)
    other = alias(name)
    if other:
        return f"{name} is {other} here.\n\n{explain(lookup(other))}"
    root = Root()
    is_tunable = name.partition("=")[0] in {entry.name for entry in CATALOGUE}
    if not is_tunable and name in profile.names(root):
        return explain_profile(profile.load(name, root))
    return explain(lookup(name))
