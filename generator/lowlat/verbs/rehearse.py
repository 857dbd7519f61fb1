# SPDX-License-Identifier: GPL-2.0-or-later
"""The verb ``rehearse``."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from lowlat.base.errors import Refused
from lowlat.base.terminal import bold, say
from lowlat.rehearse import results as outcome
from lowlat.rehearse import store as folder
from lowlat.rehearse.comparisons import Compared, compared, write_page
from lowlat.rehearse.options import RehearseOptions
from lowlat.rehearse.rehearsal import Rehearsal, rehearse
from lowlat.report.verdict import REFUSED
from lowlat.verbs import options as common
from lowlat.view import screen

_DEFAULTS = RehearseOptions()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``lowlat-gen rehearse``; those of ``plan`` decide what the guest plans."""
    common.add_plan_options(parser, as_host="boot this machine's own line", several=True)
    add = parser.add_argument
    add(
        "--tuned-profile",
        action="append",
        default=[],
        metavar="T",
        help="boot a profile of TuneD's own too, for the same CPUs; may be repeated",
    )
    add(
        "--ablate",
        action="store_true",
        help="boot each profile with one setting left out at a time too: what each one buys",
    )
    add(
        "--control",
        action="store_true",
        help="boot stock as a further arm: what the report says where nothing changed",
    )
    add(
        "--kernel",
        action="append",
        default=[],
        metavar="RELEASE|PATH",
        help="what to boot: an image, or a release or its beginning, such as 6.12 or 6.1-rt; may "
        "be repeated",
    )
    add(
        "--fetch-kernel",
        action="store_true",
        help="take it from the distribution's packages where it is neither in /boot nor cached",
    )
    add(
        "--cpus",
        type=common.positive,
        metavar="N",
        help="the guest's CPUs (default: emulated 4, with KVM as here, 4 at least)",
    )
    add("--memory", default=_DEFAULTS.memory, metavar="SIZE", help="the guest's (%(default)s)")
    add("--duration", default=_DEFAULTS.duration, metavar="TIME", help="of a run (%(default)s)")
    add("--warmup", default=_DEFAULTS.warmup, metavar="TIME", help="before a run (%(default)s)")
    add(
        "--boots",
        type=common.positive,
        default=_DEFAULTS.boots,
        metavar="N",
        help="boots of each arm on each kernel, in turn (%(default)s)",
    )
    add(
        "--jobs",
        type=common.positive,
        metavar="N",
        help="guests at once (default: emulated as many as there are CPUs, with KVM one)",
    )
    add("--out", type=Path, metavar="DIR", help="where results go (default: the state folder)")
    add(
        "--resume",
        type=Path,
        metavar="DIR",
        help="go on with an interrupted rehearsal, as it was asked for; only --jobs beside it",
    )


def main(args: argparse.Namespace) -> int:
    """Rehearse, print what it showed and the report; 1 where something is not as planned."""
    _end_guests_too()
    results, options = _asked(args)
    try:
        done = rehearse(options, results, args.jobs)
    except (KeyboardInterrupt, SystemExit):
        if (results / folder.REQUEST).exists():
            say(f"\nStopped; 'lowlat-gen rehearse --resume {results}' goes on with it.")
        raise
    wrong = tuple(outcome.findings(done))
    path = outcome.write(done, wrong)
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
    say("\n".join(outcome.describe(done, wrong)))
    say()
    for one in found:
        if len(found) > 1:
            say(bold(f"── {one.title}"))
        say(screen.render(one.found, one.arms).rstrip())
        say()


def _asked(args: argparse.Namespace) -> tuple[Path, RehearseOptions]:
    asked = options_of(args)
    if args.resume is None:
        return folder.name(args.out), asked
    if asked != RehearseOptions() or args.out:
        raise Refused(
            f"--resume {args.resume}: goes on as it was asked for",
            hint="leave all other options but --jobs out",
        )
    return folder.resumed(args.resume)


def options_of(args: argparse.Namespace) -> RehearseOptions:
    """The parsed arguments as values."""
    return RehearseOptions(
        kernels=tuple(args.kernel) or _DEFAULTS.kernels,
        fetch=args.fetch_kernel,
        profiles=tuple(args.profile) or _DEFAULTS.profiles,
        tuned=tuple(args.tuned_profile),
        ablate=args.ablate,
        control=args.control,
        plan=common.options_of(args),
        as_host=args.as_host,
        cpus=args.cpus,
        memory=args.memory,
        duration=args.duration,
        warmup=args.warmup,
        boots=args.boots,
    )
