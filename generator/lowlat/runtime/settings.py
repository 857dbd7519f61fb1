# SPDX-License-Identifier: GPL-2.0-or-later
"""The run-time settings of a plan: set what differs, record the old values, restore them.

TuneD's [script] calls this module; settings that TuneD supports natively are left to TuneD. A value
that is already effective is not written.
"""

import errno
import os
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from operator import attrgetter
from types import MappingProxyType
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.catalogue import lookup
from lowlat.catalogue.entry import Tunable, ValueFormat
from lowlat.host import kernel_threads, runstate
from lowlat.host.root import Root, glob
from lowlat.model.cpuset import CpuSet, CpuSetError
from lowlat.model.plan import Plan, PlannedSetting
from lowlat.plan import store
from lowlat.runtime import cgroup, faults, targets
from lowlat.runtime import journal as journals
from lowlat.runtime.journal import JOURNAL, RuntimeRecord
from lowlat.runtime.kthreads import Threads


@dataclass(frozen=True)
class Inspected:
    """One file or kernel thread: its present value (None: missing or unreadable), whether the
    planned value is effective, and what prevents it. ``fixed``: the kernel does not move this
    interrupt or thread. ``barred``: a change would bring out a fault of this kernel. ``entry`` is
    the setting's tunable in the catalogue."""

    setting: PlannedSetting
    entry: Tunable
    path: str
    value: Optional[str]
    effective: bool
    problem: str = ""
    fixed: bool = False
    barred: bool = False

    @property
    def failed(self) -> bool:
        return not self.effective and not self.fixed

    @property
    def planned(self) -> str:
        return self.entry.reads.listed(self.setting.value)

    def held(self, between: str) -> str:
        """The path and its value in words, with the text ``between`` them."""
        value = self.value
        held = "missing" if value is None else self.entry.reads.listed(value) or "empty"
        return f"{kernel_threads.display_name(self.path)}{between} {held}"

    @property
    def failure(self) -> str:
        """What is there instead of the planned value, and why, in words."""
        said = kernel_threads.display_name(self.path) if self.value is None else self.held(" is")
        why = "" if self.problem in (self.value or "") else f": {self.problem}"
        return f"{said}, planned {self.planned}{why}"


def ours(plan: Plan, root: Root) -> Iterator[PlannedSetting]:
    """The settings that this module sets: all that TuneD does not support natively; without a boot
    all, for TuneD does not act then."""
    whole = not root.absent(store.NOW)
    return (item for item in plan.runtime if whole or lookup(item.name).tuned is None)


def equal(reads: ValueFormat, held: Optional[str], wanted: str) -> bool:
    """Whether the text in a file means the wanted value."""
    if held is None:
        return False
    try:
        if reads is ValueFormat.LIST:
            return CpuSet.parse_list(held) == CpuSet.parse_list(wanted)
        if reads is ValueFormat.MASK:
            return CpuSet.parse_mask(held) == CpuSet.parse_mask(wanted)
        if reads is ValueFormat.WITHIN:
            return bool(held) and CpuSet.parse_mask(held) <= CpuSet.parse_mask(wanted)
        if reads is ValueFormat.COVERS:
            return CpuSet.parse_list(wanted) <= CpuSet.parse_list(held)
        if reads is ValueFormat.HEX:
            return int(held, 16) == int(wanted, 16)
        if reads is ValueFormat.WAYS and ":" in wanted:
            return _ways(wanted) <= _ways(held)
    except (CpuSetError, ValueError):
        return False
    if reads is ValueFormat.CHOICE:
        return f"[{wanted}]" in held
    return held == wanted or (reads is ValueFormat.FLAG and held == {"Y": "1"}.get(wanted))


def _ways(text: str) -> set[tuple[str, str, int]]:
    """Each cache's share, as resctrl prints it: name, number, mask. Raises ValueError."""
    lines = (line.partition(":") for line in text.splitlines())
    each = ((name.strip(), part.split("=")) for name, _, rest in lines for part in rest.split(";"))
    return {(name, number, int(mask, 16)) for name, (number, mask) in each}


