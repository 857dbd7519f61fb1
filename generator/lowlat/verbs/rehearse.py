# SPDX-License-Identifier: GPL-2.0-or-later
"""The verb ``rehearse``."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from lowlat.base.errors import Refused
from lowlat.base.terminal import Encoded, bold, say
from lowlat.rehearse import store
from lowlat.rehearse.comparisons import Compared, compared, write_page
from lowlat.rehearse.options import RehearseOptions
from lowlat.rehearse.rehearsal import Rehearsal, rehearse
from lowlat.rehearse.results import describe, findings, write
from lowlat.report.verdict import REFUSED
from lowlat.verbs import options
from lowlat.view import screen

_DEFAULTS = RehearseOptions()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``lowlat-gen rehearse``; those of ``plan`` decide what the guest plans."""
    options.add_plan_options(parser, as_host="boot this machine's own line", several=True)
    add = parser.add_argument
    what = "boot a profile of TuneD's own too, for the same CPUs; may be repeated"
    add("--tuned-profile", action="append", default=[], metavar="T", help=what)
    what = "boot each profile with one setting left out at a time too: what each one buys"
    add("--ablate", action="store_true", help=what)
    what = "boot stock as a further arm: what the report says where nothing changed"
    add("--control", action="store_true", help=what)
    what = (
        "what to boot: an image, or a release or its beginning, such as 6.12 or 6.1-rt; may be "
        "repeated"
    )
    add("--kernel", action="append", default=[], metavar="RELEASE|PATH", help=what)
    what = "take it from the distribution's packages where it is neither in /boot nor cached"
    add("--fetch-kernel", action="store_true", help=what)
    what = "the guest's CPUs (default: emulated 4, with KVM as here, 4 at least)"
    add("--cpus", type=options.positive, metavar="N", help=what)
    add("--memory", default=_DEFAULTS.memory, metavar="SIZE", help="the guest's (%(default)s)")
    add("--duration", default=_DEFAULTS.duration, metavar="TIME", help="of a run (%(default)s)")
    add("--warmup", default=_DEFAULTS.warmup, metavar="TIME", help="before a run (%(default)s)")
    what = "boots of each arm on each kernel, in turn (%(default)s)"
    add("--boots", type=options.positive, default=_DEFAULTS.boots, metavar="N", help=what)
    what = "guests at once (default: emulated as many as there are CPUs, with KVM one)"
    add("--jobs", type=options.positive, metavar="N", help=what)
    add("--out", type=Path, metavar="DIR", help="where results go (default: the state folder)")
    what = "go on with an interrupted rehearsal, as it was asked for; only --jobs beside it"
    add("--resume", type=Path, metavar="DIR", help=what)


def main(args: argparse.Namespace) -> int:
    """Rehearse, print what it showed and the report; 1 where something is not as planned."""
    _end_guests_too()
    results, asked = _asked(args)
    try:
        done = rehearse(asked, results, args.jobs)
    except (KeyboardInterrupt, SystemExit):
        if (results / store.REQUEST).exists():
            say(f"\nStopped; 'lowlat-gen rehearse --resume {results}' goes on with it.")
        raise
    wrong = tuple(findings(done))
    path = write(done, wrong)
    found = list(compared(done))
    _tell(done, wrong, found)
    if found:
        say(f"Page: {write_page(found, results)}")
    say(str(path))
    refused = any(arm.report.verdict == REFUSED for one in found for arm in one.found.arms)
    return 1 if wrong or refused or not found else 0


def _end_guests_too() -> None:
    """An end asked for politely ends QEMU too, and so does a closed terminal, but under nohup."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda got, _: sys.exit(128 + got))


def _tell(done: Rehearsal, wrong: Sequence[str], found: Sequence[Compared]) -> None:
    say()
    for line in describe(done, wrong):
        say(line)
    say()
    for one in found:
        if len(found) > 1:
            say(bold(f"── {one.title}"))
        say(Encoded(screen.render(one.found, one.arms).rstrip()))
        say()


def _asked(args: argparse.Namespace) -> tuple[Path, RehearseOptions]:
    asked = options_of(args)
    if args.resume is None:
        return store.name(args.out), asked
    if asked != RehearseOptions() or args.out:
        raise Refused(
            f"--resume {args.resume}: goes on as it was asked for",
            hint="leave all other options but --jobs out",
        )
    return store.resumed(args.resume)


def options_of(args: argparse.Namespace) -> RehearseOptions:
    """The parsed arguments as values."""
    return RehearseOptions(
        kernels=tuple(args.kernel) or _DEFAULTS.kernels,
        fetch=args.fetch_kernel,
        profiles=tuple(args.profile) or _DEFAULTS.profiles,
        tuned=tuple(args.tuned_profile),
        ablate=args.ablate,
        control=args.control,
        plan=options.options_of(args),
        as_host=args.as_host,
        cpus=args.cpus,
        memory=args.memory,
        duration=args.duration,
        warmup=args.warmup,
        boots=args.boots,
    )
