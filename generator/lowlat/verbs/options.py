# SPDX-License-Identifier: GPL-2.0-or-later
"""Options that several verbs share, and how they become values."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Callable

from lowlat.base.errors import Refused
from lowlat.base.terminal import Encoded, printable
from lowlat.host.archive import open_root
from lowlat.host.root import Root
from lowlat.model.machine import Machine
from lowlat.model.plan import Plan
from lowlat.plan import planner, profile
from lowlat.plan.cpu_request import CpuRequest
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
    add = parser.add_argument
    add(
        "--profile",
        action="append" if several else "store",
        default=[] if several else DEFAULT_PROFILE,
        metavar="P",
        help=f"default: {DEFAULT_PROFILE}{'; may be repeated' if several else ''}",
    )
    add("--isolate", metavar="LIST", help="isolate exactly these CPUs")
    add("--housekeeping", metavar="LIST", help="keep exactly these CPUs for the system")
    cores = "housekeeping cores per NUMA node"
    add("--housekeeping-cores", type=positive, metavar="N", help=cores)
    efficiency = "the least capable core type may be isolated too"
    add("--keep-efficiency-cores", action="store_true", help=efficiency)
    near = "isolate near this network interface, NVMe or PCI address"
    add("--for-device", metavar="D", help=near)
    also = "set this too, at your own risk"
    add("--enable", action="append", default=[], metavar="NAME[=VALUE]", help=also)
    add("--disable", action="append", default=[], metavar="NAME", help="leave this out")
    add("--as-host", action="store_true", help=as_host)


def add_kernel(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kernel", metavar="RELEASE", help="an installed kernel; default: running")


def options_of(args: argparse.Namespace) -> Options:
    """What was asked of the plan. Raises Refused where two options cannot both hold."""
    listed = args.isolate or args.housekeeping
    if listed and (args.housekeeping_cores or args.keep_efficiency_cores):
        option = "--housekeeping-cores" if args.housekeeping_cores else "--keep-efficiency-cores"
        raise Refused(f"{option}: a list names the CPUs already", hint="leave one of them out")
    return Options(
        request=CpuRequest(
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


def show(args: argparse.Namespace, document: Callable[[], object], lines: Iterable[str]) -> None:
    """Print the JSON form where --json asks for it, else the lines."""
    if args.json:
        print(json.dumps(document(), indent=2))
    else:
        for line in lines:
            print(line if isinstance(line, Encoded) else printable(line))


def add_host(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--root", default="/", metavar="PATH", help="another system's whole tree")
    parser.add_argument("--dry-run", action="store_true", help="say what would be done")


def open_host(args: argparse.Namespace) -> Root:
    """The tree to write. Raises Refused where it is an archive."""
    root = open_root(args.root)
    if not Path(args.root).is_dir() or not root.exists("/etc"):
        raise Refused(f"--root {args.root}: is not the tree of a system")
    return root
