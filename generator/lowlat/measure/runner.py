# SPDX-License-Identifier: GPL-2.0-or-later
"""One run of lowlat-measure, labelled and stored with the facts of its host."""

import json
import os
import re
import signal
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from time import monotonic
from typing import Callable, Optional

from lowlat.base import files, process, trust
from lowlat.base.errors import LowlatError, Refused, Unmet
from lowlat.base.process import Finished, find, last_line
from lowlat.base.terminal import Progress, say
from lowlat.base.typed_json import encode
from lowlat.catalogue.remedies import Remedies
from lowlat.host.cpu_idle import busy_shares, idle_ticks
from lowlat.host.root import Root
from lowlat.measure.child import execute, find_harness, private_folder
from lowlat.measure.on_gap import OnGap
from lowlat.measure.options import MeasureOptions, gaps_file
from lowlat.measure.tools import results
from lowlat.measure.tools.known import KNOWN
from lowlat.model.cpuset import CpuSet

_LABEL = re.compile(r"[A-Za-z0-9._-]{1,64}")

#: Seconds to start the loads, end them and write the result.
_SLACK_S = 120.0

#: Seconds to check its options.
_ASK_S = 20.0

#: Exit statuses of a run that a signal ended early; its partial result is kept.
SIGNALLED = {128 + signal.SIGINT: "interrupted", 128 + signal.SIGTERM: "terminated"}


@dataclass(frozen=True)
class Measured:
    """The path of the run's file, the harness's exit status, and its reported problems."""

    path: Path
    status: int
    problems: tuple[str, ...]


def check(options: MeasureOptions, *, here: bool = True) -> None:
    """Have the harness check each set-up without measuring: whether this machine can make the run,
    or, if it is not made ``here``, the form of the options alone. Raises Refused if one is wrong,
    or if stress-ng or a cross-check that was named is not installed."""
    for one in options.set_ups():
        one.seconds()
        _ask([*one.argv(find_harness()), "--check" if here else "--help"])
    check_programs(options, here=here)


def _ask(argv: Sequence[str]) -> str:
    """What the harness answers. Raises Refused if it refuses."""
    asked = process.run(argv, timeout=_ASK_S)
    if asked.status == 2:
        raise Refused(_words(asked))
    return asked.stdout


def check_programs(options: MeasureOptions, *, here: bool = True) -> None:
    """Raises NotInstalled if stress-ng is needed, or a cross-check was named, and is not installed
    (``here``); Refused if there is a gap to react to without a program, or the reverse."""
    if bool(options.on_gap) != bool(options.command):
        why = "no program given" if options.on_gap else f"'{options.command[0][:60]}': no gap given"
        raise Refused(f"--on-gap: {why}", hint="lowlat-gen measure ... --on-gap 50us -- CMD")
    if options.command and find(options.command[0]) is None:
        raise Refused(f"--on-gap: there is no program {options.command[0]!r}", hint="name its path")
    if (options.throughput or options.load not in (None, "idle")) and not find("stress-ng"):
        raise process.NotInstalled("stress-ng")
    named = {*(options.second_opinion or "").split(","), *(["oslat"] if options.oslat else [])}
    for tool in KNOWN.second_opinions if here else ():
        if tool.name in named and not find(tool.program):
            raise process.NotInstalled(tool.program)


