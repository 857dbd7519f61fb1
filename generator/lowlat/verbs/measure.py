# SPDX-License-Identifier: GPL-2.0-or-later
"""``measure``: one labelled run of lowlat-measure, stored with the facts of its host."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Optional

from lowlat.base.arguments import flag, option, program
from lowlat.base.errors import Refused, Unmet
from lowlat.base.terminal import filled, say
from lowlat.base.typed_json import decode_fields
from lowlat.catalogue.remedies import Remedies
from lowlat.measure.options import MeasureOptions, wakeups
from lowlat.measure.runner import (
    SIGNALLED,
    Measured,
    check,
    check_programs,
    ending,
    measure,
)
from lowlat.model.cpuset import CpuSet, CpuSetError
from lowlat.model.run import HostFacts
from lowlat.verbs.options import show


@dataclass(frozen=True)
class MeasureArguments:
    wanted: MeasureOptions = MeasureOptions()
    follow: Optional[Path] = option(
        "FILE",
        "measure the next boot of this campaign, which names the run and keeps it beside the file",
        named="--campaign",
    )
    json: bool = flag("print the stable JSON form: where the runs were written")


def main(args: MeasureArguments, host: Optional[Mapping[str, object]] = None) -> int:
    """Measure each set-up. Prints the path of the result last, or lowlat.measured/1: {"schema",
    "changed": bool, "runs": [{"path", "complete": bool, "problems": [str]}]}; ``host`` are the
    host's facts, if known.

    Returns 0, or 130 or 143 if a signal ended a run early. Raises Unmet if a run is partial,
    invalid or could not be written (all other runs are still made), and the errors of measure().
    """
    complaints, runs = [], []
    host = _host() if host is None else host
    wanted = _placed(args)
    interval = wakeups(wanted.wakeup, host.get("judged_by"))
    command = program(wanted.command)
    wanted = _joined(replace(wanted, host=host, wakeup=interval, command=command))
    if wanted.load_cpus == "siblings":
        wanted = replace(wanted, load_cpus=_siblings(wanted.cpus or "", host))
    set_ups = tuple(wanted.set_ups())
    check_programs(wanted)
    if len(set_ups) > 1:  # a single one is refused before it measures
        check(wanted)
    for options in set_ups:
        try:
            measured = measure(options, quiet=args.json, remedies=_remedies)
        except Unmet as error:
            complaints.append(str(error))
            continue
        runs.append(measured)
        if not args.json:
            _tell(measured.path)
        if measured.status in SIGNALLED:
            break
        if measured.status:
            why = "; ".join(measured.problems) or ending(measured.status)
            complaints.append(f"{measured.path.name}: the run is partial or invalid: {why}")
    if runs:
        show(args.json, lambda: _to_json(runs), ())
    if runs and runs[-1].status in SIGNALLED:
        return runs[-1].status
    if complaints:
        raise Unmet("; ".join(complaints))
    return 0


def _placed(args: MeasureArguments) -> MeasureOptions:
    """The options, as the next boot of the campaign has them if there is one. Raises Refused if
    nothing names the run, or this is not that boot."""
    if args.follow is None:
        if args.wanted.label is None:
            raise Refused("the following arguments are required: --label")
        return args.wanted
    # Imported late: most runs are of no campaign.
    from lowlat.host.root import Root
    from lowlat.verbs.measure_campaign import placed

    options, words = placed(args.follow, args.wanted, Root())
    if not args.json:
        say("\n".join(filled(words)))
    return options


def _joined(wanted: MeasureOptions) -> MeasureOptions:
    """The options, with the control group that owns the CPUs if one does."""
    # Imported late: `--help` and refused input do not need it.
    from lowlat.host.root import Root
    from lowlat.runtime import partition

    cpus, group = partition.joined(wanted.cpus, Root())
    return replace(wanted, cpus=cpus, group=group)


def _siblings(cpus: str, host: Mapping[str, object]) -> str:
    """The SMT siblings of these CPUs that are not among them, as a list. Raises Refused if there
    are none."""
    try:
        measured = CpuSet.parse_list(cpus)
    except CpuSetError as error:
        raise Refused(f"--cpus {cpus[:60]}: {error}") from error
    layout = decode_fields(HostFacts, host, measured=True).layout
    siblings = {cpu for core in layout if core.cpus & measured for cpu in core.cpus - measured}
    if not siblings:
        hint = "name CPUs whose siblings are not measured" if cpus else "name them with --cpus"
        raise Refused(
            "--load-cpus siblings: the measured CPUs have no other SMT siblings", hint=hint
        )
    return str(CpuSet.of(siblings))


def _to_json(runs: Sequence[Measured]) -> dict[str, object]:
    told = [(str(run.path), not run.status, run.problems) for run in runs]
    rows = [dict(zip(("path", "complete", "problems"), row)) for row in told]
    return {"schema": "lowlat.measured/1", "changed": bool(runs), "runs": rows}


def _tell(path: Path) -> None:
    """Print what a run found, who shows the rest, and its path."""
    try:
        # Imported late: `--help` and refused input do not need it.
        from lowlat.claim.comparison import compare
        from lowlat.figures.measured_arm import Arm
        from lowlat.measure.run_file import read_run
        from lowlat.present import summary

        with suppress(Refused):
            run = read_run(path)
            found = compare(Arm(run.label, (run,)))
            notes = len([*summary.notes(found)])
            beside = f" and {notes} note{'s' if notes > 1 else ''}" if notes else ""
            for line in filled(summary.headline(found)):
                say(line)
            say(f"'lowlat-gen report' shows the tables{beside} of:")
    finally:
        say(str(path))


def _remedies() -> Remedies:
    from lowlat.host.root import Root
    from lowlat.verbs import host_remedies  # as below: only a run that names causes needs it

    return host_remedies.read(Root())


def _host() -> Mapping[str, object]:
    # Imported late: `--help` and refused input need no probe.
    from lowlat.host.root import Root
    from lowlat.plan import store
    from lowlat.probe import host_facts

    return {**host_facts(Root()), **store.facts(Root())}
