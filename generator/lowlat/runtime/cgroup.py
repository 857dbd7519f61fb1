# SPDX-License-Identifier: GPL-2.0-or-later
"""The control group of the isolated CPUs (v2): made before its files are written, gone with them.

Under systemd it is a slice, so that systemd's own writing agrees with ours; elsewhere a folder.
"""

import os
import re
from pathlib import Path

from lowlat.base import process
from lowlat.base.errors import LowlatError
from lowlat.host.root import Root
from lowlat.runtime import targets

SCHEME = "cgroup:"

_KEY = re.compile(r"cgroup:/sys/fs/(?:cgroup/[a-z]+\.slice|resctrl/[a-z]+)")

_SYSTEMCTL_S = 30.0

# How a group was made, as the journal keeps it.
_SLICE = "slice"
_FOLDER = "folder"
_ENABLED = "folder, cpuset enabled above it"


def is_key(text: str) -> bool:
    """Whether a text is the journal's name of a control group."""
    return bool(_KEY.fullmatch(text))


def way(root: Root, group: str) -> str:
    """How make() would make a group; "" where it exists and only lowlat writes to it."""
    if group.startswith("/sys/fs/resctrl/"):
        return "" if root.exists(f"{group}/schemata") else _FOLDER
    if root.live and root.exists("/run/systemd/system"):
        return _SLICE
    if root.exists(f"{group}/cpuset.cpus"):
        return ""
    given = (root.read(f"{Path(group).parent}/cgroup.subtree_control") or "").split()
    return _FOLDER if "cpuset" in given else _ENABLED


def make(root: Root, group: str, how: str, cpus: str) -> str:
    """Make a group for a LIST of CPUs; the problem in words, or ""."""
    try:
        if how == _SLICE:
            unit = Path(group).name
            return _systemctl("set-property", "--runtime", unit, f"AllowedCPUs={cpus}") or (
                _systemctl("start", unit)
            )
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
    """Undo make(): the problem in words, or "", and why the group stays, or ""."""
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
        # Refused where other groups have come to use it: then it is theirs.
        _enable(root, group, "-cpuset")
    return "", ""


def _unmake_slice(root: Root, group: str, busy: bool) -> str:
    unit = Path(group).name
    problem = _systemctl("set-property", "--runtime", unit, "AllowedCPUs=")
    if problem:
        return problem
    # Stopping a slice would end every task in it. For a slice that goes on, systemd forgets to take
    # the old list back (its issue 43846, seen in 261).
    return targets.write(root, f"{group}/cpuset.cpus", "") if busy else _systemctl("stop", unit)


def populated(root: Root, group: str) -> bool:
    """Whether tasks run in a group or below it (cgroup-v2.rst, cgroup.events)."""
    return "populated 1" in (root.read(f"{group}/cgroup.events") or "").splitlines()


def _enable(root: Root, group: str, change: str) -> str:
    """The problem in words, or ""."""
    return targets.write(root, f"{Path(group).parent}/cgroup.subtree_control", change)


def _systemctl(*words: str) -> str:
    try:
        ended = process.run(["systemctl", "--no-ask-password", *words], timeout=_SYSTEMCTL_S)
    except LowlatError as error:
        return error.message
    if ended.timed_out:
        return f"systemctl {words[0]} did not end within {_SYSTEMCTL_S:.0f} s"
    return f"systemctl {words[0]}: {ended.last_words}" if ended.status else ""
