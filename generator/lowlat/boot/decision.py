# SPDX-License-Identifier: GPL-2.0-or-later
"""The decision that was applied: profile, split and options. From it every kernel gets a plan of
its own, once; the hooks of the distribution ask for a new kernel's."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Optional

from lowlat.base import files
from lowlat.base.errors import Refused
from lowlat.boot.disk import Disk, FileSnapshot
from lowlat.boot.state_file import StateFile, lenient
from lowlat.boot.transaction import PATIENT_S, Transaction
from lowlat.host.root import Root
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import RELEASE, Machine
from lowlat.model.plan import Plan
from lowlat.plan import planner, profile, store
from lowlat.plan.cpu_request import NONE, CpuRequest
from lowlat.plan.planner import Options
from lowlat.plan.store import PLANS, plan_path
from lowlat.probe import probe
from lowlat.probe.kernel import read_release

DECISION = f"{files.STATE}/decision.json"

SCHEMA = "lowlat.decision/1"


@dataclass(frozen=True)
class Decision:
    """``boot`` is "own" (entries of our own) or "tuned" (TuneD's bootloader plugin); ``runtime``
    is "tuned" or "none". ``isolated`` is the split that the options led to."""

    profile: str
    isolated: CpuSet
    options: Options
    boot: str = "own"
    runtime: str = "tuned"

    def __post_init__(self) -> None:
        if self.boot not in ("own", "tuned") or self.runtime not in ("tuned", "none"):
            raise ValueError("not a decision")
        if not profile.is_name(self.profile):
            raise ValueError("no name")


_FILE = StateFile(DECISION, SCHEMA, lenient(Decision), "'lowlat-gen rollback', then apply again")


def read(root: Root) -> Optional[Decision]:
    """The applied decision; None where none is. Raises Refused where it is damaged, or, for root,
    where others could have written it."""
    root.check_owned(PLANS)
    return _FILE.read(Disk(root))


def keep(decision: Decision, plans: Iterable[Plan], change: Transaction) -> None:
    """Store the decision and the plan of each kernel; plans of an earlier one go."""
    fresh = {plan_path(str(plan.kernel)): plan.text() for plan in plans}
    with alone(change.disk):
        for name in change.root.names(PLANS):
            if f"{PLANS}/{name}" not in fresh:
                change.discard(f"{PLANS}/{name}")
        for path, text in fresh.items():
            change.write(path, text)
        change.write(DECISION, _FILE.text(decision))


@contextmanager
def alone(disk: Disk) -> Iterator[None]:
    """Hold the decision and its plans, where there are any: GRUB's generator may store a plan at
    any time, also beside the holder of the boot's lock."""
    if disk.root.absent(PLANS):
        yield
        return
    with disk.folder(PLANS) as at, files.locked(".", os.O_DIRECTORY, at, PATIENT_S):
        yield


class Planner:
    """Plans for one kernel after the other, as the decision says; probes the machine once, and not
    where it is known."""

    def __init__(self, decision: Decision, root: Root, machine: Optional[Machine] = None) -> None:
        self._decision = decision
        self._root = root
        self._machine = machine

    def plan(self, release: str) -> Plan:
        """Raises Refused where there is no such kernel or none can be made for it."""
        machine = self._machine = self._machine or probe(self._root)
        kernel = read_release(self._root, release, machine.kernel)
        wanted = profile.load(self._decision.profile, self._root)
        plan = planner.make_plan(machine, kernel, wanted, self._decision.options)
        if plan.isolated != self._decision.isolated:
            # What is busy may have changed the choice: the split is part of the decision.
            request = CpuRequest(isolate=str(self._decision.isolated) or NONE)
            pinned = replace(self._decision.options, request=request)
            plan = planner.make_plan(machine, kernel, wanted, pinned)
        with suppress(Refused):
            known = stored(self._root, release)
            # A line that was tried stays, though its reasons may read otherwise now.
            return known if known and known.effect == plan.effect else plan
        return plan

    def plan_and_keep(self, release: str) -> Plan:
        """The stored plan, or a new one, stored before it is used. Raises Refused where all was
        taken back meanwhile."""
        known = stored(self._root, release)
        if known is not None:
            return known
        plan = self.plan(release)
        disk = Disk(self._root)
        disk.make_folders(plan_path(release))
        with alone(disk):
            known, now = stored(self._root, release), read(self._root)
            if known is None and now == self._decision:
                disk.put(plan_path(release), FileSnapshot(plan.text().encode()))
                return plan
        if known is not None:
            return known
        if now is not None:
            return Planner(now, self._root, self._machine).plan_and_keep(release)
        for folder in (PLANS, files.STATE):
            disk.remove_folder(folder)
        raise Refused("'lowlat-gen rollback' took everything back meanwhile")


def is_kept(decision: Decision, plans: Iterable[Plan], root: Root) -> bool:
    """Whether keep() would write nothing."""
    kept = {plan.id for plan in all_stored(root)}
    return root.read(DECISION) == _FILE.text(decision).strip() and kept == {p.id for p in plans}


def settled(decision: Decision, plan: Plan, root: Root, machine: Machine) -> tuple[Decision, Plan]:
    """The decision and its plan; asked the same again they stay as applied, whatever is busy now,
    unless that split is not possible any more."""
    made = read(root)
    if made is not None and made == replace(decision, isolated=made.isolated):
        with suppress(Refused):
            return made, Planner(made, root, machine).plan(str(plan.kernel))
    return decision, plan


def stored(root: Root, release: str) -> Optional[Plan]:
    """A kernel's stored plan. Raises Refused where it is damaged or not that kernel's."""
    path = plan_path(release)
    plan = store.read_kept(path, root) if RELEASE.fullmatch(release) else None
    if plan is not None and plan.kernel != release:
        raise Refused(f"{path}: is the plan of another kernel")
    return plan


def all_stored(root: Root) -> Iterator[Plan]:
    """Every kernel's stored plan; a damaged one is left out."""
    for name in root.names(PLANS):
        try:
            plan = stored(root, name[: -len(".json")]) if name.endswith(".json") else None
        except Refused:
            continue
        if plan is not None:
            yield plan