#: The errors with which irq_do_set_affinity() in kernel/irq/manage.c refuses to move managed and
#: per-CPU interrupts (before 6.12; read-only since). A lack of free vectors has another errno.
_KEPT_IRQ = frozenset(map(os.strerror, (errno.EIO, errno.EPERM)))
#: The same for per-CPU kernel threads: set_cpus_allowed_ptr() in kernel/sched/core.c.
_KEPT_THREAD = frozenset({os.strerror(errno.EINVAL)})


def kept_interrupts(root: Root, refused: Mapping[str, str]) -> frozenset[str]:
    """The numbers of the interrupts that the kernel refuses to move, by what the journal says that
    it ``refused``, too."""
    paths = glob(root, "/proc/irq/[0-9]*/smp_affinity")
    kept = (path for path in paths if _keeps(path, refused.get(path, ""), root))
    return frozenset(path.split("/")[3] for path in kept)


def _keeps(path: str, refused: str, root: Root) -> bool:
    """Whether the kernel refuses every change at a path; ``refused`` is its error message."""
    if kernel_threads.is_path(path):
        return refused in _KEPT_THREAD
    mode = root.mode(path)
    read_only = mode is not None and not mode & 0o200
    return read_only or (path.startswith("/proc/irq/") and refused in _KEPT_IRQ)


def inspect(
    settings: Iterable[PlannedSetting],
    root: Root,
    journal: Optional[RuntimeRecord] = None,
    threads: Optional[Threads] = None,
) -> list[Inspected]:
    """The present value of every file and kernel thread of the settings. The journal and the list
    of threads are read unless they are given."""
    record = journal or journals.read(root)
    known = threads or Threads(root)
    return [
        _bar(_inspect(setting, entry, held, root, record), faults.of(entry, root))
        for setting in settings
        for entry in (lookup(setting.name),)
        for held in targets.look(setting.target, root, known)
    ]


def _bar(outcome: Inspected, fault: str) -> Inspected:
    barred = bool(fault) and not outcome.effective
    return replace(outcome, problem=fault, barred=True) if barred else outcome


def _inspect(
    setting: PlannedSetting,
    entry: Tunable,
    held: tuple[str, Optional[str], bool],
    root: Root,
    record: RuntimeRecord,
) -> Inspected:
    path, value, bound = held
    refused = record.refused.get(path, "")
    inspected = partial(Inspected, setting, entry, path, value)
    if equal(entry.reads, value, setting.value):
        settled = record.settled(path)
        return inspected(settled, "" if settled else "an earlier value may still be taken")
    if value is None:
        return inspected(False, refused or targets.unreadable(root, path))
    # The content of cpuset.cpus.partition for an invalid partition (cgroup-v2.rst).
    invalid = re.fullmatch(rf"{re.escape(setting.value)} invalid \((.*)\)", value)
    if invalid:
        return inspected(False, invalid[1])
    fixed = bound or (entry.tolerant and _keeps(path, refused, root))
    return inspected(False, refused, fixed)


def values(outcomes: Iterable[Inspected], due: Mapping[str, str] = MappingProxyType({})) -> str:
    """The present values, or those in ``due`` instead, a row each."""
    return "".join(f"{item.path}: {due.get(item.path, item.value)}\n" for item in outcomes)


def pending(outcomes: Iterable[Inspected]) -> list[Inspected]:
    """The settings that ``start`` writes: not effective, and writable or in a group to be made."""
    due = (item for item in outcomes if item.failed and not item.barred)
    return [item for item in due if item.value is not None or item.entry.cgroup]


def start(plan: Plan, root: Root) -> list[Inspected]:
    """Set what differs, one tunable after the other: what the first ones changed, the later ones
    see. The old values are on disk before they are overwritten. Raises Refused if the journal
    cannot be written."""
    settings, journal, threads = list(ours(plan, root)), journals.read(root), Threads(root)
    grouped = [setting for setting in settings if lookup(setting.name).cgroup]
    journal = _make_groups(plan, pending(inspect(grouped, root, journal)), journal, root)
    for _, group in groupby(settings, key=attrgetter("name")):
        journal = _set(list(group), journal, root, threads)
    # Kernel threads that began meanwhile.
    late = [setting for setting in settings if setting.target.startswith(kernel_threads.SCHEME)]
    journal = _set(late, journal, root, Threads(root))
    outcomes = inspect(plan.runtime, root, journal)
    effective = {item.path: item.value or "" for item in outcomes if item.effective}
    journals.write(root, replace(journal, done={**journal.done, **effective}))
    return [item for item in outcomes if item.setting in settings]


