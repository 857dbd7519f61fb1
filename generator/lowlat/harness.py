# SPDX-License-Identifier: GPL-2.0-or-later
"""The verb ``measure``: one run of lowlat-measure, labelled and kept with the host's facts."""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

from lowlat.base.errors import LowlatError, Refused, Unmet
from lowlat.base.files import Output
from lowlat.base.process import Finished, find, last_line
from lowlat.base.terminal import Progress, say
from lowlat.harness_folder import private_folder
from lowlat.harness_output import default_path
from lowlat.measure.child import execute, find_harness
from lowlat.measure.expected_time import (
    THROUGHPUT_RUNS,
    opinions_seconds,
    throughput_seconds,
    work_seconds,
)

_LABEL = re.compile(r"[A-Za-z0-9._-]{1,64}")
_TIME = re.compile(r"(\d{1,9})(ns|us|ms|s|m|h)", re.ASCII)
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}

#: Starting the loads, ending them and writing the result.
_SLACK_S = 120.0

#: The options that have lowlat-measure's own names.
_PASSED_ON = (
    *("label", "cpus", "duration", "warmup", "threshold", "policy"),
    *("load", "load_cpus", "seed", "events"),
    *("second_opinion", "work", "throughput"),
)

_SIGNALLED = {128 + signal.SIGINT: "interrupted", 128 + signal.SIGTERM: "terminated"}


@dataclass(frozen=True)
class MeasureOptions:
    """What to measure. Texts are handed to lowlat-measure as they are; None is its default."""

    label: str
    out: Optional[Path] = None
    cpus: Optional[str] = None
    duration: str = "10s"
    warmup: str = "5s"
    threshold: Optional[str] = None
    policy: Optional[str] = None
    load: Optional[str] = None
    load_cpus: Optional[str] = None
    oslat: Optional[bool] = None
    seed: Optional[str] = None
    events: Optional[str] = None
    causes: Optional[bool] = None
    second_opinion: Optional[str] = None
    work: Optional[str] = None
    work_alone: bool = False
    throughput: Optional[str] = None
    host: Mapping[str, object] = field(default_factory=dict)

    def argv(self, harness: str, capture: Optional[Path] = None) -> list[str]:
        """The harness's argument vector; the result goes to its standard output, what interrupted
        the run into the folder ``capture``."""
        given = [(name, getattr(self, name)) for name in _PASSED_ON]
        options = [f"--{n.replace('_', '-')}={value}" for n, value in given if value is not None]
        if self.oslat is not None:
            options.append("--oslat" if self.oslat else "--no-oslat")
        if self.work_alone:
            options.append("--work-alone")
        if capture is not None:
            options.append(f"--capture={capture}")
            # The trace lengthens the gaps it explains, so it has to be asked for.
            options.append(f"--observer={'auto' if self.causes else 'switches'}")
            if self.events is None:
                options.append(f"--events={_gaps(capture)}")
        return [harness, *options, "--json=-"]

    def seconds(self) -> float:
        """About how long a run takes: warm-up, measurement, and what follows it.

        Raises Refused where a time has no unit.
        """
        oslat = self.oslat if self.oslat is not None else find("oslat") is not None
        measured = seconds("--duration", self.duration)
        return (
            seconds("--warmup", self.warmup)
            + measured
            + opinions_seconds(self.second_opinion, oslat, measured)
            + work_seconds(self.work, self.work_alone, measured)
            + throughput_seconds(self.throughput)
        )


@dataclass(frozen=True)
class Measured:
    """Where the run was written, the harness's exit status, and what it complained of."""

    path: Path
    status: int
    problems: tuple[str, ...]


def seconds(option: str, text: str) -> float:
    """A time with its unit ("100ns", "10s", "5m") in seconds; raises Refused on anything else."""
    found = _TIME.fullmatch(text)
    if not found:
        raise Refused(f"{option} {text!r}: not a time with its unit", hint="such as 10s or 5m")
    return int(found[1]) * _SECONDS[found[2]]


def measure(options: MeasureOptions) -> Measured:
    """Run the harness and keep its result, also a partial one.

    Raises Refused where nothing was measured because of the input, LowlatError where the harness
    failed; then no file is left behind.
    """
    if not _LABEL.fullmatch(options.label):
        raise Refused(
            f"--label {options.label[:64]!r}: not a name",
            hint="1 to 64 letters, digits, dots, underscores, dashes",
        )
    expected = options.seconds()
    harness = find_harness()
    path = (options.out or default_path(options.label)).absolute()
    if options.events is not None and os.path.realpath(options.events) == os.path.realpath(path):
        raise Refused(f"--events {options.events}: the same file as --out", hint="name another")
    with Output("--out", str(path)) as output:
        progress = Progress(f"measuring {options.label}", expected)
        with nullcontext() if options.causes is False else private_folder() as folder:
            argv = options.argv(harness, folder)
            finished = execute(argv, progress.tick, limit=3 * expected + _SLACK_S)
            progress.done()
            document = _document(finished)
            if folder is not None:
                gaps = _gaps(folder) if options.events is None else Path(options.events)
                _explain(document, folder, gaps)
        document["host"] = dict(options.host)
        output.commit(f"{json.dumps(document, indent=2)}\n".encode())
    return Measured(path, finished.status, _problems(document))


