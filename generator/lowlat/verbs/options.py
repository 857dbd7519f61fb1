# SPDX-License-Identifier: GPL-2.0-or-later
"""Options that several verbs share, and how they become values."""

from __future__ import annotations

import argparse
import json
from typing import Any

from lowlat.base.errors import Refused
from lowlat.host.root import Root
from lowlat.model.machine import Machine
from lowlat.model.plan import Plan
from lowlat.plan import planner, profile
from lowlat.plan.cpu_request import Wishes
from lowlat.plan.planner import Options
from lowlat.probe import probe
from lowlat.probe.kernel import read_release

DEFAULT_PROFILE = "lowlat"


def positive(text: str) -> int:
    """An argparse type: a whole number of at least 1."""
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"'{text[:40]}' is not a number from 1 to 65535")
    return int(text)


def add_root(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--root", default="/", metavar="PATH", help="a captured machine: folder or archive"
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the stable JSON form")


def add_plan_options(
    parser: argparse.ArgumentParser,
    as_host: str = "plan as for hardware, even in a virtual machine",
    *,
    several: bool = False,
) -> None:
    """The options that decide a plan: the same ones for every verb that makes one. With ``several``
    the profile may be repeated, and is a list."""
    parser.add_argument(
        "--profile",
        action="append" if several else "store",
        default=[] if several else DEFAULT_PROFILE,
        metavar="P",
        help=f"default: {DEFAULT_PROFILE}{'; may be repeated' if several else ''}",
    )
    parser.add_argument("--isolate", metavar="LIST", help="isolate exactly these CPUs")
    parser.add_argument(
        "--housekeeping", metavar="LIST", help="keep exactly these CPUs for the system"
    )
    parser.add_argument(
        "--housekeeping-cores",
        type=positive,
        metavar="N",
        help="housekeeping cores per NUMA node",
    )
    parser.add_argument(
        "--keep-efficiency-cores",
        action="store_true",
        help="the least capable core type may be isolated too",
    )
    parser.add_argument(
        "--for-device", metavar="D", help="isolate near this network interface, NVMe or PCI address"
    )
    parser.add_argument(
        "--enable",
        action="append",
        default=[],
        metavar="NAME[=VALUE]",
        help="set this too, at your own risk",
    )
    parser.add_argument(
        "--disable", action="append", default=[], metavar="NAME", help="leave this out"
    )
    parser.add_argument("--as-host", action="store_true", help=as_host)


def add_kernel(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kernel", metavar="RELEASE", help="an installed kernel; default: running")


def options_of(args: argparse.Namespace) -> Options:
    """What was asked of the plan. Raises Refused where two wishes cannot both hold."""
    listed = args.isolate or args.housekeeping
    if listed and (args.housekeeping_cores or args.keep_efficiency_cores):
        option = "--housekeeping-cores" if args.housekeeping_cores else "--keep-efficiency-cores"
        raise Refused(f"{option}: a list names the CPUs already", hint="leave one of them out")
    return Options(
        wishes=Wishes(
            isolate=args.isolate,
            housekeeping=args.housekeeping,
            housekeeping_cores=args.housekeeping_cores,
            keep_efficiency_cores=args.keep_efficiency_cores,
            for_device=args.for_device,
        ),
        enable=tuple(args.enable),
        disable=tuple(args.disable),
        as_host=args.as_host,
    )


def make_plan(args: argparse.Namespace, root: Root) -> tuple[Machine, Plan]:
    """Probe the machine and plan for it as the options say."""
    machine = probe(root)
    kernel = read_release(root, args.kernel, machine.kernel)
    wanted = profile.load(args.profile, root)
    return machine, planner.make_plan(machine, kernel, wanted, options_of(args))


def refuse_plan_options(args: argparse.Namespace, why: str) -> None:
    """Raises Refused where an option that decides a plan was given though it decides nothing."""
    if options_of(args) != Options() or args.profile != DEFAULT_PROFILE or args.kernel:
        raise Refused(f"{why}: the options of a fresh plan have no effect", hint="leave them out")


def print_json(document: Any) -> None:
    print(json.dumps(document, indent=2, ensure_ascii=False))
