# SPDX-License-Identifier: GPL-2.0-or-later
"""``verify``: planned against effective, with the evidence."""

from __future__ import annotations

import argparse

from lowlat import planfile
from lowlat.root import open_root
from lowlat.verbs import common
from lowlat.verify import Row, to_json, verify


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--plan", metavar="FILE", help=f"default: {planfile.PLAN}")
    common.add_root(parser)
    common.add_json(parser)


def main(args: argparse.Namespace) -> int:
    root = open_root(args.root)
    rows = verify(planfile.read(args.plan, root), root)
    if args.json:
        common.print_json(to_json(rows))
    else:
        for row in rows:
            print(_line(row))
        good = sum(not row.state.bad for row in rows)
        print(f"{good} of {len(rows)} settings without a finding")
    return 1 if any(row.state.bad for row in rows) else 0


def _line(row: Row) -> str:
    sign = "✗" if row.state.bad else "✓" if row.state.value == "effective" else "?"
    return f"{sign} {row.name:32} {row.state.value:18} {row.evidence}"