def _gaps(folder: Path) -> Path:
    return folder / "gaps.csv"


def _explain(document: dict[str, object], folder: Path, gaps: Path) -> None:
    # Imported late: `--no-causes` needs none of it.
    from lowlat.measure.causes.attribution import attach

    try:
        attach(document, folder, gaps)
    except LowlatError as error:
        # The figures stand without their causes.
        document["attribution"] = {"observer": "none", "notes": [str(error)]}


def _document(finished: Finished) -> dict[str, object]:
    if finished.timed_out:
        raise LowlatError("lowlat-measure did not end in time and was ended")
    words = last_line(finished.stderr).removeprefix("lowlat-measure: ")
    if finished.status == 2:
        raise Refused(words or "lowlat-measure refused to run")
    try:
        document = json.loads(finished.stdout)
    except ValueError as error:
        ending = _ending(finished.status)
        raise LowlatError(f"lowlat-measure {ending} without a result: {words or error}") from error
    if not isinstance(document, dict):
        raise LowlatError("lowlat-measure wrote something that is not a run")
    return document


def _ending(status: int) -> str:
    if status < 0:
        return f"was killed by {signal.Signals(-status).name}"
    return f"was {_SIGNALLED[status]}" if status in _SIGNALLED else f"ended with status {status}"


def _problems(document: Mapping[str, object]) -> tuple[str, ...]:
    problems = document.get("problems")
    return tuple(map(str, problems)) if isinstance(problems, list) else ()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``lowlat-gen measure``; most are lowlat-measure's own."""
    add = parser.add_argument
    add("--label", required=True, metavar="NAME", help="names the run, such as 'stock'")
    add("--out", type=Path, metavar="FILE", help="where to write (default: the state folder)")
    add("--cpus", metavar="LIST", help="CPUs to measure (default: the isolated ones)")
    add("--duration", default="10s", metavar="TIME", help="how long to measure (%(default)s)")
    add("--warmup", default="5s", metavar="TIME", help="how long to wait before (%(default)s)")
    add("--threshold", metavar="TIME", help="the shortest gap that counts (100ns)")
    add(
        "--policy",
        metavar="POLICY[,...]",
        help="other, fifo:N or deadline:RUNTIME/PERIOD for the detectors (other); of several, such "
        "as other,fifo:1, each gets a run of its own, its word in the label",
    )
    add("--load", metavar="SCENARIO", help="what stress-ng does meanwhile")
    add("--load-cpus", metavar="LIST|all", help="where it does that (default: the other CPUs)")
    add("--oslat", action=argparse.BooleanOptionalAction, help="a second opinion by oslat")
    add("--second-opinion", metavar="TOOLS", help="oslat, cyclictest, osnoise, timerlat, or all")
    add("--work", metavar="KINDS", help="time kinds of work (usleep, memory, ...), or all")
    add("--work-alone", action="store_true", help="on one CPU after another, not all at once")
    runs = "then runs of stress-ng's matrix, without load (%(const)s)"
    add("--throughput", nargs="?", const=THROUGHPUT_RUNS, metavar="N", help=runs)
    add("--seed", metavar="N", help="seed of the loads")
    add(
        "--causes",
        action=argparse.BooleanOptionalAction,
        help="join the gaps with the kernel's trace, which lengthens them somewhat (default: with "
        "the detectors' own context switches)",
    )
    add("--events", metavar="FILE", help="write every gap as cpu,begin,end")


def main(args: argparse.Namespace) -> int:
    """Measure each set-up and print the path of its result last; ``args.host`` may hold the host's
    facts.

    Returns 0, or 130 and 143 where a signal ended a run early. Raises Unmet where a run is partial
    or invalid (it is kept, and the others are made), and what measure() raises.
    """
    # Imported late: it has the options of this module.
    from lowlat.measure.policies import set_ups

    complaints = []
    for options in set_ups(_options(args)):
        measured = measure(options)
        say(str(measured.path))
        if measured.status in _SIGNALLED:
            return measured.status
        if measured.status:
            why = "; ".join(measured.problems) or _ending(measured.status)
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
    from lowlat.harness_host import facts
    from lowlat.host.root import Root
    from lowlat.probe import probe

    return facts(probe(Root()))


_OPTION_NAMES = frozenset(MeasureOptions.__dataclass_fields__)
