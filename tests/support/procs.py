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


def sleeps(pid: int) -> int:
    """How often the process has slept so far (proc_pid_status(5), voluntary_ctxt_switches)."""
    for line in _read(Path(f"/proc/{pid}/status")).splitlines():
        if line.startswith("voluntary_ctxt_switches:"):
            return int(line.split()[1])
    return 0


def groups(name: str) -> list[Path]:
    """The control groups of this name in all hierarchies."""
    return [
        Path(folder, name) for folder, names, _ in os.walk(_CGROUPS) for each in names
        if each == name
    ]  # fmt: skip
