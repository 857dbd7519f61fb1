# SPDX-License-Identifier: GPL-2.0-or-later
"""The results of a rehearsal, in words and in the file rehearsal.json beside its runs."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from lowlat.base.terminal import bold
from lowlat.base.typed_json import write_value
from lowlat.model import cmdline
from lowlat.model.cpuset import CpuSet
from lowlat.model.plan import Plan
from lowlat.rehearse import guest_tuned
from lowlat.rehearse.arm import settings
from lowlat.rehearse.boots import Booted
from lowlat.rehearse.rehearsal import KernelOutcome, Rehearsal

SCHEMA = "lowlat.rehearsal/1"


def findings(rehearsal: Rehearsal) -> Iterator[str]:
    """Deviations from the plan: basic checks in each boot, every setting in boots of a plan.
    TuneD's lesser complaints about its own profiles do not count."""
    yield from (f"{title}: {error}" for title, error in rehearsal.failed.items())
    for outcome in rehearsal.outcomes:
        for booted in outcome.booted:
            yield from (f"{booted.name}: {text}" for text in _wrong(booted, outcome.plan))


def _wrong(booted: Booted, plan: Plan) -> Iterator[str]:
    if booted.arm.tuned:
        lost = guest_tuned.not_applied(booted.arm.tuned)
        yield from (text for text in booted.facts.problems if text == lost)
        return
    yield from _basics(booted, plan.isolated)
    yield from bad_settings(booted)
    yield from booted.facts.problems


def _basics(booted: Booted, isolated: CpuSet) -> Iterator[str]:
    facts = booted.facts
    for name, held in (("isolcpus", facts.isolated), ("nohz_full", facts.nohz_full)):
        expected = isolated if cmdline.values(booted.line, name) else CpuSet()
        if held != expected:
            yield f"{name}: '{held}' in sysfs, '{expected}' expected"
    yield from (f"kernel message: {text}" for text in facts.complaints)


def bad_settings(booted: Booted) -> Iterator[str]:
    """The planned settings that verify found not in effect. What a plan leaves out, as a boot of
    --ablate does on purpose, shows its lack."""
    left_out = {item.name for item in booted.arm.plan.skipped} if booted.arm.plan else set[str]()
    for row in booted.verified:
        if row.state.bad and row.name not in left_out:
            yield f"{row.name}: {row.state.value} ({row.evidence})"


def describe(rehearsal: Rehearsal, wrong: Sequence[str]) -> Iterator[str]:
    """The guest and kernels, every arm's command line, what was in effect and what was left out;
    ``wrong`` are the findings."""
    for outcome in rehearsal.outcomes:
        yield from _told(outcome)
    if rehearsal.host_plan is not None:
        yield f"  this machine's own plan would add  {rehearsal.host_plan.boot_line}"
    rows = sum(len(one.verified) for outcome in rehearsal.outcomes for one in outcome.booted)
    yield f"  verify      {rows} settings looked at, {len(wrong)} findings"
    yield from (f"    {text}" for text in wrong)
    yield from (f"  not rehearsed: {text}" for text in not_rehearsed(rehearsal))


def _told(outcome: KernelOutcome) -> Iterator[str]:
    stage = outcome.stage
    what = f"{stage.kernel.release}: {stage.shape.cpus} CPUs, {stage.shape.memory}, {stage.how}"
    yield bold(f"Rehearsal of {what}")
    for arm in outcome.arms:
        boots = outcome.of(arm)
        if boots:
            yield f"  {arm.name}  {boots[-1].line or '(nothing added)'}"
    ours = [booted for booted in outcome.booted if booted.arm.plan]
    others = [booted for booted in outcome.booted if not booted.arm.plan]
    if ours:
        yield f"  run time    set by {ours[-1].facts.runtime_by}"
    for booted in (*others[:1], *ours[:1]):
        times = (f"{name} {value:.0f} s" for name, value in booted.facts.seconds.items())
        yield f"  {booted.name}: {', '.join(times)}{'' if stage.kvm else ' of the guest'}"


def not_rehearsed(rehearsal: Rehearsal) -> Iterator[str]:
    """The settings of this machine's plan that the guest could not have."""
    host = rehearsal.host_plan
    if host is None:
        yield f"a plan of this machine itself: {rehearsal.host_refused}"
        return
    first = rehearsal.outcomes[0].plan
    if host.isolated != first.isolated:
        yield f"isolating CPUs {host.isolated} of this machine; the guest's are {first.isolated}"
    plans = [arm.plan for outcome in rehearsal.outcomes for arm in outcome.arms if arm.plan]
    rehearsed = {name for plan in plans for name in settings(plan)}
    why = {item.name: item.why for plan in reversed(plans) for item in plan.skipped}
    for name in settings(host):
        if name not in rehearsed:
            yield f"{name}: {why.get(name, 'not planned in the guest')}"


def write(rehearsal: Rehearsal, wrong: Sequence[str]) -> Path:
    """Write the results with their findings beside the runs; returns the file's path."""
    host = rehearsal.host_plan
    document = {
        "schema": SCHEMA,
        "options": rehearsal.options,
        "made_with": rehearsal.made_with,
        "seed": rehearsal.seed,
        "host_line": host.boot_line if host else None,
        "kernels": [_kernel(outcome) for outcome in rehearsal.outcomes],
        "findings": wrong,
        "not_rehearsed": list(not_rehearsed(rehearsal)),
    }
    path = rehearsal.folder / "rehearsal.json"
    write_value(path, document)
    return path


def _kernel(outcome: KernelOutcome) -> dict[str, object]:
    stage = outcome.stage
    return {
        "release": stage.kernel.release,
        "cpus": stage.shape.cpus,
        "memory": stage.shape.memory,
        "emulated": not stage.kvm,
        "arms": outcome.arms,
        "boots": [_boot(booted) for booted in outcome.booted],
    }


def _boot(booted: Booted) -> dict[str, object]:
    return {
        "arm": booted.arm.name,
        "number": booted.number,
        "line": booted.line,
        **vars(booted.facts),
        "run": booted.runs[0],
        "further": booted.runs[1:],
        "verify": booted.verify,
        "serial_log": booted.log,
    }
