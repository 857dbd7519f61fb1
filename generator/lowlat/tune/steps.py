# SPDX-License-Identifier: GPL-2.0-or-later
"""The work in a due boot: one run of the harness, and verify in a tuned boot; at the end, the
report on all boots."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Optional

from lowlat.base.errors import Refused, Unmet
from lowlat.boot.disk import Disk, FileSnapshot
from lowlat.claim.build import Report
from lowlat.claim.campaign_check import set_ups_registered
from lowlat.claim.comparison import Comparison
from lowlat.figures import in_effect
from lowlat.figures.measured_arm import Arm
from lowlat.host.root import Root
from lowlat.measure import runner
from lowlat.measure.options import MeasureOptions
from lowlat.measure.run_file import read_run
from lowlat.model.campaign import Place
from lowlat.model.plan import Plan
from lowlat.model.policy import word
from lowlat.model.run import Run
from lowlat.plan import store
from lowlat.present import article, as_json, as_markdown
from lowlat.probe import host_facts
from lowlat.runtime import partition
from lowlat.tune.state import RUNS, STOCK, LoopState, MeasuredBoot
from lowlat.verify import counters
from lowlat.verify.findings import to_json, verify

#: How long verify counts interrupts, in seconds.
COUNT_S = 10.0

#: In seconds: changing the default entry runs GRUB's generator; the rest of verify is short.
_SPARE_S = 900.0


def limit(state: LoopState) -> float:
    """Seconds after which the work in one boot must have hung."""
    runs = [one.seconds() for one in options(state).set_ups()]
    return 3 * sum(runs) + COUNT_S + _SPARE_S


def options(state: LoopState) -> MeasureOptions:
    """The options of measure, the same in every boot, so that runs are comparable."""
    return MeasureOptions(
        label=STOCK,
        cpus=str(state.measured),
        load_cpus=state.load_cpus,
        duration=state.duration,
        warmup=state.warmup,
        wakeup=state.wakeup,
        **vars(state.measure),
    )


def measure(root: Root, state: LoopState, arm: str, boot_id: str) -> MeasuredBoot:
    """Measure this boot. Raises Refused or LowlatError if there is no run, Unmet if the run is kept
    but does not count."""
    name = f"{state.number:02d}-{arm}"
    check_folder(root)
    host = {**host_facts(root), **store.facts(root)}
    out = Path(root.host(state.path(f"{name}.json")))
    place = Place(state.campaign, state.number)
    _, group = partition.joined(str(state.isolated), root)
    wanted = replace(options(state), label=arm, out=out, host=host, campaign=place, group=group)
    path, *further = [_run(one) for one in wanted.set_ups()]
    boot = MeasuredBoot(arm, boot_id, path, further=tuple(further))
    if arm == STOCK:
        return boot
    # Verify comes last: it also finds what was undone meanwhile, and TuneD has had time to start.
    findings = state.path(f"{name}.verify.json")
    return replace(boot, verify=findings, bad=_verify(root, state, findings))


def _run(one: MeasureOptions) -> str:
    """Measure once; returns the path of the run."""
    measured = runner.measure(one)
    path = f"{RUNS}/{measured.path.name}"
    if measured.status:
        why = "; ".join(measured.problems) or "it was ended early"
        raise Unmet(f"{path}: the run is partial or invalid: {why}")
    return path


def _verify(root: Root, state: LoopState, path: str) -> tuple[str, ...]:
    plan = _plan(root, state)
    if plan is None and state.within:
        raise Unmet("the system was rolled back during the run")
    if plan is None or plan.id != state.plan:
        raise Refused(f"{store.PLAN} is not the plan of this boot", hint="apply again")
    rows = verify(plan, root, counters.read(root, state.isolated, COUNT_S))
    keep(root, path, json.dumps(to_json(rows), indent=2) + "\n")
    return tuple(row.name for row in rows if row.state.bad)


def _plan(root: Root, state: LoopState) -> Optional[Plan]:
    """The plan that is in effect."""
    if not state.within:
        return store.applied(root)
    found = store.now(root)
    return found.plan if found else None


def compare(root: Root, state: LoopState) -> tuple[Report, str]:
    """The report on all boots so far, under the first policy, and its path. Beside it are written
    its Markdown form, and with several policies a report for each further one and the table of the
    article on osnoise; and a page of all."""
    tuned = state.arms[1]
    before, after = (_runs(root, state.arm(arm)) for arm in state.arms)
    paths = (boot.verify for boot in state.arm(tuned) if boot.verify)
    boots = [in_effect.read_verify(Path(root.host(path))) for path in paths]
    arms = Arm(STOCK, before), Arm(tuned, after, in_effect.of_boots(boots))
    comparisons = dict(set_ups_registered(*arms))
    if len(comparisons) > 1 and not any(run.emulated for arm in arms for run in arm.runs):
        keep(root, state.path("article.md"), article.ticket(arms))
    keep(root, state.path("report.html"), _page(comparisons, store.applied(root)))
    first, *further = (one for one in comparisons.values() if not one.several)
    for one in further:
        _keep_report(root, state, one, f"report-{word(one.arms[0].runs[0].policy)}")
    return first.reports[0], _keep_report(root, state, first, "report")


def _page(comparisons: Mapping[str, Comparison], plan: Optional[Plan]) -> str:
    # Imported late: only the end needs templates and drawings.
    from lowlat.present.drawn_arm import Group
    from lowlat.present.html import render_groups

    each = [
        Group(title or " and ".join(arm.name for arm in one.arms), one, plan)
        for title, one in comparisons.items()
    ]
    return render_groups("Tuning", each)


def _keep_report(root: Root, state: LoopState, compared: Comparison, name: str) -> str:
    path = state.path(f"{name}.json")
    keep(root, path, as_json.render(compared))
    keep(root, state.path(f"{name}.md"), as_markdown.render(compared))
    return path


def _runs(root: Root, legs: Sequence[MeasuredBoot]) -> tuple[Run, ...]:
    paths = (path for boot in legs for path in (boot.run, *boot.further))
    return tuple(read_run(Path(root.host(path))) for path in paths)


def keep(root: Root, path: str, text: str) -> None:
    """Store one of the loop's files, whole or not at all."""
    Disk(root).make_folders(path)
    Disk(root).put(path, FileSnapshot(text.encode()))


def check_folder(root: Root) -> None:
    """Raises Refused if the runs cannot be stored or, for root, if others can write the folder."""
    root.check_owned(RUNS)
    if not root.absent(RUNS):
        with Disk(root).folder(RUNS):
            return
