# SPDX-License-Identifier: GPL-2.0-or-later
"""What is done in a boot that is due: one run of the harness, in a tuned boot also verify; and at
the end the report on all of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from lowlat import counters, harness, harness_host, planfile
from lowlat.boot.disk import Disk, Held
from lowlat.cpuset import CpuSet
from lowlat.errors import Refused, Unmet
from lowlat.harness import MeasureOptions
from lowlat.probe import probe
from lowlat.report import document, evidence, markdown
from lowlat.report.build import Report, build
from lowlat.root import Root
from lowlat.run import Run, read_run
from lowlat.tune.state import RUNS, STOCK, TUNED, Leg, State
from lowlat.verify import to_json, verify

#: How long verify counts interrupts.
_COUNT_S = 10.0

#: Changing the boot's default runs GRUB's generator; the rest of verify takes seconds.
_SPARE_S = 900.0


def limit(state: State) -> float:
    """Seconds after which what is done in one boot has hung. Raises Refused where one of the times
    is none."""
    return 3 * _options(state).seconds() + _COUNT_S + _SPARE_S


def _options(state: State) -> MeasureOptions:
    """The same in every boot, so that the runs compare."""
    return MeasureOptions(
        label=STOCK, cpus=state.isolated, duration=state.duration, warmup=state.warmup
    )


def measure(root: Root, state: State, arm: str, boot_id: str) -> Leg:
    """Measure this boot. Raises Refused or LowlatError where nothing came of it, Unmet where the
    run is kept but counts for nothing."""
    name = f"{len(state.legs) + 1:02d}-{arm}"
    path = state.path(f"{name}.json")
    _make_folder(root)
    facts = harness_host.facts(probe(root))
    out = Path(root.host(path))
    measured = harness.measure(replace(_options(state), label=arm, out=out, host=facts))
    if measured.status:
        why = "; ".join(measured.problems) or "it was ended early"
        raise Unmet(f"{path}: the run is partial or invalid: {why}")
    if arm == STOCK:
        return Leg(arm, boot_id, path)
    # Verified after it: what was undone meanwhile is found, and TuneD has had its time.
    found = state.path(f"{name}.verify.json")
    return Leg(arm, boot_id, path, found, _verify(root, state, found))


def _verify(root: Root, state: State, path: str) -> tuple[str, ...]:
    plan = planfile.applied(root)
    if plan is None or plan.id != state.plan:
        raise Refused(f"{planfile.PLAN} is not the plan of this boot", hint="apply again")
    cpus = CpuSet.parse_list(state.isolated)
    rows = verify(plan, root, counters.read(root, cpus, _COUNT_S))
    _keep(root, path, json.dumps(to_json(rows), indent=2) + "\n")
    return tuple(row.name for row in rows if row.state.bad)


def compare(root: Root, state: State) -> tuple[Report, str]:
    """The report on all boots so far, and its path; it is kept for programs and for people."""
    before, after = (_runs(root, state.arm(arm)) for arm in (STOCK, TUNED))
    report = build(before, after, _verified(root, state))
    path = state.path("report.json")
    _keep(root, path, document.render(report))
    _keep(root, state.path("report.md"), markdown.render(report))
    return report, path


def _runs(root: Root, legs: Sequence[Leg]) -> list[Run]:
    return [read_run(Path(root.host(leg.run))) for leg in legs]


def _verified(root: Root, state: State) -> tuple[evidence.Setting, ...]:
    """What verify found in all tuned boots; what is the same in several is one row."""
    paths = [leg.verify for leg in state.arm(TUNED) if leg.verify]
    rows = (evidence.read_verify(Path(root.host(path))) for path in paths)
    return tuple(dict.fromkeys(row for found in rows for row in found))


def _keep(root: Root, path: str, text: str) -> None:
    Disk(root).put(path, Held(text.encode()))


def check_folder(root: Root) -> None:
    """Raises Refused where the runs cannot be kept: a link is in the place of their folder."""
    if not root.absent(RUNS):
        with Disk(root).folder(RUNS):
            return


def _make_folder(root: Root) -> None:
    disk = Disk(root)
    for folder in disk.missing_folders(f"{RUNS}/run"):
        disk.make_folder(folder)
    check_folder(root)