def commands(plan: Plan, root: Root) -> Iterator[str]:
    """What start() does without a boot: a command, or a message to irqbalance, a line."""
    due = pending(inspect(plan.runtime, root))
    groups = dict.fromkeys(_group(item) for item in due if item.entry.cgroup)
    for group in groups:
        yield from cgroup.commands(root, group, _cpus_of(group, plan))
    yield from (targets.command(item.path, _wanted(item, root)) for item in due)


def _group(outcome: Inspected) -> str:
    """The control group of a file."""
    return outcome.path.rpartition("/")[0]


def _cpus_of(group: str, plan: Plan) -> str:
    """The LIST of CPUs that the plan gives a control group."""
    path = f"{group}/cpuset.cpus"
    return next((item.value for item in plan.runtime if item.target == path), "")


def _set(
    settings: Sequence[PlannedSetting],
    journal: RuntimeRecord,
    root: Root,
    threads: Threads,
) -> RuntimeRecord:
    """Set one tunable; returns the journal with what came of it."""
    due = pending(inspect(settings, root, journal, threads))
    todo = [item for item in due if item.value is not None]
    if not todo:
        return journal
    # An old value from an earlier start is kept, even if this write is refused.
    fresh = {item.path: item for item in todo if item.path not in journal.old}
    old = {path: _writable_form(item) for path, item in fresh.items()}
    shown = {path: fresh[path].value or "" for path in old if old[path] != fresh[path].value}
    before = replace(journal, old={**journal.old, **old}, shown={**journal.shown, **shown})
    journals.write(root, before)
    problems = {item.path: targets.write(root, item.path, _wanted(item, root)) for item in todo}
    # A write may take effect and still tell of a problem.
    kept = {
        path: value
        for path, value in before.old.items()
        if not (path in old and problems[path] and _as_before(root, path, value))
    }
    refused = {path: why for path, why in {**journal.refused, **problems}.items() if why}
    told = {
        item.path: item.planned
        for item in todo
        if not (targets.lasts(item.path) or problems[item.path])
    }
    return replace(before, old=kept, refused=refused, done={**before.done, **told})


def _make_groups(
    plan: Plan, todo: Iterable[Inspected], journal: RuntimeRecord, root: Root
) -> RuntimeRecord:
    """Make the control groups of these settings; returns the journal with how each was made."""
    wanted = [(_group(item), item.path) for item in todo]
    for group in dict.fromkeys(group for group, _ in wanted):
        key = f"{cgroup.SCHEME}{group}"
        how = journal.old.get(key) or cgroup.way(root, group)
        if how:
            journal = replace(journal, old={**journal.old, key: how})
            journals.write(root, journal)
        problem = cgroup.make(root, group, how, _cpus_of(group, plan))
        refused = {path: problem for held, path in wanted if held == group}
        journal = replace(journal, refused={**journal.refused, **refused})
    return journal


def _wanted(outcome: Inspected, root: Root) -> str:
    """The planned value. Of an affinity mask that reaches beyond the planned CPUs, the planned ones
    are kept, those on the device's node if there are any; if none is left, those on its node are
    taken. At boot the kernel chooses so too (kernel/irq/manage.c, irq_setup_affinity()). A list
    that has to cover the planned CPUs keeps its own."""
    if outcome.entry.reads is ValueFormat.COVERS:
        planned = CpuSet.parse_list(outcome.setting.value)
        with suppress(CpuSetError):
            return str(CpuSet.parse_list(outcome.value or "") | planned)
        return str(planned)
    if outcome.entry.reads is not ValueFormat.WITHIN:
        return outcome.setting.value
    planned = CpuSet.parse_mask(outcome.setting.value)
    try:
        held = CpuSet.parse_mask(outcome.value or "0")
    except CpuSetError:
        return outcome.setting.value
    near = planned & _node_of(outcome.path, root)
    return ((held & near) or (held & planned) or near or planned).mask()


