# SPDX-License-Identifier: GPL-2.0-or-later
"""``cpus``: the bare list of isolated or housekeeping CPUs, for scripts and TuneD."""

from __future__ import annotations

import argparse
from typing import Optional

from lowlat.host.archive import open_root
from lowlat.host.root import Root
from lowlat.model.plan import Plan
from lowlat.plan import current, store
from lowlat.verbs import options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("which", choices=("isolated", "housekeeping"))
    what = "as this profile chooses; default: the applied plan, else " + options.DEFAULT_PROFILE
    parser.add_argument("--profile", metavar="P", help=what)
    options.add_root(parser)


def main(args: argparse.Namespace) -> int:
    plan = plan_of(open_root(args.root), args.profile)
    print(plan.isolated if args.which == "isolated" else plan.housekeeping)
    return 0


def plan_of(root: Root, name: Optional[str] = None) -> Plan:
    """The plan whose CPUs count: that of the profile where one is named, else the applied one in a
    boot of it, else the default profile's."""
    plan = None if name else store.applied(root)
    return plan or current.plan(name or options.DEFAULT_PROFILE, root)
