# SPDX-License-Identifier: GPL-2.0-or-later
"""``trial``: boot the tuned entry once; the boot after it is stock."""

from __future__ import annotations

import argparse

from lowlat.boot import entry_line as line
from lowlat.boot import promote as choice
from lowlat.boot.loaders import interface as loader
from lowlat.boot.loaders.interface import Entry
from lowlat.host.root import Root
from lowlat.probe.hypervisor import read_hypervisor
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
    trial = choice.try_once(root, found, entry)
    print(f"the next boot is {trial.id}; the one after it is stock again")
    print("a panic or a boot that does not get through reboots by itself")
    print(_hard_hang(root, trial))
    print("reboot when it suits, then 'lowlat-gen promote'")
    return 0


def _hard_hang(root: Root, trial: Entry) -> str:
    if not line.is_watched(root, trial.words):
        return "no hardware watchdog guards that boot: a hard hang needs a power cycle"
    # That of QEMU's q35 up to 7.2 resets nothing, and its driver cannot tell.
    if read_hypervisor(root, root.read("/proc/cpuinfo") or ""):
        return "a virtual watchdog guards that boot: whether it resets a hang is up to the host"
    return "the hardware watchdog resets a hang once its driver is loaded"
