# SPDX-License-Identifier: GPL-2.0-or-later
"""``measure``: one run of lowlat-measure, labelled and kept with the facts of its host."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from lowlat.base.errors import Unmet
from lowlat.base.terminal import say
from lowlat.measure.expected_time import THROUGHPUT_RUNS
from lowlat.measure.options import MeasureOptions
from lowlat.measure.policies import set_ups
from lowlat.measure.runner import SIGNALLED, ending, measure


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``lowlat-gen measure``; most are lowlat-measure's own."""
    add = parser.add_argument
    add("--label", required=True, metavar="NAME", help="names the run, such as 'stock'")
    add("--out", type=Path, metavar="FILE", help="where to write (default: the state folder)")
    add("--cpus", metavar="LIST", help="CPUs to measure (default: the isolated ones)")
    add("--duration", default="10s", metavar="TIME", help="how long to measure (%(default)s)")
    add("--warmup", default="5s", metavar="TIME", help="how long to wait before (%(default)s)")
    add("--threshold", metavar="TIME", help="the shortest gap that counts (100ns)")
    what = (
        "other, fifo:N or deadline:RUNTIME/PERIOD for the detectors (other); of several, such as "
        "other,fifo:1, each gets a run of its own, its word in the label"
    )
    add("--policy", metavar="POLICY[,...]", help=what)
    add("--load", metavar="SCENARIO", help="what stress-ng does meanwhile")
    add("--load-cpus", metavar="LIST|all", help="where it does that (default: the other CPUs)")
    add("--oslat", action=argparse.BooleanOptionalAction, help="a second opinion by oslat")
    add("--second-opinion", metavar="TOOLS", help="oslat, cyclictest, osnoise, timerlat, or all")
    add("--work", metavar="KINDS", help="time kinds of work (usleep, memory, ...), or all")
    add("--work-alone", action="store_true", help="on one CPU after another, not all at once")
    runs = "then runs of stress-ng's matrix, without load (%(const)s)"
    add("--throughput", nargs="?", const=THROUGHPUT_RUNS, metavar="N", help=runs)
    add("--seed", metavar="N", help="seed of the loads")
    what = (
        "join the gaps with the kernel's trace, which lengthens them somewhat (default: with the "
        "detectors' own context switches)"
    )
    add("--causes", action=argparse.BooleanOptionalAction, help=what)
    add("--events", metavar="FILE", help="write every gap as cpu,begin,end")


def main(args: argparse.Namespace) -> int:
    """Measure each set-up and print the path of its result last; ``args.host`` may hold the host's
    facts.

    Returns 0, or 130 and 143 where a signal ended a run early. Raises Unmet where a run is partial
    or invalid or could not be written (the others are made), and what else measure() raises.
    """
    complaints = []
    for options in set_ups(_options(args)):
        try:
            measured = measure(options)
        except Unmet as error:
            complaints.append(str(error))
            continue
        say(str(measured.path))
        if measured.status in SIGNALLED:
            return measured.status
        if measured.status:
            why = "; ".join(measured.problems) or ending(measured.status)
            complaints.append(f"{measured.path.name}: the run is partial or invalid: {why}")
    if complaints:
        raise Unmet("; ".join(complaints))
    return 0


def _options(args: argparse.Namespace) -> MeasureOptions:
    given = {name: value for name, value in vars(args).items() if name in _OPTION_NAMES}
    host = given.pop("host", None)
    return MeasureOptions(**given, host=_host() if host is None else host)


def _host() -> Mapping[str, object]:
    # Imported late: `--help` and refused input need no probe.
    from lowlat.host.root import Root
    from lowlat.measure.runner import facts
    from lowlat.probe import probe

    return facts(probe(Root()))


_OPTION_NAMES = frozenset(MeasureOptions.__dataclass_fields__)
