# SPDX-License-Identifier: GPL-2.0-or-later
"""``trial``: boot the tuned entry once; the boot after it is stock."""

from __future__ import annotations

import argparse

from lowlat.boot import choice, line, loader
from lowlat.verbs import hosts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    hosts.add_host(parser)
    parser.add_argument("--kernel", metavar="RELEASE", help="whose entry; default: the running one")


def main(args: argparse.Namespace) -> int:
    root = hosts.open_host(args)
    choice.check_applied(root)
    found = loader.detect(root)
    found.check()
    entry = choice.pick(found.describe(), root, args.kernel)
    choice.check_returns(root, found)
    if args.dry_run:
        print(f"the next boot would be {line.trial_id(entry.id)}, once")
        return 0
    choice.try_once(root, found, entry)
    print(f"the next boot is {line.trial_id(entry.id)}; the one after it is stock again")
    print("a panic or a boot that does not get through reboots by itself")
    if line.has_watchdog(root):
        print("the hardware watchdog resets a hang once systemd runs")
    else:
        print("no hardware watchdog is here: a hard hang needs a power cycle")
    print("reboot when it suits, then 'lowlat-gen promote'")
    return 0
