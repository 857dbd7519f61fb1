# SPDX-License-Identifier: GPL-2.0-or-later
"""A stored plan, read back. Its id is a digest, no signature: everything in it that will reach a
boot line, a shell file or a file of the kernel is checked against the catalogue again."""

import json
import re
from contextlib import suppress
from typing import Optional

from lowlat.base import files, trust
from lowlat.base.errors import Refused
from lowlat.catalogue import lookup
from lowlat.catalogue.entry import Reads, Tunable
from lowlat.host import runstate
from lowlat.host.root import Root
from lowlat.model import cmdline
from lowlat.model.cpuset import CpuSet, CpuSetError
from lowlat.model.machine import RELEASE
from lowlat.model.plan import Plan, PlannedParameter, PlannedSetting
from lowlat.plan import profile

PLAN = f"{files.STATE}/plan.json"

#: One for each kernel.
PLANS = f"{files.STATE}/plans"

#: The plan that the run-time half was started with. /run ends with the boot.
IN_USE = "/run/lowlat/plan.json"

#: Patterns for the places in a text of the catalogue; a place not named here is a CPU list.
_NUMBER = r"[0-9]{1,10}"
_CPUS = r"[0-9]{1,5}(?:[-,][0-9]{1,5})*"
_PLACES = {
    **dict.fromkeys(("cpu", "interrupt", "node", "kib", "pages", "khz"), _NUMBER),
    "package": r"[a-z0-9_]{1,40}",
    "few_ways": r"(?:;?\d{1,9}=[0-9a-f]{1,16})+",
}

_GIVE = "a plan is what 'lowlat-gen plan --json' prints"

#: A plan for 4096 CPUs is a quarter of this.
_LARGEST = 16 << 20


def plan_path(release: str) -> str:
    return f"{PLANS}/{release}.json"


def read(path: Optional[str], root: Root) -> Plan:
    """The plan at ``path``, else the applied one. Raises Refused where it is missing, damaged, has
    settings that no lowlat plan has, or, for root, where another user could have written it."""
    if path is not None:
        return _parse(path, _read_named(path))
    plan = read_kept(PLAN, root)
    if plan is None:
        raise Refused(f"{PLAN}: no plan is applied here", hint="give one with --plan FILE")
    return plan


def applied(root: Root) -> Optional[Plan]:
    """The applied plan, where this boot is one of it: the command line carries its marker. Raises
    Refused as read() does."""
    marker = cmdline.values(root.read("/proc/cmdline") or "", cmdline.MARKER)
    plan = read(None, root) if marker and not root.absent(PLAN) else None
    return plan if plan and plan.id in marker else None


def named_sets(root: Root) -> dict[str, str]:
    """The CPUs of the applied plan's sets by their names, where this boot is one of it; none of a
    damaged plan."""
    with suppress(Refused):
        plan = applied(root)
        return {name: str(cpus) for name, cpus in (plan.cpus.sets or {}).items()} if plan else {}
    return {}


def in_use(root: Root) -> Optional[Plan]:
    """The plan that the run-time half was started with in this boot; None where it was not. Raises
    Refused as read() does."""
    return read_kept(IN_USE, root)


def keep_in_use(plan: Plan, root: Root) -> None:
    """Store the plan that ``runtime start`` uses. Raises Refused where that is not possible."""
    runstate.keep(root, IN_USE, plan.text())


def read_kept(path: str, root: Root) -> Optional[Plan]:
    """The plan in one of our own places; None where there is none. Raises as read() does."""
    root.check_owned(path)
    text = root.read(path)
    if text is None and not root.absent(path):
        raise Refused(f"{path}: cannot be read")
    return None if text is None else _parse(path, text)


def _parse(where: str, text: str) -> Plan:
    try:
        plan = Plan.from_json(json.loads(text))
        check(plan)
    except (ValueError, RecursionError) as error:
        raise Refused(f"{where}: not JSON", hint=_GIVE) from error
    except Refused as error:
        raise Refused(f"{where}: {error.message}", hint=error.hint) from error
    return plan


def _read_named(path: str) -> str:
    trust.check(path)
    try:
        return files.read(path, _LARGEST).decode("utf-8")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "not text"
        raise Refused(f"{path}: {why}", hint=_GIVE) from error


def check(plan: Plan) -> None:
    """Raises Refused where a plan sets what no lowlat plan sets."""
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
    cmdline.check_length(plan.boot_line, "its command line")


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
        if entry.reads is Reads.LIST:
            return bool(CpuSet.parse_list(value))
        if entry.reads in (Reads.MASK, Reads.WITHIN):
            return bool(CpuSet.parse_mask(value))
    except CpuSetError:
        return False
    return _fits(entry, own, value)


def _fits(entry: Tunable, own: str, value: str) -> bool:
    """Whether a value is the entry's own, or one that a user may give instead."""
    patterns = (_pattern(own), *([entry.accepts] if entry.accepts else []))
    return any(re.fullmatch(pattern, value) for pattern in patterns)


def _pattern(text: str) -> str:
    """The pattern for a text of the catalogue once its places are filled in."""
    parts = re.split(r"\{(\w+)\}", text)
    parts[0::2] = map(re.escape, parts[0::2])
    parts[1::2] = [_PLACES.get(name, _CPUS) for name in parts[1::2]]
    return "".join(parts)
