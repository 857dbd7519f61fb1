# SPDX-License-Identifier: GPL-2.0-or-later
"""Read a stored plan. Its id is a digest, not a signature, so everything in it that reaches a boot
line, a shell file or a kernel file is checked against the catalogue again."""

import json
import os
import re
from contextlib import suppress
from typing import Any, Callable, Optional, TypeVar

from lowlat.base import bounds, files, reader, trust
from lowlat.base.errors import NotYet, Refused
from lowlat.catalogue import lookup
from lowlat.catalogue.entry import Tunable, ValueFormat
from lowlat.host import runstate
from lowlat.host.root import CPU, Root
from lowlat.model import cmdline
from lowlat.model.cpuset import CpuSet, CpuSetError
from lowlat.model.machine import RELEASE
from lowlat.model.plan import Plan, PlannedParameter, PlannedSetting
from lowlat.plan import profile
from lowlat.plan.now import NowPlan

_T = TypeVar("_T")

PLAN = f"{files.STATE}/plan.json"

#: What was applied: profile, split and options (boot/decision.py).
DECISION = f"{files.STATE}/decision.json"

#: The decision that it replaced, with the plans of that.
REPLACED = f"{files.STATE}/replaced.json"

#: One plan for each kernel.
PLANS = f"{files.STATE}/plans"

#: The plan that ``runtime start`` used; a reboot clears /run.
IN_USE = "/run/lowlat/plan.json"

#: Patterns for the placeholders in a catalogue text; any other placeholder is a CPU list.
_NUMBER = r"[0-9]{1,10}"
_CPUS = r"[0-9]{1,5}(?:[-,:/][0-9]{1,5})*"
_PLACES = {
    **dict.fromkeys(("cpu", "interrupt", "node", "kib", "pages", "khz"), _NUMBER),
    "package": r"[a-z0-9_]{1,40}",
    "set": r"(?:[A-Za-z0-9_]|\\x2d){1,128}",
    "kind": r"(?:isolated|root)",
    "few_ways": r"(?:;?\d{1,9}=[0-9a-f]{1,16})+",
}

#: The plan of ``apply --now`` for this boot.
NOW = "/run/lowlat/now.json"

_GIVE = "a plan is what 'lowlat-gen plan --json' prints"

#: A limit in bytes; a plan for 4096 CPUs has a quarter of it.
_LARGEST = 16 << 20


def plan_path(release: str) -> str:
    return f"{PLANS}/{release}.json"


def read(path: Optional[str], root: Root) -> Plan:
    """The plan at ``path``, or the applied plan. Raises Refused if it is missing or damaged, has
    settings that no lowlat plan has, or, for root, if another user could have written it."""
    if path is not None:
        return _parse(path, _read_named(path))
    plan = read_kept(PLAN, root)
    if plan is None:
        raise NotYet("no plan is applied here", hint="give one with --plan FILE")
    return plan


def read_here(path: Optional[str], root: Root) -> Plan:
    """read() a plan of this machine. Also raises Refused as check_here() does."""
    plan = read(path, root)
    check_here(plan, path or PLAN, root)
    return plan


def check_here(plan: Plan, where: str, root: Root) -> None:
    """Raises Refused if the machine lacks one of the plan's CPUs, and was not booted with it."""
    running = cmdline.parse(root.read("/proc/cmdline") or "")
    if {parameter.word for parameter in plan.parameters}.issubset(running):
        return  # CPUs that the boot lost are a finding
    absent = plan.cpus.online - (root.read_cpus(f"{CPU}/possible") or plan.cpus.online)
    if absent:
        raise Refused(f"{where}: of another machine: CPU {absent} is not here")


def is_booted(plan: Plan, root: Root) -> bool:
    """Whether the command line of this boot carries the plan's marker."""
    return cmdline.marker(root.read("/proc/cmdline") or "") == plan.id


def applied(root: Root) -> Optional[Plan]:
    """The applied plan, if this boot is one of it, else None. Raises Refused as read() does."""
    marked = cmdline.marker(root.read("/proc/cmdline") or "")
    plan = read(None, root) if marked and not root.absent(PLAN) else None
    return plan if plan and is_booted(plan, root) else None


def booted(root: Root) -> Optional[Plan]:
    """The plan in use if this boot is one of it: it outlives a rollback. Raises Refused as read()
    does."""
    plan = in_use(root)
    return plan if plan and is_booted(plan, root) else None


def facts(root: Root) -> dict[str, object]:
    """The facts for a run of the plan of ``apply --now``, or of the applied plan if this boot is
    one of it: the CPUs of its
    sets by name, its profile, and that profile's endpoint; empty if the plan is damaged."""
    found: dict[str, object] = {"sets": {}, "profile": None, "judged_by": None}
    with suppress(Refused):
        isolated = now(root)
        if plan := isolated.plan if isolated else applied(root):
            found["sets"] = {name: str(cpus) for name, cpus in (plan.cpus.sets or {}).items()}
            judged_by = profile.load(plan.profile, root).judged_by
            found.update(profile=plan.profile, judged_by=judged_by)
    return found


