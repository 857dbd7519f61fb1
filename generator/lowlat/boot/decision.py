# SPDX-License-Identifier: GPL-2.0-or-later
"""The applied decision: profile, split and options. Each kernel gets its plan from it, once; for a
new kernel the distribution's hooks request the plan."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Optional

from lowlat.base import files
from lowlat.base.errors import Refused
from lowlat.base.typed_json import decode
from lowlat.boot.disk import Disk, FileSnapshot
from lowlat.boot.state_file import StateFile, lenient
from lowlat.boot.transaction import PATIENT_S, Transaction
from lowlat.host.root import Root
from lowlat.model.cpuset import CpuSet
from lowlat.model.machine import RELEASE, Machine
from lowlat.model.plan import Plan
from lowlat.plan import planner, profile, store
from lowlat.plan.planner import Options
from lowlat.plan.store import DECISION, PLANS, REPLACED, plan_path
from lowlat.probe import probe
from lowlat.probe.kernel import read_release, running_release

SCHEMA = "lowlat.decision/1"


@dataclass(frozen=True)
class Decision:
    """``boot`` is "own" (lowlat's own entries) or "tuned" (TuneD's bootloader plugin); ``runtime``
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


@dataclass(frozen=True)
class Replaced:
    """A decision that another one replaced, and its plan of each kernel."""

    decision: Decision
    plans: tuple[Plan, ...]


def _replaced(document: Any) -> Replaced:
    plans = tuple(map(Plan.from_json, document["plans"]))
    for plan in plans:
        store.check(plan)
    return Replaced(decode(Decision, document["decision"]), plans)


_FILE = StateFile(DECISION, SCHEMA, lenient(Decision), "'lowlat-gen rollback', then apply again")

_REPLACED_FILE = StateFile(REPLACED, "lowlat.replaced/1", _replaced, "remove it: apply again")


def read(root: Root) -> Optional[Decision]:
    """The applied decision, or None. Raises Refused if it is damaged or, for root, if others could
    have written it."""
    root.check_owned(PLANS)
    return _FILE.read(Disk(root))


def read_replaced(root: Root) -> Optional[Replaced]:
    """What the applied decision replaced, or None. Raises Refused as read() does."""
    return _REPLACED_FILE.read(Disk(root))


def write(decision: Decision, plans: Iterable[Plan], change: Transaction) -> None:
    """Store the decision and the plan of each kernel in place of those of an earlier decision,
    which is kept for ``apply --previous``."""
    fresh = {plan_path(str(plan.kernel)): plan.text() for plan in plans}
    with exclusive_lock(change.disk):
        made = None
        with suppress(Refused):  # a damaged decision is not worth keeping
            made = read(change.root)
        if made is not None and made != decision:
            before = Replaced(made, tuple(all_stored(change.root)))
            change.write(REPLACED, _REPLACED_FILE.text(before))
        for name in change.root.names(PLANS):
            if f"{PLANS}/{name}" not in fresh:
                change.discard(f"{PLANS}/{name}")
        for path, text in fresh.items():
            change.write(path, text)
        change.write(DECISION, _FILE.text(decision))


@contextmanager
def exclusive_lock(disk: Disk) -> Iterator[None]:
    """Lock the folder of plans, if it exists: GRUB's generator may store a plan at any time, even
    while another process holds the boot's lock."""
    if disk.root.absent(PLANS):
        yield
        return
    with disk.folder(PLANS) as at, files.locked(".", os.O_DIRECTORY, at, PATIENT_S):
        yield


class Planner:
    """Makes the plan of one kernel after the other by the decision. Probes the machine once, unless
    it is given."""

    def __init__(self, decision: Decision, root: Root, machine: Optional[Machine] = None) -> None:
        self._decision = decision
        self._root = root
        self._machine = machine

    def plan(self, release: str) -> Plan:
        """Raises Refused if the kernel is not installed or no plan can be made for it."""
        machine = self._machine = self._machine or probe(self._root)
        kernel = read_release(self._root, release, machine.kernel)
        wanted = profile.load(self._decision.profile, self._root)
        options, isolated = self._decision.options, self._decision.isolated
        plan = planner.make_plan(machine, kernel, wanted, options)
        if plan.isolated != isolated:
            # Other devices may be busy now and change the choice: the decision fixes the split.
            plan = planner.make_plan(machine, kernel, wanted, options, isolated)
        # A tried line stays, even if the reasons in its plan read differently now.
        with suppress(Refused):
            known = stored(self._root, release)
            if known and known.effect == plan.effect:
                return known
        with suppress(Refused):
            kept = read_replaced(self._root)
            if kept and kept.decision == self._decision:
                same = (each for each in kept.plans if each.kernel == release)
                return next((each for each in same if each.cpus.online == plan.cpus.online), plan)
        return plan

    def plan_and_keep(self, release: str) -> Plan:
        """The stored plan, or a new one that is stored first. Raises Refused if a rollback came
        meanwhile."""
        known = stored(self._root, release)
        if known is not None:
            return known
        plan = self.plan(release)
        disk = Disk(self._root)
        disk.make_folders(plan_path(release))
        with exclusive_lock(disk):
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


def plan_of(root: Root, release: Optional[str]) -> Optional[Plan]:
    """The plan by which a kernel boots, the running one for None; None if nothing is applied.
    Raises Refused if the decision or that plan is damaged, or no plan can be made."""
    made = read(root)
    if made is None:
        return None
    wanted = release or running_release(root) or ""
    return stored(root, wanted) or Planner(made, root).plan(wanted)


def is_stored(decision: Decision, plans: Iterable[Plan], root: Root) -> bool:
    """Whether write() would change nothing."""
    kept = {plan.id for plan in all_stored(root)}
    return root.read(DECISION) == _FILE.text(decision).strip() and kept == {p.id for p in plans}


def with_plan(
    decision: Decision, plan: Plan, root: Root, machine: Machine
) -> tuple[Decision, Plan]:
    """The decision and its plan. The same request keeps the applied split, even if other devices
    are busy now, unless that split is no longer possible or the machine has other CPUs."""
    made = read(root)
    if made is not None and made == replace(decision, isolated=made.isolated):
        with suppress(Refused):
            known = stored(root, str(plan.kernel))
            if known is None or known.cpus.online == plan.cpus.online:
                return made, Planner(made, root, machine).plan(str(plan.kernel))
    return decision, plan


def stored(root: Root, release: str) -> Optional[Plan]:
    """A kernel's stored plan, or None. Raises Refused if it is damaged or another kernel's."""
    path = plan_path(release)
    plan = store.read_kept(path, root) if RELEASE.fullmatch(release) else None
    if plan is not None and plan.kernel != release:
        raise Refused(f"{path}: is the plan of another kernel")
    return plan


def damaged(root: Root) -> Iterator[str]:
    """What is wrong with stored plans, whose kernels would get no entry any more."""
    for name in root.names(PLANS):
        try:
            stored(root, name[: -len(".json")])
        except Refused as error:
            yield error.message


def all_stored(root: Root) -> Iterator[Plan]:
    """Every kernel's stored plan; damaged ones are left out."""
    for name in root.names(PLANS):
        try:
            plan = stored(root, name[: -len(".json")]) if name.endswith(".json") else None
        except Refused:
            continue
        if plan is not None:
            yield plan
