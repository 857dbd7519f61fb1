# SPDX-License-Identifier: GPL-2.0-or-later
"""``run``: the user's own program on the isolated CPUs.

The program has the output and the exit status for itself, so what is to be known beforehand is told
by ``--dry-run``.
"""

from __future__ import annotations

import argparse

from lowlat.base.errors import Refused
from lowlat.host.archive import open_root
from lowlat.host.root import CPU, Root
from lowlat.model import policy
from lowlat.model.cpuset import CpuSet, CpuSetError
from lowlat.render import files
from lowlat.runtime import launch
from lowlat.runtime.launch import Launch
from lowlat.verbs import cpus, options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    what = "where to run; auto: what 'lowlat-gen cpus isolated' prints (%(default)s)"
    add("--cpus", default="auto", metavar="LIST|auto", help=what)
    what = "scheduling policy; N: real-time priority (%(default)s)"
    add("--policy", default="other", metavar="other|fifo:N", help=what)
    add("--one-per-thread", action="store_true", help="each thread gets a CPU of its own")
    add("--dry-run", action="store_true", help="say where it would run, and what speaks against it")
    what = "print what places a systemd service instead; runs nothing"
    add("--systemd-drop-in", action="store_true", help=what)
    options.add_root(parser)
    add("command", nargs=argparse.REMAINDER, metavar="CMD", help="after --: the program")


def main(args: argparse.Namespace) -> int:
    root = open_root(args.root)
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    _check(args, command, root)
    where = _place(args, root)
    if args.systemd_drop_in:
        print(files.systemd_drop_in(where), end="")
        return 0
    if args.dry_run:
        _tell(command, where, root)
        return 0
    return (launch.keep if where.one_per_thread else launch.become)(command, where)


def _check(args: argparse.Namespace, command: list[str], root: Root) -> None:
    if args.systemd_drop_in:
        if command or args.one_per_thread or args.dry_run:
            raise Refused(
                "--systemd-drop-in: only prints the place of a service",
                hint="leave out CMD, --one-per-thread and --dry-run",
            )
        return
    if not command or not command[0]:
        raise Refused("no program given", hint="lowlat-gen run [OPTION]... -- CMD [ARGUMENT]...")
    if not args.dry_run and not root.live:
        raise Refused("--root: nothing runs on a captured machine", hint="add --dry-run")


def _place(args: argparse.Namespace, root: Root) -> Launch:
    listed = _listed(args.cpus, root)
    priority = policy.priority_of(args.policy)
    return Launch(listed, priority, args.one_per_thread, launch.group_of(listed, root))


def _listed(text: str, root: Root) -> CpuSet:
    auto = text == "auto"
    try:
        listed = cpus.plan_of(root).isolated if auto else CpuSet.parse_list(text)
    except CpuSetError as error:
        raise Refused(f"--cpus {text[:60]}: {error}", hint="such as 2-5,8") from error
    if not listed:
        raise Refused(f"--cpus {text[:60]}: no CPU is isolated", hint="name some with --cpus LIST")
    missing = listed - (root.read_cpus(f"{CPU}/online") or listed)
    if missing:
        raise Refused(f"--cpus {text[:60]}: CPU {missing} is not online")
    return listed


def _tell(command: list[str], where: Launch, root: Root) -> None:
    threads = "each thread on one of its own" if where.one_per_thread else "all threads"
    print(f"{command[0]} would run on CPU {where.cpus} ({threads}), policy {where.policy}")
    if where.group:
        print(f"It would join {where.group}, which owns these CPUs.")
    for warning in launch.warnings(where, root):
        print(f"warning: {warning}")