def measure(
    options: MeasureOptions,
    *,
    quiet: bool = False,
    harness: Optional[str] = None,
    remedies: Callable[[], Remedies] = Remedies,
) -> Measured:
    """Run the harness and keep its result, also a partial one; ``quiet`` prints no progress. The
    ``harness`` is that of find_harness(); ``remedies`` tells the remedies of this host.

    Raises Refused if nothing was measured because of the input, LowlatError if the harness failed;
    no file is left behind then. Raises Unmet if the file cannot be written; the result is on
    standard output then.
    """
    if not _LABEL.fullmatch(options.label):
        hint = "1 to 64 letters, digits, dots, underscores, dashes"
        raise Refused(f"--label {options.label[:64]!r}: not a name", hint=hint)
    expected = options.seconds()
    harness = harness or find_harness()
    path = (options.out or default_path(options.label)).absolute()
    if options.events is not None and os.path.realpath(options.events) == os.path.realpath(path):
        raise Refused(f"--events {options.events}: the same file as --out", hint="name another")
    files.check("--out", str(path))
    if options.events is not None:
        files.check("--events", options.events)
    progress = Progress(f"measuring {options.label}", expected)
    ended = 0
    on_gap = _on_gap(options, harness) if options.on_gap else None
    with nullcontext() if options.causes is False else private_folder() as folder:
        argv = options.argv(harness, folder)

        def answer() -> None:
            progress.done()
            say(f"ending the run: what was measured so far will be in {path}")

        tick, told = (_nothing, _nothing) if quiet else (progress.tick, answer)
        # Each call wakes a CPU.
        every = 1.0 if quiet and not on_gap else 0.1
        idle, began = idle_ticks(Root()), monotonic()
        with on_gap or nullcontext():
            hear = on_gap.hear if on_gap else None
            limit = 3 * expected + _SLACK_S
            finished = execute(argv, tick, told, limit=limit, every=every, hear=hear)
        progress.done()
        ticks = os.sysconf("SC_CLK_TCK") * (monotonic() - began)
        busy = busy_shares(idle, idle_ticks(Root()), ticks)
        document = _document(finished)
        document["host"] = {**_own(document), **options.host, "busy": busy}
        if on_gap:
            document["on_gap"] = on_gap.to_json()
        if options.campaign:
            document["campaign"] = encode(options.campaign)
        if folder is not None:
            gaps = gaps_file(folder) if options.events is None else Path(options.events)
            ended = _explain(document, folder, gaps, remedies)
    results.add(document)
    _keep(str(path), json.dumps(document, indent=2))
    return Measured(path, ended or finished.status, _problems(document))


def _on_gap(options: MeasureOptions, harness: str) -> OnGap:
    """The reaction to long gaps. Raises Refused if the run measures every CPU."""
    rows = (line.partition(": ") for line in _ask([*options.argv(harness), "--check"]).splitlines())
    told = {name: CpuSet.parse_list(cpus) for name, _, cpus in rows}
    if not told.get("rest"):
        hint = "measure fewer with --cpus"
        raise Refused("--on-gap: no CPU is left to run the program on", hint=hint)
    return OnGap(options.command, told["measured"])


def _keep(out: str, text: str) -> None:
    try:
        files.write("--out", out, f"{text}\n".encode())
    except Refused as error:
        # A result that took minutes to measure is not lost to a full disk.
        say(text)
        raise Unmet(f"{error.message}: the run is on standard output") from error


def _explain(
    document: dict[str, object], folder: Path, gaps: Path, remedies: Callable[[], Remedies]
) -> int:
    """Join the gaps with their causes; returns the exit status of an interrupt, else 0."""
    try:
        # Imported late: `--no-causes` needs none of it.
        from lowlat.measure.causes.attribution import attach

        attach(document, folder, gaps, remedies())
    except KeyboardInterrupt:
        notes = ["interrupted before all gaps were joined with their causes"]
        document["attribution"] = {"observer": "none", "notes": notes}
        return 128 + signal.SIGINT
    except (LowlatError, OSError, ValueError) as error:
        # The figures are valid without their causes.
        document["attribution"] = {"observer": "none", "notes": [str(error)]}
    return 0


def _nothing() -> None:
    pass


def _document(finished: Finished) -> dict[str, object]:
    if finished.timed_out:
        raise LowlatError("lowlat-measure did not end in time and was ended")
    words = _words(finished)
    if finished.status == 2:
        raise Refused(words or "lowlat-measure refused to run")
    try:
        document = json.loads(finished.stdout)
    except ValueError as error:
        how = ending(finished.status)
        raise LowlatError(f"lowlat-measure {how} without a result: {words or error}") from error
    if not isinstance(document, dict):
        raise LowlatError("lowlat-measure wrote something that is not a run")
    return document


def _own(document: Mapping[str, object]) -> Mapping[str, object]:
    """What the harness tells of its host."""
    own = document.get("host")
    return own if isinstance(own, dict) else {}


def _words(finished: Finished) -> str:
    return last_line(finished.stderr).removeprefix("lowlat-measure: ")


def ending(status: int) -> str:
    if status < 0:
        return f"was killed by {signal.Signals(-status).name}"
    return f"was {SIGNALLED[status]}" if status in SIGNALLED else f"ended with status {status}"


def _problems(document: Mapping[str, object]) -> tuple[str, ...]:
    problems = document.get("problems")
    return tuple(map(str, problems)) if isinstance(problems, list) else ()


def default_path(label: str) -> Path:
    """runs/LABEL-UTC.json in the state folder, which is made if missing. Raises Refused if it
    cannot be made or is a symbolic link, or, for root, if others can write it."""
    folder = files.make_folder(files.make_folder(files.state_folder(), "--out") / "runs", "--out")
    trust.check(str(folder))
    return folder / f"{label}-{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}.json"
