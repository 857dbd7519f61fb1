# SPDX-License-Identifier: GPL-2.0-or-later
"""``watch``: verify's run-time half again and again, in the background."""

from __future__ import annotations

import argparse
import signal
from typing import Optional

from lowlat.base.duration import seconds
from lowlat.base.errors import Refused
from lowlat.base.terminal import printable, say
from lowlat.host.archive import open_root
from lowlat.model.plan import Plan
from lowlat.plan import store
from lowlat.verbs import options
from lowlat.verify.watch import Watch

_END = (signal.SIGINT, signal.SIGTERM)

_SHORTEST_S, _LONGEST_S = 1.0, 86400.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--interval", default="60s", metavar="TIME", help="from look to look (%(default)s)"
    )
    parser.add_argument(
        "--restore", action="store_true", help="put back what somebody else has undone"
    )
    parser.add_argument("--once", action="store_true", help="look once: status 1 on a finding")
    parser.add_argument(
        "--plan", metavar="FILE", help="default: what 'lowlat-gen runtime start' was given"
    )
    options.add_root(parser)


def main(args: argparse.Namespace) -> int:
    root = open_root(args.root)
    interval = _interval(args.interval)
    plan: Optional[Plan] = None if args.plan is None else store.read(args.plan, root)
    watch = Watch(root, plan, restore=args.restore)
    # They arrive between two looks only: none is left half done.
    signal.pthread_sigmask(signal.SIG_BLOCK, _END)
    try:
        while True:
            for line in watch.look():
                say(printable(line))
            if args.once:
                return 1 if watch.bad else 0
            if signal.sigtimedwait(_END, interval):
                return 0
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _END)


def _interval(text: str) -> float:
    wanted = seconds("--interval", text)
    if not _SHORTEST_S <= wanted <= _LONGEST_S:
        raise Refused(f"--interval {text}: not from 1s to 24h", hint="such as 60s")
    return wanted
