# SPDX-License-Identifier: GPL-2.0-or-later
"""``render``: the files of a plan, below a folder."""

from __future__ import annotations

import argparse

from lowlat.host.root import open_root
from lowlat.plan import store as planfile
from lowlat.render import files as render
from lowlat.verbs import options as common


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", required=True, metavar="DIR", help="where the files go")
    parser.add_argument(
        "--plan", metavar="FILE", help="a plan in its JSON form; default: a fresh one"
    )
    common.add_root(parser)
    common.add_plan_options(parser)
    common.add_kernel(parser)


def main(args: argparse.Namespace) -> int:
    root = open_root(args.root)
    if args.plan:
        common.refuse_plan_options(args, f"--plan {args.plan}")
    plan = planfile.read(args.plan, root) if args.plan else common.make_plan(args, root)[1]
    for path in render.write(render.render(plan, root), args.out):
        print(path)
    return 0
