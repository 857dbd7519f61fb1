# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes as /proc shows them; one that ends meanwhile is gone, never an error."""

from __future__ import annotations

import os
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")


def _read(path: Path) -> str:
    """The file's text, "" if its process has ended."""
    try:
        return path.read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def state(pid: int) -> str:
    """The letter of the process's state, such as "S" (proc_pid_stat(5)); "" if it is gone."""
    return _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].strip()[:1]


def name(pid: int) -> str:
    """The name of the process or thread, "" if it is gone (proc_pid_comm(5))."""
    return _read(Path(f"/proc/{pid}/comm")).strip()


def alive(pid: int) -> bool:
    """Whether the process runs or sleeps; a zombie has ended."""
    return state(pid) not in ("", "Z", "X")


def threads(pid: int) -> list[int]:
    try:
        return [int(entry.name) for entry in Path(f"/proc/{pid}/task").iterdir()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def children(pid: int) -> list[int]:
    """The process's children, each before its own children."""
    found: list[int] = []
    for thread in threads(pid):
        for child in _read(Path(f"/proc/{pid}/task/{thread}/children")).split():
            found += [int(child), *children(int(child))]
    return found


def opened(pid: int) -> set[Path]:
    """The files that the process has open."""
    try:
        return {entry.readlink() for entry in Path(f"/proc/{pid}/fd").iterdir()}
    except OSError:  # it ended, or closed one of them
        return set()


def has_open(pid: int, path: Path) -> bool:
    """Whether the process has this file open, even if it sees the file under another name."""
    try:
        wanted = path.stat()
        folder = Path(f"/proc/{pid}/fd")
        return any(os.path.samestat(wanted, each.stat()) for each in folder.iterdir())
    except OSError:  # the file is not there, or the process ended or closed one of its files
        return False


def opener(pid: int, path: Path) -> int:
    """The process, or one that it started, that has this file open; 0: none."""
    return next((each for each in (pid, *children(pid)) if has_open(each, path)), 0)


def writes(path: Path) -> bool:
    """Whether the file is the standard output of a process."""
    links = (entry / "fd/1" for entry in Path("/proc").iterdir() if entry.name.isdecimal())
    return str(path.resolve()) in map(_target, links)


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""


def sleeps(pid: int) -> int:
    """How often the process or thread has slept so far (proc_pid_status(5),
    voluntary_ctxt_switches)."""
    return int(_status(pid, "voluntary_ctxt_switches") or "0")


def signals(pid: int, field: str) -> set[int]:
    """The signals in a field of /proc/PID/status, such as SigBlk or ShdPnd (pending)."""
    mask = int(_status(pid, field) or "0", 16)
    return {number for number in range(1, 65) if mask >> (number - 1) & 1}


def _status(pid: int, field: str) -> str:
    for line in _read(Path(f"/proc/{pid}/status")).splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return value.strip()
    return ""


def groups(name: str) -> list[Path]:
    """The control groups of this name in all hierarchies."""
    return [
        Path(folder, name) for folder, names, _ in os.walk(_CGROUPS) for each in names
        if each == name
    ]  # fmt: skip
