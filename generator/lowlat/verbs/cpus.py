# SPDX-License-Identifier: GPL-2.0-or-later
"""``cpus``: the bare list of isolated or housekeeping CPUs, for scripts and TuneD."""

from __future__ import annotations

import argparse

from lowlat import cmdline, planfile
from lowlat.errors import LowlatError
from lowlat.plan import Plan
from lowlat.probe.topology import CPU
from lowlat.root import Root, open_root
from lowlat.verbs import common


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("which", choices=("isolated", "housekeeping"))
    common.add_root(parser)


def main(args: argparse.Namespace) -> int:
    root = open_root(args.root)
    print(_of_this_boot(root, args.which) or _of(common.default_plan(root), args.which))
    return 0


def _of(plan: Plan, which: str) -> str:
    return plan.isolated if which == "isolated" else plan.housekeeping


def _of_this_boot(root: Root, which: str) -> str:
    """The applied plan's list in a boot that carries its marker, else what the kernel isolates."""
    marker = cmdline.values(root.read("/proc/cmdline") or "", "lowlat.plan")
    if marker:
        try:
            plan = planfile.read(None, root)
        except LowlatError:
            plan = None
        if plan and plan.id in marker:
            return _of(plan, which)
    isolated = root.read_cpus(f"{CPU}/isolated")
    online = root.read_cpus(f"{CPU}/online")
    if not isolated or not online:
        return ""
    return str(isolated & online if which == "isolated" else online - isolated)
