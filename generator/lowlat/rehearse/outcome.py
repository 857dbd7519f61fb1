# SPDX-License-Identifier: GPL-2.0-or-later
"""What a rehearsal showed, in words and as the file rehearsal.json beside its runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from lowlat.cpuset import CpuSet
from lowlat.plan import Plan
from lowlat.rehearse.rehearsal import Rehearsal
from lowlat.rehearse.stage import Booted
from lowlat.report import evidence
from lowlat.report.build import Report, build
from lowlat.run import read_run
from lowlat.terminal import bold
from lowlat.verify import State

SCHEMA = "lowlat.rehearsal/1"


def compared(rehearsal: Rehearsal) -> Report:
    """Both arms' runs as a report, with what the last tuned boot's verify found."""
    settings = evidence.read_verify(rehearsal.tuned[-1].verify)
    stock = [read_run(booted.run) for booted in rehearsal.stock]
    return build(stock, [read_run(booted.run) for booted in rehearsal.tuned], settings)


def findings(rehearsal: Rehearsal) -> Iterator[str]:
    """What is not as planned: in each boot the basics, in the tuned ones every setting."""
    for booted in rehearsal.stock:
        yield from (f"{booted.folder.name}: {text}" for text in _basics(booted, ""))
    isolated = rehearsal.plan.isolated
    for booted in rehearsal.tuned:
        found = [*_basics(booted, isolated), *bad_settings(booted.verify), *booted.facts.problems]
        yield from (f"{booted.folder.name}: {text}" for text in found)


def _basics(booted: Booted, isolated: str) -> Iterator[str]:
    facts = booted.facts
    words = booted.line.split()
    for name, held in (("isolcpus", facts.isolated), ("nohz_full", facts.nohz_full)):
        planned = any(word.startswith(f"{name}=") for word in words)
        expected = isolated if planned else ""
        if CpuSet.parse_list(held) != CpuSet.parse_list(expected):
            yield f"{name}: '{held}' in sysfs, '{expected}' expected"
    yield from (f"kernel message: {text}" for text in facts.complaints)


def bad_settings(path: Path) -> Iterator[str]:
    """The settings of a verify.json that are planned and not in effect."""
    for row in json.loads(path.read_text())["settings"]:
        if State(row["state"]).bad:
            yield f"{row['name']}: {row['state']} ({row['evidence']})"


def describe(rehearsal: Rehearsal) -> Iterator[str]:
    """Which machine and kernel, both command lines, what was in effect, what was left out."""
    shape = rehearsal.shape
    how = "KVM" if rehearsal.kvm else "emulated"
    yield bold(f"Rehearsal of {rehearsal.kernel.release}: {shape.cpus} CPUs, {shape.memory}, {how}")
    yield f"  stock line  {rehearsal.stock[-1].line or '(nothing added)'}"
    yield f"  tuned line  {rehearsal.tuned[-1].line}"
    if not rehearsal.kvm and rehearsal.stock[-1].line:
        yield "  (both carry the stock line: emulation hides that this clock needs no watchdog)"
    if rehearsal.host_plan is not None:
        yield f"  this machine's own plan would add  {rehearsal.host_plan.boot_line}"
    yield f"  run time    set by {rehearsal.tuned[-1].facts.runtime_by}"
    for booted in (rehearsal.stock[-1], rehearsal.tuned[-1]):
        yield f"  {booted.folder.name}: {_times(booted)}"
    wrong = list(findings(rehearsal))
    rows = len(json.loads(rehearsal.tuned[-1].verify.read_text())["settings"])
    yield f"  verify      {rows} settings looked at, {len(wrong)} findings"
    yield from (f"    {text}" for text in wrong)
    yield from (f"  not rehearsed: {text}" for text in not_rehearsed(rehearsal))


def _times(booted: Booted) -> str:
    return ", ".join(f"{name} {value:.0f} s" for name, value in booted.facts.seconds.items())


def not_rehearsed(rehearsal: Rehearsal) -> Iterator[str]:
    """What this machine's own plan has and the guest could not show."""
    host = rehearsal.host_plan
    if host is None:
        yield f"a plan of this machine itself: {rehearsal.host_refused}"
        return
    plan = rehearsal.plan
    if host.isolated != plan.isolated:
        yield f"isolating CPUs {host.isolated} of this machine; the guest's are {plan.isolated}"
    why = {item.name: item.why for item in plan.skipped}
    for name in _names(host):
        if name not in set(_names(plan)):
            yield f"{name}: {why.get(name, 'not planned in the guest')}"


def _names(plan: Plan) -> Iterator[str]:
    names = [item.name for item in plan.parameters] + [item.name for item in plan.runtime]
    yield from dict.fromkeys(names)


def write(rehearsal: Rehearsal) -> Path:
    """Keep the outcome beside the runs; returns the file's path."""
    document = {
        "schema": SCHEMA,
        "kernel": rehearsal.kernel.release,
        "cpus": rehearsal.shape.cpus,
        "memory": rehearsal.shape.memory,
        "emulated": not rehearsal.kvm,
        "plan": str(rehearsal.folder / "plan.json"),
        "host_line": rehearsal.host_plan.boot_line if rehearsal.host_plan else None,
        "stock": [_boot(booted) for booted in rehearsal.stock],
        "tuned": [_boot(booted) for booted in rehearsal.tuned],
        "findings": list(findings(rehearsal)),
        "not_rehearsed": list(not_rehearsed(rehearsal)),
    }
    path = rehearsal.folder / "rehearsal.json"
    path.write_text(json.dumps(document, indent=2) + "\n")
    return path


def _boot(booted: Booted) -> dict[str, object]:
    facts = booted.facts
    return {
        "line": booted.line,
        "cmdline": facts.cmdline,
        "isolated": facts.isolated,
        "nohz_full": facts.nohz_full,
        "complaints": list(facts.complaints),
        "runtime_by": facts.runtime_by,
        "seconds": dict(facts.seconds),
        "run": str(booted.run),
        "verify": str(booted.verify) if booted.verify.exists() else None,
        "serial_log": str(booted.log),
    }
