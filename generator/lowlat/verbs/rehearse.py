# SPDX-License-Identifier: GPL-2.0-or-later
"""The verb ``rehearse``."""

import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Optional

from lowlat.base.arguments import option
from lowlat.base.errors import Refused
from lowlat.base.terminal import Encoded, bold, say
from lowlat.claim.verdict import REFUSED
from lowlat.present import screen
from lowlat.present.drawn_arm import Group
from lowlat.rehearse import store
from lowlat.rehearse.comparisons import compared, write_page
from lowlat.rehearse.options import RehearseOptions
from lowlat.rehearse.rehearsal import Rehearsal, rehearse
from lowlat.rehearse.results import describe, findings, write
from lowlat.verbs import options, refusals


@dataclass(frozen=True)
class RehearseArguments:
    wanted: RehearseOptions = RehearseOptions()
    jobs: Optional[int] = option(
        "N", "guests that run at the same time (default: one per CPU under emulation, one with KVM)"
    )
    out: Optional[Path] = option("DIR", "folder for the results (default: the state folder)")
    resume: Optional[Path] = option(
        "DIR", "continue an interrupted rehearsal with its own options; only --jobs may be added"
    )


def main(args: RehearseArguments) -> int:
    """Rehearse, then print findings and report; returns 1 if something deviates from the plan."""
    _end_guests_too()
    results, begun = _begun(args)
    try:
        done = rehearse(begun.options if begun else args.wanted, results, args.jobs, begun)
    except (KeyboardInterrupt, SystemExit):
        if (results / store.REQUEST).exists():
            say(f"\nStopped; 'lowlat-gen rehearse --resume {results}' goes on with it.")
        raise
    wrong = tuple(findings(done))
    path = write(done, wrong)
    groups = [replace(one, offered=refusals.offered_here) for one in compared(done)]
    _tell(done, wrong, groups)
    if groups:
        say(f"Page: {write_page(groups, results)}")
    say(str(path))
    refused = any(report.verdict == REFUSED for one in groups for report in one.comparison.reports)
    return 1 if wrong or refused or not groups else 0


def _end_guests_too() -> None:
    """End QEMU too on SIGTERM, or if the terminal closes; nohup's ignored SIGHUP stays ignored."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda got, _: sys.exit(128 + got))


def _tell(done: Rehearsal, wrong: Sequence[str], groups: Sequence[Group]) -> None:
    say()
    for line in describe(done, wrong):
        say(line)
    say()
    for one in groups:
        if len(groups) > 1:
            say(bold(f"── {one.title}"))
        say(Encoded(screen.render(one.comparison, one.offered).rstrip()))
        say()


def _begun(args: RehearseArguments) -> tuple[Path, Optional[store.Request]]:
    """The folder of the results and, to resume, its request."""
    if args.resume is None:
        options.consistent(args.wanted.plan)
        return store.name(args.out), None
    if args.wanted != RehearseOptions() or args.out:
        why = f"--resume {args.resume}: continues with its own options"
        raise Refused(why, hint="leave all other options but --jobs out")
    return store.resumed(args.resume)
