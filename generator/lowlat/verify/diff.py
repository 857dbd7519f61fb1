# SPDX-License-Identifier: GPL-2.0-or-later
"""A plan compared with the running system: the changes, and the values already in place."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Optional

from lowlat.base.typed_json import encode_fields
from lowlat.catalogue import CATALOGUE
from lowlat.catalogue.entry import Tunable
from lowlat.host.root import Root
from lowlat.model import cmdline
from lowlat.model.plan import Plan
from lowlat.runtime import settings

SCHEMA = "lowlat.diff/1"

#: The place of a boot parameter.
CMDLINE = "cmdline"


@dataclass(frozen=True)
class Change:
    """One value. ``where`` is "cmdline", a file or a kernel thread; ``now`` is None if nothing is
    set or can be read, ``planned`` is None if the plan removes a parameter."""

    name: str
    where: str
    now: Optional[str]
    planned: Optional[str]


@dataclass(frozen=True)
class Diff:
    """The changes; ``unchanged`` counts the values that are already as planned, or that the kernel
    does not let change."""

    changes: tuple[Change, ...]
    unchanged: int

    def to_json(self) -> dict[str, object]:
        return {"schema": SCHEMA, **encode_fields(self)}


def diff(plan: Plan, root: Root) -> Diff:
    """Compare a plan with the system below ``root``, which is only read."""
    boot = list(_boot_changes(plan, root.read("/proc/cmdline") or ""))
    kept = sum(change.planned is not None for change in boot)
    outcomes = settings.inspect(plan.runtime, root)
    changes = [
        Change(item.setting.name, item.path, item.value, item.setting.value)
        for item in outcomes
        if item.failed
    ]
    unchanged = len(plan.parameters) - kept + len(outcomes) - len(changes)
    return Diff((*boot, *changes), unchanged)


def _boot_changes(plan: Plan, line: str) -> Iterator[Change]:
    for parameter in plan.parameters:
        given = cmdline.values(line, parameter.name)
        if given != [parameter.value]:
            now = " and ".join(given) if given else None
            yield Change(parameter.name, CMDLINE, now, parameter.value)
    # In a tuned boot other parameters come from another plan; the stock line stays as it is.
    if cmdline.values(line, cmdline.MARKER):
        for entry, given in unplanned(plan, line):
            yield Change(entry.name, CMDLINE, " and ".join(given), None)


def unplanned(plan: Plan, line: str) -> Iterator[tuple[Tunable, list[str]]]:
    """Catalogue parameters on a command line but not in the plan, with their values."""
    planned = {parameter.name for parameter in plan.parameters}
    for entry in CATALOGUE:
        given = cmdline.values(line, entry.name)
        if entry.at_boot and entry.name not in planned and given:
            yield entry, given
