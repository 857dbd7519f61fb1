# SPDX-License-Identifier: GPL-2.0-or-later
"""The run-time half of a plan: set what differs, remember what was there, put it back.

TuneD's [script] calls this; what TuneD sets natively is left to it. Values are compared first and
never written where they are already effective.
"""

import errno
import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Optional

from lowlat.base.errors import LowlatError
from lowlat.base.schema import stamped
from lowlat.base.typed_json import decode
from lowlat.catalogue import lookup
from lowlat.catalogue.entry import Reads, Tunable
from lowlat.host import runstate
from lowlat.host.root import BOOT_ID, Root, glob
from lowlat.model.cpuset import CpuSet, CpuSetError
from lowlat.model.plan import Plan, PlannedSetting
from lowlat.plan import store
from lowlat.runtime import cgroup, kthreads, targets
from lowlat.runtime.kthreads import Threads
from lowlat.runtime.targets import CurrentValue

#: The values before ``start``, and the outcome of each write. /run ends with the boot.
JOURNAL = "/run/lowlat/runtime.json"

SCHEMA = "lowlat.runtime/1"


@dataclass(frozen=True)
class RuntimeRecord:
    """By path: the values before ``start``, why the kernel refused a value (managed and per-CPU
    interrupts do), and every value that was effective after ``start``. Among the old values stands
    how each control group was made."""

    old: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    done: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for path, text in (*self.old.items(), *self.refused.items(), *self.done.items()):
            if not targets.is_path(path) and not cgroup.is_key(path):
                raise ValueError("no path of a setting")
            text.encode()


@dataclass(frozen=True)
class Inspected:
    """One file or kernel thread: what it holds now (None: not there, or not to be read), whether
    that is what the plan wants, and what hinders it. ``fixed``: an interrupt or a thread that the
    kernel keeps in its place. ``entry`` is the setting's in the catalogue."""

    setting: PlannedSetting
    entry: Tunable
    path: str
    value: Optional[str]
    effective: bool
    problem: str = ""
    fixed: bool = False

    @property
    def failed(self) -> bool:
        return not self.effective and not self.fixed


@dataclass(frozen=True)
class Leftovers:
    """The values that ``stop`` could not put back, and the groups that stay, with reasons."""

    problems: tuple[str, ...]
    kept: tuple[str, ...]


def ours(plan: Plan) -> Iterator[PlannedSetting]:
    """The settings this module sets: all but those TuneD sets natively."""
    return (item for item in plan.runtime if lookup(item.name).tuned is None)


def equal(reads: Reads, held: Optional[str], wanted: str) -> bool:
    """Whether the text a file holds means the wanted value."""
    if held is None:
        return False
    try:
        if reads is Reads.LIST:
            return CpuSet.parse_list(held) == CpuSet.parse_list(wanted)
        if reads is Reads.MASK:
            return CpuSet.parse_mask(held) == CpuSet.parse_mask(wanted)
        if reads is Reads.WITHIN:
            return bool(held) and CpuSet.parse_mask(held) <= CpuSet.parse_mask(wanted)
        if reads is Reads.HEX:
            return int(held, 16) == int(wanted, 16)
        if reads is Reads.WAYS and ":" in wanted:
            return _ways(wanted) <= _ways(held)
    except (CpuSetError, ValueError):
        return False
    if reads is Reads.CHOICE:
        return f"[{wanted}]" in held
    return held == wanted or (reads is Reads.FLAG and held == {"Y": "1"}.get(wanted))


def _ways(text: str) -> set[tuple[str, str, int]]:
    """The share of each cache, as resctrl prints it: name, number, mask. Raises ValueError."""
    lines = (line.partition(":") for line in text.splitlines())
    each = ((name.strip(), part.split("=")) for name, _, rest in lines for part in rest.split(";"))
    return {(name, number, int(mask, 16)) for name, (number, mask) in each}


