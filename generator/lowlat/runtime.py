# SPDX-License-Identifier: GPL-2.0-or-later
"""The run-time half of a plan: set what differs, remember what was there, put it back.

TuneD's [script] calls this; what TuneD sets natively is left to it. Values are compared first and
never written where they are already effective.
"""

from __future__ import annotations

import fnmatch
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Optional

from lowlat.catalogue import lookup
from lowlat.catalogue.entry import Reads
from lowlat.cpuset import CpuSet, CpuSetError
from lowlat.errors import LowlatError, Refused
from lowlat.plan import Plan, Setting
from lowlat.root import Root

#: What was there before, by path. In /run: it does not outlive the boot it belongs to.
JOURNAL = "/run/lowlat/runtime.json"


@dataclass(frozen=True)
class Journal:
    """By path: the values before ``start``, and why the kernel refused a value (managed and
    per-CPU interrupts do)."""

    old: dict[str, str]
    refused: dict[str, str]


@dataclass(frozen=True)
class Outcome:
    """One file: what it holds now (None: not there, or not to be read), whether that is what the
    plan wants, and what hinders it. ``fixed``: an interrupt that the kernel keeps in its place."""

    setting: Setting
    path: str
    value: Optional[str]
    effective: bool
    problem: str = ""
    fixed: bool = False

    @property
    def failed(self) -> bool:
        return not self.effective and not self.fixed


def ours(plan: Plan) -> Iterator[Setting]:
    """The settings this module sets: all but those TuneD sets natively."""
    return (item for item in plan.runtime if lookup(item.name).tuned is None)


def files(setting: Setting, root: Root) -> list[str]:
    """The files a setting's target names; a glob may name many or none."""
    if not _is_glob(setting.target):
        return [setting.target]
    found = [""]
    for part in setting.target.strip("/").split("/"):
        found = [
            f"{folder}/{name}"
            for folder in found
            for name in (root.names(folder or "/") if _is_glob(part) else (part,))
            if fnmatch.fnmatchcase(name, part) or name == part
        ]
    return [path for path in found if root.exists(path)]


def _is_glob(part: str) -> bool:
    return any(sign in part for sign in "*[?")


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
    except (CpuSetError, ValueError):
        return False
    if reads is Reads.CHOICE:
        return f"[{wanted}]" in held
    return held == wanted


def inspect(settings: Iterable[Setting], root: Root) -> list[Outcome]:
    """What every file of the settings holds now."""
    refused = read_journal(root).refused
    return [
        _inspect(setting, path, root, refused.get(path, ""))
        for setting in settings
        for path in files(setting, root)
    ]


def _inspect(setting: Setting, path: str, root: Root, refused: str) -> Outcome:
    value = root.read(path)
    entry = lookup(setting.name)
    if equal(entry.reads, value, setting.value):
        return Outcome(setting, path, value, True)
    if value is None:
        gone = root.absent(path)
        return Outcome(setting, path, None, False, "is not there" if gone else "cannot be read")
    mode = root.mode(path)
    # Managed and per-CPU interrupts: read-only from 6.12 on, refused when written before.
    fixed = entry.tolerant and bool(refused or (mode is not None and not mode & 0o200))
    return Outcome(setting, path, value, False, refused, fixed)


def pending(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """What ``start`` writes: what differs and can be written."""
    return [item for item in outcomes if item.failed and item.value is not None]


def start(plan: Plan, root: Root) -> list[Outcome]:
    """Set what differs. The old values are on disk before the first of them is overwritten.

    Raises Refused where the journal of old values cannot be written.
    """
    settings = list(ours(plan))
    todo = pending(inspect(settings, root))
    journal = read_journal(root)
    old = {**{item.path: _writable_form(item) for item in todo}, **journal.old}
    _write_journal(root, Journal(old, journal.refused))
    problems = {item.path: write(root, item.path, _wanted(item)) for item in todo}
    refused = {path: problem for path, problem in problems.items() if problem}
    # A value that an earlier start did set is remembered, though this one was refused.
    kept = {
        path: value for path, value in old.items() if path not in refused or path in journal.old
    }
    _write_journal(root, Journal(kept, {**journal.refused, **refused}))
    return inspect(settings, root)


def _wanted(outcome: Outcome) -> str:
    """The planned value; of a mask that reaches beyond it, what lies within stays as it is."""
    if lookup(outcome.setting.name).reads is not Reads.WITHIN:
        return outcome.setting.value
    planned = CpuSet.parse_mask(outcome.setting.value)
    return ((CpuSet.parse_mask(outcome.value or "0") & planned) or planned).mask()


def _writable_form(outcome: Outcome) -> str:
    """What has to be written to get the value back that is there now."""
    value = outcome.value or ""
    reads = lookup(outcome.setting.name).reads
    if reads is Reads.CHOICE:
        begin, end = value.find("["), value.find("]")
        return value[begin + 1 : end] if 0 <= begin < end else value
    if reads is Reads.HEX:
        # Printed in hexadecimal without a prefix, read as decimal (ABI/testing/sysfs-mce).
        return str(int(value, 16))
    return value


def stop(root: Root) -> list[str]:
    """Put every remembered value back and return the problems; twice in a row does no harm."""
    left: dict[str, str] = {}
    problems = []
    for path, value in reversed(read_journal(root).old.items()):
        # An interrupt may be gone by now, with its driver.
        problem = "" if root.absent(path) or root.read(path) == value else write(root, path, value)
        if problem:
            left[path] = value
            problems.append(f"{path}: {problem}")
    if left:
        _write_journal(root, Journal(left, {}))
    else:
        _remove_journal(root)
    return problems


def write(root: Root, path: str, value: str) -> str:
    """Write one value into an existing file of the kernel; the problem in words, or ""."""
    data = value.encode()
    try:
        fd = os.open(root.host(path), os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        return error.strerror or "cannot be opened"
    try:
        if not root.holds(fd):
            return "a link leads out of the captured tree"
        if not root.live:
            os.ftruncate(fd, 0)  # a file of the kernel takes the write as a whole
        return "" if os.write(fd, data) == len(data) else "was written in part only"
    except OSError as error:
        return error.strerror or "cannot be written"
    finally:
        os.close(fd)


def read_journal(root: Root) -> Journal:
    """The journal of this boot, empty before ``start``. Raises LowlatError where it is damaged."""
    try:
        document = json.loads(root.read(JOURNAL) or "{}")
        return Journal(_texts(document.get("old", {})), _texts(document.get("refused", {})))
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise LowlatError(
            f"{JOURNAL} is damaged", hint="remove it: the old values are back after a reboot"
        ) from error


def _texts(document: Any) -> dict[str, str]:
    """Paths of the kernel's files with a text each. Raises ValueError for anything else."""
    for path, text in document.items():
        parts = path.split("/")
        if parts[:2] not in (["", "proc"], ["", "sys"]) or ".." in parts or "\0" in path:
            raise ValueError(path)
        text.encode()
    return dict(document)


def _write_journal(root: Root, journal: Journal) -> None:
    path = Path(root.host(JOURNAL))
    fresh = path.with_suffix(".new")
    try:
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o644)
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            json.dump(asdict(journal), file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}", hint="run as root") from error


def _remove_journal(root: Root) -> None:
    try:
        Path(root.host(JOURNAL)).unlink(missing_ok=True)
    except OSError as error:
        raise Refused(f"{JOURNAL}: {error.strerror}", hint="run as root") from error
