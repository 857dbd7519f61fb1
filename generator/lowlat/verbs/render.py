# SPDX-License-Identifier: GPL-2.0-or-later
"""``render``: the files of a plan, below a folder."""

from __future__ import annotations

import argparse

from lowlat.host.archive import open_root
from lowlat.plan import store
from lowlat.render import files
from lowlat.verbs import options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", required=True, metavar="DIR", help="where the files go")
    parser.add_argument(
        "--plan", metavar="FILE", help="a plan in its JSON form; default: a fresh one"
    )
    options.add_root(parser)
    options.add_plan_options(parser)
    options.add_kernel(parser)


def main(args: argparse.Namespace) -> int:
    root = open_root(args.root)
    if args.plan:
        options.refuse_plan_options(args, f"--plan {args.plan}")
    plan = store.read(args.plan, root) if args.plan else options.make_plan(args, root)[1]
    for path in files.write(files.render(plan, root), args.out):
        print(path)
    return 0