#: How the kernel refuses to move managed and per-CPU interrupts (before 6.12; read-only since):
#: irq_do_set_affinity() in kernel/irq/manage.c. One for which a CPU had no vector left is no such.
_KEPT_IRQ = frozenset(map(os.strerror, (errno.EIO, errno.EPERM)))
#: And its own threads of a CPU: set_cpus_allowed_ptr() in kernel/sched/core.c.
_KEPT_THREAD = frozenset({os.strerror(errno.EINVAL)})


def kept_interrupts(root: Root) -> frozenset[str]:
    """The numbers of the interrupts that the kernel keeps in their place."""
    refused = read_journal(root).refused
    paths = glob(root, "/proc/irq/[0-9]*/smp_affinity")
    kept = (path for path in paths if _keeps(path, refused.get(path, ""), root))
    return frozenset(path.split("/")[3] for path in kept)


def _keeps(path: str, refused: str, root: Root) -> bool:
    """Whether the kernel refuses every change of what is at a path; ``refused`` is what it said."""
    if kthreads.is_path(path):
        return refused in _KEPT_THREAD
    mode = root.mode(path)
    read_only = mode is not None and not mode & 0o200
    return read_only or (path.startswith("/proc/irq/") and refused in _KEPT_IRQ)


def inspect(settings: Iterable[PlannedSetting], root: Root) -> list[Inspected]:
    """The present value of every file and kernel thread that the settings name."""
    refused = read_journal(root).refused
    known = Threads(root)
    return [
        _inspect(setting, entry, held, root, refused.get(held.path, ""))
        for setting in settings
        for entry in (lookup(setting.name),)
        for held in targets.look(setting.target, root, known)
    ]


def _inspect(
    setting: PlannedSetting, entry: Tunable, held: CurrentValue, root: Root, refused: str
) -> Inspected:
    path, value = held.path, held.value
    found = partial(Inspected, setting, entry, path, value)
    if equal(entry.reads, value, setting.value):
        return found(True)
    if value is None:
        why = refused or ("is not there" if root.absent(path) else "cannot be read")
        return found(False, why)
    # The text of cpuset.cpus.partition for an invalid partition (cgroup-v2.rst).
    invalid = re.fullmatch(rf"{re.escape(setting.value)} invalid \((.*)\)", value)
    if invalid:
        return found(False, invalid[1])
    fixed = held.bound or (entry.tolerant and _keeps(path, refused, root))
    return found(False, refused, fixed)


def pending(outcomes: Iterable[Inspected]) -> list[Inspected]:
    """The settings that ``start`` writes: different and writable, or in a group to be made."""
    return [
        item for item in outcomes if item.failed and (item.value is not None or item.entry.cgroup)
    ]


def start(plan: Plan, root: Root) -> list[Inspected]:
    """Set what differs. The old values are on disk before the first of them is overwritten. Raises
    Refused where the journal of old values cannot be written."""
    settings = list(ours(plan))
    journal = _make_groups(plan, pending(inspect(settings, root)), root)
    todo = [item for item in pending(inspect(settings, root)) if item.value is not None]
    old = {**{item.path: _writable_form(item) for item in todo}, **journal.old}
    _write_journal(root, replace(journal, old=old))
    problems = {item.path: targets.write(root, item.path, _wanted(item, root)) for item in todo}
    # A value that an earlier start did set is remembered, though this one was refused.
    kept = {path: value for path, value in old.items() if path in journal.old or not problems[path]}
    refused = {path: why for path, why in {**journal.refused, **problems}.items() if why}
    _write_journal(root, RuntimeRecord(kept, refused, journal.done))
    outcomes = inspect(plan.runtime, root)
    effective = {item.path: item.value or "" for item in outcomes if item.effective}
    _write_journal(root, RuntimeRecord(kept, refused, {**journal.done, **effective}))
    return [item for item in outcomes if item.setting in settings]


def _make_groups(plan: Plan, todo: Iterable[Inspected], root: Root) -> RuntimeRecord:
    """Make the control groups of what is to be set, and note how; the journal from then on."""
    journal = read_journal(root)
    wanted = [(item.entry.cgroup, item.path) for item in todo]
    for group in dict.fromkeys(group for group, _ in wanted if group):
        key = f"{cgroup.SCHEME}{group}"
        how = journal.old.get(key) or cgroup.way(root, group)
        if how:
            journal = replace(journal, old={**journal.old, key: how})
            _write_journal(root, journal)
        problem = cgroup.make(root, group, how, str(plan.isolated))
        refused = {path: problem for held, path in wanted if held == group}
        journal = replace(journal, refused={**journal.refused, **refused})
    return journal


