# SPDX-License-Identifier: GPL-2.0-or-later
"""``measure``: one run of lowlat-measure, labelled and kept with the facts of its host."""

from __future__ import annotations

from argparse import BooleanOptionalAction
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from lowlat.base.errors import Refused, Unmet
from lowlat.base.terminal import say
from lowlat.measure.options import THROUGHPUT_RUNS, MeasureOptions
from lowlat.measure.runner import SIGNALLED, Measured, ending, measure
from lowlat.verbs.arguments import flag, option, picked
from lowlat.verbs.options import show


@dataclass(frozen=True)
class MeasureArguments:
    """Most are lowlat-measure's own."""

    label: str = option("NAME", "names the run, such as 'stock'", required=True)
    out: Optional[Path] = option("FILE", "where to write (default: the state folder)")
    cpus: Optional[str] = option("LIST", "CPUs to measure (default: the isolated ones)")
    duration: str = option("TIME", "how long to measure (%(default)s)", "10s")
    warmup: str = option("TIME", "how long to wait before (%(default)s)", "5s")
    threshold: Optional[str] = option("TIME", "the shortest gap that counts (100ns)")
    stop_on: Optional[str] = option("TIME", "end the run at a gap of at least that")
    policy: Optional[str] = option(
        "POLICY[,...]",
        "other, fifo:N or deadline:RUNTIME/PERIOD for the detectors (other); of several, such as "
        "other,fifo:1, each gets a run of its own, its word in the label",
    )
    load: Optional[str] = option("SCENARIO", "what stress-ng does meanwhile")
    load_cpus: Optional[str] = option("LIST|all", "where it does that (default: the other CPUs)")
    oslat: Optional[bool] = option(None, "a second opinion by oslat", action=BooleanOptionalAction)
    second_opinion: Optional[str] = option("TOOLS", "oslat, cyclictest, osnoise, timerlat, or all")
    work: Optional[str] = option("KINDS", "time kinds of work (usleep, memory, ...), or all")
    work_alone: bool = flag("on one CPU after another, not all at once")
    throughput: Optional[str] = option(
        "N",
        "then runs of stress-ng's matrix, without load (%(const)s)",
        nargs="?",
        const=THROUGHPUT_RUNS,
    )
    seed: Optional[str] = option("N", "seed of the loads")
    causes: Optional[bool] = option(
        None,
        "join the gaps with the kernel's trace, which lengthens them somewhat (default: with the "
        "detectors' own context switches)",
        action=BooleanOptionalAction,
    )
    events: Optional[str] = option("FILE", "write every gap as cpu,begin,end")
    json: bool = flag("print the stable JSON form: where the runs were written")


def main(asked: MeasureArguments, host: Optional[Mapping[str, object]] = None) -> int:
    """Measure each set-up and print the path of its result last, or lowlat.measured/1: {"schema",
    "changed": bool, "runs": [{"path", "complete": bool, "problems": [str]}]}; ``host`` are the
    host's facts, where they are known.

    Returns 0, or 130 and 143 where a signal ended a run early. Raises Unmet where a run is partial
    or invalid or could not be written (the others are made), and what else measure() raises.
    """
    complaints, runs = [], []
    wanted = picked(MeasureOptions, asked, host=_host() if host is None else host)
    for options in wanted.set_ups():
        try:
            measured = measure(options, quiet=asked.json)
        except Unmet as error:
            complaints.append(str(error))
            continue
        runs.append(measured)
        if not asked.json:
            _tell(measured.path)
        if measured.status in SIGNALLED:
            break
        if measured.status:
            why = "; ".join(measured.problems) or ending(measured.status)
            complaints.append(f"{measured.path.name}: the run is partial or invalid: {why}")
    if runs:
        show(asked.json, lambda: _to_json(runs), ())
    if runs and runs[-1].status in SIGNALLED:
        return runs[-1].status
    if complaints:
        raise Unmet("; ".join(complaints))
    return 0


def _to_json(runs: Sequence[Measured]) -> dict[str, object]:
    told = [(str(run.path), not run.status, run.problems) for run in runs]
    rows = [dict(zip(("path", "complete", "problems"), row)) for row in told]
    return {"schema": "lowlat.measured/1", "changed": bool(runs), "runs": rows}


def _tell(path: Path) -> None:
    """The summary of a run, and its path last."""
    try:
        # Imported late: `--help` and refused input need none of it.
        from lowlat.measure.run_file import read_run
        from lowlat.report import as_text
        from lowlat.report.arm import Arm
        from lowlat.report.description import describe

        with suppress(Refused):
            run = read_run(path)
            say(as_text.described(describe(Arm(run.label, (run,)))))
    finally:
        say(str(path))


def _host() -> Mapping[str, object]:
    # Imported late: `--help` and refused input need no probe.
    from lowlat.host.root import Root
    from lowlat.plan import store
    from lowlat.probe import host_facts

    return {**host_facts(Root()), "sets": store.named_sets(Root())}
