# SPDX-License-Identifier: GPL-2.0-or-later
"""``rollback``: take back everything apply, trial and promote did."""

from __future__ import annotations

import argparse

from lowlat.boot import journal as journals
from lowlat.boot import loader, reversal
from lowlat.boot.disk import Disk
from lowlat.boot.transaction import edited
from lowlat.errors import Unmet
from lowlat.verbs import hosts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    hosts.add_host(parser)


def main(args: argparse.Namespace) -> int:
    root = hosts.open_host(args)
    if not reversal.applied(root):
        if not args.dry_run:
            reversal.tidy(root)
        print("nothing is applied")
        return 0
    disk = Disk(root)
    journal = journals.read(disk)
    kept = edited(disk, journal)
    if args.dry_run:
        for path in journal.entries:
            print(f"{path}: {'kept, it was edited since' if path in kept else 'put back'}")
        return 0
    found = loader.detect(root)
    found.check()
    kept = reversal.reverse(root, found)
    print("the boot is as it was before lowlat" if not kept else "the rest is as it was")
    if kept:
        raise Unmet(f"kept, for somebody edited it since: {', '.join(kept)}")
    return 0
