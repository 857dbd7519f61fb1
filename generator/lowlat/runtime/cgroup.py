# SPDX-License-Identifier: GPL-2.0-or-later
"""The control group (v2) of the isolated CPUs: made for its settings and removed with them.

Under systemd it is a slice, so that systemd and lowlat write the same CPUs; elsewhere a folder.
"""

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from lowlat.base import process
from lowlat.base.errors import LowlatError
from lowlat.host.root import Root
from lowlat.model.cpuset import CpuSet
from lowlat.runtime import targets

SCHEME = "cgroup:"

_TOP = "/sys/fs/cgroup"

_SLICE_OF_A_SET = r"/[a-z]+-[A-Za-z0-9_\\]+\.slice"
_KEY = re.compile(rf"cgroup:/sys/fs/(?:cgroup/[a-z]+\.slice(?:{_SLICE_OF_A_SET})?|resctrl/[a-z]+)")

_SYSTEMCTL_S = 30.0

# How a group was made, as recorded in the journal.
_SLICE = "slice"
_FOLDER = "folder"
_ENABLED = "folder, cpuset enabled above it"


def is_key(text: str) -> bool:
    """Whether the text is a control group's key in the journal."""
    return bool(_KEY.fullmatch(text))


def way(root: Root, group: str) -> str:
    """How make() would make the group; "" if it exists and only lowlat writes to it."""
    if group.startswith("/sys/fs/resctrl/"):
        return "" if root.exists(f"{group}/schemata") else _FOLDER
    if root.live and root.exists("/run/systemd/system"):
        return _SLICE
    if root.exists(f"{group}/cpuset.cpus"):
        return ""
    given = (root.read(f"{Path(group).parent}/cgroup.subtree_control") or "").split()
    return _FOLDER if "cpuset" in given else _ENABLED


def commands(root: Root, group: str, cpus: str) -> Iterator[str]:
    """What make() does, a command a line."""
    how = way(root, group)
    if how == _SLICE:
        yield from (shlex.join(("systemctl", *words)) for words in _starting(group, cpus))
    if how == _ENABLED:
        yield f"echo +cpuset >{Path(group).parent}/cgroup.subtree_control"
    if how in (_ENABLED, _FOLDER):
        yield f"mkdir {shlex.quote(group)}"


def _starting(group: str, cpus: str) -> tuple[tuple[str, ...], ...]:
    """The calls of systemctl that make a slice."""
    unit = Path(group).name
    return (("set-property", "--runtime", unit, f"AllowedCPUs={cpus}"), ("start", unit))


def make(root: Root, group: str, how: str, cpus: str) -> str:
    """Make a group for a LIST of CPUs. Returns the problem as text, or ""."""
    try:
        if how == _SLICE:
            problems = (_systemctl(*words) for words in _starting(group, cpus))
            return next(filter(None, problems), "")
        if how == _ENABLED:
            problem = _enable(root, group, "+cpuset")
            if problem:
                return f"{group}: {problem}"
        if how:
            with root.folder(group, make=True):
                pass
    except OSError as error:
        return f"{group}: {error.strerror}"
    return ""


def unmake(root: Root, group: str, how: str) -> tuple[str, str]:
    """Undo make(). Returns the problem as text, or "", and why the group stays, or ""."""
    busy = populated(root, group)
    kept = f"{group} stays, with what runs in it" if busy else ""
    if how == _SLICE:
        return _unmake_slice(root, group, busy), kept
    if busy:
        return "", kept
    try:
        if not root.absent(group):
            with root.folder(str(Path(group).parent)) as at:
                os.rmdir(Path(group).name, dir_fd=at)
    except OSError as error:
        return "", f"{group} stays: {error.strerror}"
    if how == _ENABLED:
        # The kernel refuses this if other groups use the controller by now; then it stays enabled.
        _enable(root, group, "-cpuset")
    return "", ""


def _unmake_slice(root: Root, group: str, busy: bool) -> str:
    unit = Path(group).name
    problem = _systemctl("set-property", "--runtime", unit, "AllowedCPUs=")
    if problem:
        return problem
    # Stopping a slice would end every task in it. If the slice stays, systemd does not restore the
    # old list (its issue 43846, seen in 261).
    return targets.write(root, f"{group}/cpuset.cpus", "") if busy else _systemctl("stop", unit)


def populated(root: Root, group: str) -> bool:
    """Whether tasks run in a group or below it (cgroup-v2.rst, cgroup.events)."""
    return "populated 1" in (root.read(f"{group}/cgroup.events") or "").splitlines()


def sharing(root: Root, cpus: CpuSet) -> Iterator[tuple[str, CpuSet]]:
    """The control groups that name some of these CPUs, but lowlat's, and which of them."""
    folders = [_TOP]
    while folders:
        folder = folders.pop()
        for name in root.names(folder):
            group = f"{folder}/{name}"
            if name != "lowlat.slice" and root.exists(f"{group}/cgroup.procs"):
                folders.append(group)
                shared = (root.read_cpus(f"{group}/cpuset.cpus") or CpuSet()) & cpus
                if shared:
                    yield group, shared


def _enable(root: Root, group: str, change: str) -> str:
    """Write to the parent's subtree_control. Returns the problem as text, or ""."""
    return targets.write(root, f"{Path(group).parent}/cgroup.subtree_control", change)


def _systemctl(*words: str) -> str:
    try:
        ended = process.run(["systemctl", "--no-ask-password", *words], timeout=_SYSTEMCTL_S)
    except LowlatError as error:
        return error.message
    if ended.timed_out:
        return f"systemctl {words[0]} did not end within {_SYSTEMCTL_S:.0f} s"
    return f"systemctl {words[0]}: {ended.last_words}" if ended.status else ""