def in_use(root: Root) -> Optional[Plan]:
    """The plan that the run-time settings were started with in this boot, or None. Raises Refused
    as read() does."""
    return read_kept(IN_USE, root)


def now(root: Root, path: str = NOW) -> Optional[NowPlan]:
    """The plan of ``apply --now`` in this boot, or one that is kept elsewhere; or None. Raises
    Refused as read() does."""
    text = _text(path, root)
    return None if text is None else _parsed(path, text, NowPlan.from_json, lambda one: one.plan)


def keep_now(found: NowPlan, root: Root) -> None:
    """Store the plan of ``apply --now``. Raises Refused if that fails."""
    runstate.keep(root, NOW, json.dumps(found.to_json(), indent=2))


def keep_in_use(plan: Plan, root: Root) -> None:
    """Store the plan that ``runtime start`` uses. Raises Refused if that fails."""
    runstate.keep(root, IN_USE, plan.text())


def read_kept(path: str, root: Root) -> Optional[Plan]:
    """The plan in one of lowlat's files; None if it does not exist. Raises as read() does."""
    text = _text(path, root)
    return None if text is None else _parse(path, text)


def _text(path: str, root: Root) -> Optional[str]:
    root.check_owned(path)
    text = root.read(path)
    if text is None and not root.absent(path):
        raise Refused(f"{path}: cannot be read")
    return text


def _parse(where: str, text: str) -> Plan:
    return _parsed(where, text, Plan.from_json, lambda plan: plan)


def _parsed(where: str, text: str, build: Callable[[Any], _T], plan_of: Callable[[_T], Plan]) -> _T:
    try:
        made = build(json.loads(text))
        check(plan_of(made))
    except Refused as error:
        raise Refused(f"{where}: {error.message}", hint=error.hint) from error
    except (ValueError, RecursionError) as error:
        raise Refused(f"{where}: not JSON", hint=_GIVE) from error
    return made


def _read_named(path: str) -> str:
    if not os.path.lexists(path):
        raise Refused(f"{path}: No such file or directory", hint=_GIVE)
    trust.check(path)
    try:
        return reader.read(path, _LARGEST).decode("utf-8")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "not text"
        raise Refused(f"{path}: {why}", hint=_GIVE) from error


def check(plan: Plan) -> None:
    """Raises Refused if the plan sets anything that no lowlat plan sets."""
    if not profile.is_name(plan.profile):
        raise Refused("its profile name is not valid")
    if plan.kernel is not None and not RELEASE.fullmatch(str(plan.kernel)):
        raise Refused("its kernel release is not valid")
    for parameter in plan.parameters:
        _check_parameter(parameter)
    for setting in plan.runtime:
        _check_setting(setting)
    if cmdline.join(parameter.word for parameter in plan.parameters) != plan.cmdline.text:
        raise Refused("its command line is not that of its parameters")
    cmdline.check_length(plan.boot_line, "its command line", bounds.BOOT_LINE)


def _check_parameter(parameter: PlannedParameter) -> None:
    entry = lookup(parameter.name)
    if entry.value is None:
        raise Refused(f"'{entry.name}' is no boot parameter")
    values = (entry.value, *(value for value, _ in entry.instead))
    if not any(_fits(entry, value, parameter.value) for value in values):
        raise Refused(f"'{entry.name}' is never given that value")


def _check_setting(setting: PlannedSetting) -> None:
    entry = lookup(setting.name)
    for row in entry.rows:
        if re.fullmatch(_pattern(row.path), setting.target) and _possible(
            entry, row.value, setting.value
        ):
            return
    raise Refused(f"'{entry.name}' never sets {setting.target[:80]} to that value")


def _possible(entry: Tunable, own: str, value: str) -> bool:
    try:
        if entry.reads is ValueFormat.LIST:
            return bool(CpuSet.parse_list(value))
        if entry.reads in (ValueFormat.MASK, ValueFormat.WITHIN):
            return bool(CpuSet.parse_mask(value))
    except CpuSetError:
        return False
    return _fits(entry, own, value)


def _fits(entry: Tunable, own: str, value: str) -> bool:
    """Whether the value is the entry's default or one that a user may give instead."""
    patterns = (_pattern(own), *([entry.accepts] if entry.accepts else []))
    return any(re.fullmatch(pattern, value) for pattern in patterns)


def _pattern(text: str) -> str:
    """The pattern that a catalogue text matches once its placeholders are filled in."""
    parts = re.split(r"\{(\w+)\}", text)
    parts[0::2] = map(re.escape, parts[0::2])
    parts[1::2] = [_PLACES.get(name, _CPUS) for name in parts[1::2]]
    return "".join(parts)