def _wanted(outcome: Inspected, root: Root) -> str:
    """The planned value; of a mask that reaches beyond it, what lies within stays as it is, and
    without any such CPU an interrupt stays on its device's node where that has planned ones."""
    if outcome.entry.reads is not Reads.WITHIN:
        return outcome.setting.value
    planned = CpuSet.parse_mask(outcome.setting.value)
    try:
        held = CpuSet.parse_mask(outcome.value or "0")
    except CpuSetError:
        return outcome.setting.value
    return ((held & planned) or (_node_of(outcome.path, root) & planned) or planned).mask()


def _node_of(path: str, root: Root) -> CpuSet:
    """The CPUs of the NUMA node of an interrupt's device; none where it has none."""
    found = re.fullmatch(r"(/proc/irq/\d+)/smp_affinity", path)
    node = root.read_int(f"{found[1]}/node") if found else None
    folder = f"/sys/devices/system/node/node{node}"
    return root.read_cpus(f"{folder}/cpulist", f"{folder}/cpumap") or CpuSet()


def _writable_form(outcome: Inspected) -> str:
    """The text to write to get the present value back."""
    value = outcome.value or ""
    reads = outcome.entry.reads
    if reads is Reads.CHOICE:
        begin, end = value.find("["), value.find("]")
        return value[begin + 1 : end] if 0 <= begin < end else value
    if reads is Reads.HEX and re.fullmatch(r"[0-9a-f]{1,16}", value):
        # Printed in hexadecimal without a prefix, read as decimal (ABI/testing/sysfs-mce).
        return str(int(value, 16))
    return value.partition(" invalid (")[0]


def stop(root: Root) -> Leftovers:
    """Put every remembered value back; twice in a row does no harm."""
    old = read_journal(root).old
    groups = [path for path in old if cgroup.is_key(path)]
    kernel = [path for path in old if kthreads.is_path(path)]
    files = [path for path in reversed(old) if path not in (*groups, *kernel)]
    problems = {path: _put_back(root, path, old[path]) for path in files}
    kept = {}
    for key in groups:
        problems[key], kept[key] = cgroup.unmake(root, key[len(cgroup.SCHEME) :], old[key])
    # Last: no thread may return to the CPUs of a partition while there is one.
    problems.update({path: _put_back(root, path, old[path]) for path in kernel})
    left = {path: old[path] for path in old if problems[path] or kept.get(path)}
    if left:
        _write_journal(root, RuntimeRecord(left))
    else:
        runstate.forget(root, JOURNAL)
        runstate.forget(root, store.IN_USE)
    return Leftovers(
        tuple(f"{path}: {problem}" for path, problem in problems.items() if problem),
        tuple(filter(None, kept.values())),
    )


def _put_back(root: Root, path: str, value: str) -> str:
    if targets.gone(root, path) or targets.read(root, path) == value:
        return ""
    return targets.write(root, path, value)


def read_journal(root: Root) -> RuntimeRecord:
    """The journal of this boot, empty before ``start`` and where it is of another boot. Raises
    LowlatError where it is damaged, or, for root, where others could have written it."""
    root.check_owned(JOURNAL)
    try:
        document = json.loads(root.read(JOURNAL) or "{}")
        if document.get("boot") not in (None, root.read(BOOT_ID)):
            return RuntimeRecord()
        return decode(RuntimeRecord, document)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        hint = "remove it: the old values are back after a reboot"
        raise LowlatError(f"{JOURNAL} is damaged", hint=hint) from error


def _write_journal(root: Root, journal: RuntimeRecord) -> None:
    document = stamped(SCHEMA, {"boot": root.read(BOOT_ID), **asdict(journal)})
    runstate.keep(root, JOURNAL, json.dumps(document, indent=1))
