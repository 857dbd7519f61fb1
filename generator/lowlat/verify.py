# SPDX-License-Identifier: GPL-2.0-or-later
"""Planned against effective: a row per setting, with the evidence for its state."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any, Optional

from lowlat import cmdline, runtime
from lowlat.catalogue import lookup
from lowlat.catalogue.entry import Sign
from lowlat.kmsg import UNKNOWN_PARAMETERS, Messages, read_messages
from lowlat.machine import Kernel
from lowlat.plan import Parameter, Plan, Setting
from lowlat.root import Root

SCHEMA = "lowlat.verify/1"


class State(Enum):
    """How a planned setting stands; the first three make verify exit with 1."""

    IGNORED = "ignored-by-kernel"
    NOT_APPLIED = "not-applied"
    UNDONE = "undone"
    EFFECTIVE = "effective"
    OVERRIDDEN = "overridden"
    NOT_PLANNED = "not-planned"
    UNVERIFIABLE = "unverifiable"

    @property
    def bad(self) -> bool:
        return self in (State.IGNORED, State.NOT_APPLIED, State.UNDONE)


@dataclass(frozen=True)
class Row:
    name: str
    where: str
    planned: str
    effective: Optional[str]
    state: State
    evidence: str
    by: Optional[str] = None

    def to_json(self) -> dict[str, Any]:
        document = asdict(self)
        document["state"] = self.state.value
        order = ("name", "where", "planned", "effective", "state", "by", "evidence")
        return {key: document[key] for key in order}


def verify(plan: Plan, root: Root) -> list[Row]:
    """A row for every planned setting, boot parameters first. Reads, never writes."""
    line = root.read("/proc/cmdline")
    messages = read_messages(root)
    rows = [_boot_row(parameter, line, messages, root) for parameter in plan.parameters]
    for setting in plan.runtime:
        rows += _runtime_rows(setting, root)
    return rows


def to_json(rows: Iterable[Row]) -> dict[str, Any]:
    return {"schema": SCHEMA, "settings": [row.to_json() for row in rows]}


# --------------------------------------------------------- boot parameters


def _boot_row(
    parameter: Parameter, line: Optional[str], messages: Optional[Messages], root: Root
) -> Row:
    def row(state: State, effective: Optional[str], evidence: str) -> Row:
        return Row(parameter.name, "cmdline", parameter.value, effective, state, evidence)

    if line is None:
        return row(State.UNVERIFIABLE, None, "/proc/cmdline cannot be read")
    given = cmdline.values(line, parameter.name)
    if parameter.value not in given:
        held = given[-1] if given else None
        return row(State.NOT_APPLIED, held, "/proc/cmdline does not have it")
    if len(set(given)) > 1:
        return row(State.NOT_APPLIED, ", ".join(given), "/proc/cmdline has it more than once")
    state, effective, evidence = _sign_of(parameter, lookup(parameter.name).sign, messages, root)
    return row(state, effective, evidence)


def _sign_of(
    parameter: Parameter, sign: Sign, messages: Optional[Messages], root: Root
) -> tuple[State, Optional[str], str]:
    """State, effective value and evidence of a parameter that is on the command line."""
    complaint = _complaint(parameter, sign, messages)
    if complaint:
        return State.IGNORED, None, f"kernel message: {complaint}"
    if sign.path is not None:
        held = root.read(sign.path)
        expected = sign.expected(parameter.value)
        if runtime.equal(sign.reads, held, expected):
            return State.EFFECTIVE, held, f"{sign.path} is {held}"
        if held is not None:
            return State.IGNORED, held, f"{sign.path} is {held or 'empty'}, not {expected}"
    return _said_of(parameter, sign, messages, root)


def _said_of(
    parameter: Parameter, sign: Sign, messages: Optional[Messages], root: Root
) -> tuple[State, Optional[str], str]:
    """The same by the kernel's messages alone: no file shows the parameter, or it is not there."""
    proof = _find(sign.proof, messages) if sign.proof and messages else None
    if proof:
        return State.EFFECTIVE, parameter.value, f"kernel message: {proof}"
    if messages is None or not messages.complete:
        why = "the kernel messages of the start of this boot are gone"
    elif sign.proof:
        return State.IGNORED, None, "the kernel message that confirms it is missing"
    elif sign.path is not None:
        why = f"{sign.path}, which would show it, cannot be read"
    elif not _reports_unknown(root):
        why = "this kernel does not report unknown parameters"
    else:
        return State.EFFECTIVE, parameter.value, "/proc/cmdline has it; the kernel did not complain"
    return State.UNVERIFIABLE, None, f"/proc/cmdline has it; {why}"


def _reports_unknown(root: Root) -> bool:
    """init/main.c, print_unknown_bootoptions(): in 6.1, not in 5.10."""
    version = Kernel(root.read("/proc/sys/kernel/osrelease")).version
    return version is not None and version >= (5, 14)


def _complaint(parameter: Parameter, sign: Sign, messages: Optional[Messages]) -> Optional[str]:
    if messages is None:
        return None
    unknown = UNKNOWN_PARAMETERS.search(messages.text)
    if unknown and parameter.name in {cmdline.name_of(item) for item in unknown[1].split()}:
        return unknown[0]
    return _find(sign.contradiction, messages) if sign.contradiction else None


def _find(pattern: str, messages: Messages) -> Optional[str]:
    found = re.search(f"^.*(?:{pattern}).*$", messages.text, re.MULTILINE)
    return found[0].strip() if found else None


# ------------------------------------------------------- run-time settings


def _runtime_rows(setting: Setting, root: Root) -> list[Row]:
    outcomes = runtime.inspect([setting], root)
    if any(sign in setting.target for sign in "*[?"):
        return [_many(setting, outcomes)] if outcomes else []
    return [_single(setting, outcome) for outcome in outcomes]


def _single(setting: Setting, outcome: runtime.Outcome) -> Row:
    if outcome.effective:
        state, evidence = State.EFFECTIVE, f"{outcome.path} is {outcome.value}"
    elif outcome.value is not None:
        state, evidence = State.NOT_APPLIED, f"{outcome.path} is {outcome.value or 'empty'}"
    else:
        unknown = outcome.problem == "cannot be read"
        state = State.UNVERIFIABLE if unknown else State.NOT_APPLIED
        evidence = f"{outcome.path} {outcome.problem}"
    return Row(setting.name, outcome.path, setting.value, outcome.value, state, evidence)


def _many(setting: Setting, outcomes: list[runtime.Outcome]) -> Row:
    """One row for a glob: what the kernel keeps where it is does not count as bad."""
    good = sum(item.effective for item in outcomes)
    fixed = [item.path for item in outcomes if item.fixed]
    astray = [item.path for item in outcomes if item.failed]
    evidence = "every file holds it"
    if fixed:
        evidence = f"the kernel keeps these where they are: {_some(fixed)}"
    if astray:
        evidence = f"otherwise in {_some(astray)}"
    state = State.NOT_APPLIED if astray else State.EFFECTIVE
    held = f"{good} of {len(outcomes)} files"
    return Row(setting.name, setting.target, setting.value, held, state, evidence)


def _some(paths: list[str]) -> str:
    return ", ".join(paths[:4]) + (f" and {len(paths) - 4} more" if len(paths) > 4 else "")
