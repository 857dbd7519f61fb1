# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of the verbs that write a host: a folder that is its tree, and a run that only tells."""

from __future__ import annotations

import argparse
from pathlib import Path

from lowlat.base.errors import Refused
from lowlat.host.root import Root, open_root


def add_host(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--root", default="/", metavar="PATH", help="another system's whole tree")
    parser.add_argument("--dry-run", action="store_true", help="say what would be done")


def open_host(args: argparse.Namespace) -> Root:
    """The tree to write. Raises Refused where it is an archive."""
    root = open_root(args.root)
    if not Path(args.root).is_dir() or not root.exists("/etc"):
        raise Refused(f"--root {args.root}: is not the tree of a system")
    return root