def _node_of(path: str, root: Root) -> CpuSet:
    """The CPUs of the NUMA node of an interrupt's device; empty if it has no node."""
    match = re.fullmatch(r"(/proc/irq/\d+)/smp_affinity", path)
    node = root.read_int(f"{match[1]}/node") if match else None
    folder = f"/sys/devices/system/node/node{node}"
    return root.read_cpus(f"{folder}/cpulist", f"{folder}/cpumap") or CpuSet()


def _writable_form(outcome: Inspected) -> str:
    """The text that restores the present value when written."""
    value = outcome.value or ""
    reads = outcome.entry.reads
    if reads is ValueFormat.CHOICE:
        begin, end = value.find("["), value.find("]")
        return value[begin + 1 : end] if 0 <= begin < end else value
    if reads is ValueFormat.HEX and re.fullmatch(r"[0-9a-f]{1,16}", value):
        # Printed in hexadecimal without a prefix, read as decimal (ABI/testing/sysfs-mce).
        return str(int(value, 16))
    return value.partition(" invalid (")[0]


def stop(root: Root) -> tuple[list[str], list[str]]:
    """Restore every recorded value, the last first, and compare; a second call does no harm.
    Returns what could not be restored, and what stays, with reasons: groups, and what brings out a
    fault of this kernel."""
    journal = journals.read(root)
    lasting = {path: value for path, value in journal.done.items() if targets.lasts(path)}
    if len(lasting) < len(journal.done):
        with suppress(Refused):  # of a full disk: what is set is put back all the same
            journals.write(root, replace(journal, done=lasting))
    kept = staying(root, journal.old)
    old = {path: value for path, value in journal.old.items() if path not in kept}
    groups = [path for path in reversed(old) if cgroup.is_key(path)]
    kernel = [path for path in old if kernel_threads.is_path(path)]
    files = [path for path in reversed(old) if path not in (*groups, *kernel)]
    before = {path: (value, journal.shown.get(path)) for path, value in old.items()}
    problems = {path: _put_back(root, path, before[path]) for path in files}
    for key in groups:
        problems[key], kept[key] = cgroup.unmake(root, key[len(cgroup.SCHEME) :], old[key])
    # Last: while the partition exists, no thread may return to its CPUs.
    problems.update({path: _put_back(root, path, before[path]) for path in kernel})
    for path in filter(targets.stays, (*files, *kernel)):
        problems[path] = problems[path] or _differs(root, path, before[path])
    whole = journal.old
    left = {path: whole[path] for path in whole if problems.get(path) or kept.get(path)}
    if left:
        journals.write(root, RuntimeRecord(left, shown=journal.shown))
    else:
        runstate.forget(root, JOURNAL)
        runstate.forget(root, store.IN_USE)
    failed = [f"{path}: {problem}" for path, problem in problems.items() if problem]
    return failed, [*filter(None, kept.values())]


def _differs(root: Root, path: str, before: Container[Optional[str]]) -> str:
    """How a value differs from what it was before, as text, or ""."""
    held = targets.read(root, path)
    if held in before or targets.gone(root, path):
        return ""
    return "cannot be read" if held is None else f"is {held[:80] or 'empty'} after it was put back"


def undoing(root: Root) -> list[str]:
    """What stop() would do, a line for each path."""
    old = journals.read(root).old
    kept = staying(root, old)
    return [
        kept.get(path) or f"{kernel_threads.display_name(path)} would become {value}"
        for path, value in old.items()
    ]


def staying(root: Root, old: Mapping[str, str]) -> dict[str, str]:
    """By path or group: why ``stop`` does not restore its ``old`` value before the next boot."""
    return {
        path: why
        for path, why in faults.paths(root).items()
        if path in old and not _as_before(root, path, old[path])
    }


def _as_before(root: Root, path: str, value: str) -> bool:
    if cgroup.is_key(path):
        return root.absent(path[len(cgroup.SCHEME) :])
    return targets.gone(root, path) or targets.read(root, path) == value


def _put_back(root: Root, path: str, before: tuple[str, Optional[str]]) -> str:
    value, _ = before
    if targets.gone(root, path) or (targets.lasts(path) and _as_before(root, path, value)):
        return ""
    problem = targets.write(root, path, value)
    return problem if targets.stays(path) else problem or _differs(root, path, before)
