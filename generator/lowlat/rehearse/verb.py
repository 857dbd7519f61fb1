# SPDX-License-Identifier: GPL-2.0-or-later
"""The verb ``rehearse``."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from lowlat.rehearse import outcome
from lowlat.rehearse.options import RehearseOptions
from lowlat.rehearse.rehearsal import rehearse
from lowlat.report import text
from lowlat.terminal import say
from lowlat.verbs import common

_DEFAULTS = RehearseOptions()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``lowlat-gen rehearse``; those of ``plan`` decide what the guest plans."""
    common.add_plan_options(parser, as_host="boot this machine's own line")
    add = parser.add_argument
    add(
        "--kernel",
        default="",
        metavar="RELEASE|PATH",
        help="what to boot: an image, or a release or its beginning, such as 6.12 or 6.1-rt",
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
        help="the guest's CPUs (default: as here, 4 at least)",
    )
    add("--memory", default=_DEFAULTS.memory, metavar="SIZE", help="the guest's (%(default)s)")
    add("--duration", default=_DEFAULTS.duration, metavar="TIME", help="of a run (%(default)s)")
    add("--warmup", default=_DEFAULTS.warmup, metavar="TIME", help="before a run (%(default)s)")
    add(
        "--boots",
        type=common.positive,
        default=_DEFAULTS.boots,
        metavar="N",
        help="boots of each kind, in turn (%(default)s)",
    )
    add("--out", type=Path, metavar="DIR", help="where results go (default: the state folder)")


def main(args: argparse.Namespace) -> int:
    """Rehearse, print what it showed and the report; 1 where something is not as planned."""
    # An end asked for politely ends QEMU too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    done = rehearse(options_of(args))
    path = outcome.write(done)
    say()
    say("\n".join(outcome.describe(done)))
    say()
    report = outcome.compared(done)
    say(text.render(report).rstrip())
    say()
    say(str(path))
    return 1 if any(outcome.findings(done)) or report.verdict == "refused" else 0


def options_of(args: argparse.Namespace) -> RehearseOptions:
    """The parsed arguments as values."""
    return RehearseOptions(
        kernel=args.kernel,
        fetch=args.fetch_kernel,
        profile=args.profile,
        plan=common.options_of(args),
        as_host=args.as_host,
        cpus=args.cpus,
        memory=args.memory,
        duration=args.duration,
        warmup=args.warmup,
        boots=args.boots,
        out=args.out,
    )
