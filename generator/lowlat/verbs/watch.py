# SPDX-License-Identifier: GPL-2.0-or-later
"""``watch``: check verify's run-time settings again and again, in the background."""

import json
import signal
import time
from dataclasses import dataclass
from typing import Optional

from lowlat.base import files
from lowlat.base.arguments import flag, option, seconds
from lowlat.base.errors import Refused
from lowlat.base.terminal import say
from lowlat.boot import status, trials
from lowlat.host.archive import open_root
from lowlat.host.root import Root
from lowlat.model.plan import Plan
from lowlat.plan import store
from lowlat.verbs import options
from lowlat.verify import metrics
from lowlat.verify.watch import Watch

_END = (signal.SIGINT, signal.SIGTERM)

_SPAN = (1.0, 86400.0, "1s to 24h")


@dataclass(frozen=True)
class WatchArguments:
    interval: str = option("TIME", "time between two checks (%(default)s)", "60s")
    restore: bool = flag("restore settings that another program has undone")
    once: bool = flag("check once, and exit with 1 on a finding")
    metrics: Optional[str] = option(
        "FILE", "after each check, write FILE.prom for the textfile collector of node_exporter"
    )
    plan: Optional[str] = option("FILE", "default: the plan of 'lowlat-gen runtime start'")
    root: str = options.root()
    json: bool = flag("one JSON document a line: verify's row of a setting that changed")


def main(args: WatchArguments) -> int:
    root = open_root(args.root)
    interval = seconds("--interval", args.interval, _SPAN)
    plan: Optional[Plan] = None if args.plan is None else store.read_here(args.plan, root)
    _check_metrics(args.metrics)
    watch = Watch(root, plan, restore=args.restore)
    if not (args.once or args.json):
        say(f"checking the run-time settings every {args.interval}; Ctrl-C ends")
    # Signals take effect only between two checks, so that no restore is left incomplete.
    signal.pthread_sigmask(signal.SIG_BLOCK, {*_END, signal.SIGALRM})
    try:
        while True:
            for news in watch.look():
                say(json.dumps(news.to_json()) if args.json else news.text)
            if args.metrics:
                text = metrics.text(watch, root, _boot(root), time.time())
                files.write("--metrics", args.metrics, text.encode("utf-8", "replace"))
            if args.once:
                return 1 if watch.bad else 0
            # Not sigtimedwait(): stopped longer than its timeout it returns uninitialized memory.
            signal.setitimer(signal.ITIMER_REAL, interval)
            if signal.sigwait({*_END, signal.SIGALRM}) in _END:
                return 0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        # SIGALRM stays blocked: a last pending one would kill the process here.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _END)


def _check_metrics(out: Optional[str]) -> None:
    """Raises Refused if the metrics cannot be written there, or would not be read."""
    if out is None:
        return
    if not out.endswith(".prom"):
        hint = "name it so that it ends in .prom"
        raise Refused(f"--metrics {out}: node_exporter reads only files named *.prom", hint=hint)
    files.check("--metrics", out)


def _boot(root: Root) -> dict[str, str]:
    """The labels of the running boot, by its line, ``apply --now`` and the record of trials. The
    boot loader is not asked: reading a firmware's variable stops CPUs on many machines."""
    running, known = status.read_boot(root, set()), trials.read(root)
    stock = "stock" if root.absent(store.NOW) else "now"
    kind = "trial" if running.trial else "tuned" if running.plan else stock
    states = {
        "pending": known.pending,
        "failed": known.failed,
        "promoted": known.promoted,
        "tried": known.seen,
    }
    return {"boot": kind, "trial": next((name for name, given in states.items() if given), "none")}
