# SPDX-License-Identifier: GPL-2.0-or-later
"""The two systemd units: one selects TuneD's profile in every boot, one records a trial's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Optional

from lowlat.boot import programs
from lowlat.boot.transaction import Transaction
from lowlat.host.root import Root
from lowlat.render import hooks

#: Started by the parameter systemd.wants= of a trial's line, in no other boot.
TRIAL = "lowlat-trial.service"
BOOT = "lowlat-boot.service"

_PACKAGED = ("/usr/lib/systemd/system", "/lib/systemd/system")
_OWN = "/etc/systemd/system"


def present(root: Root) -> bool:
    """Whether systemd starts this system."""
    return any(root.exists(folder) for folder in _PACKAGED)


def write(change: Transaction, *, tuned: bool) -> None:
    """Install the units where no package brought them, and enable the first one."""
    if not present(change.root):
        return
    for path, mode, content in files(change.root):
        if _packaged(change.root, path.rpartition("/")[2]) is None:
            change.write(path, content, mode)
    wanted = f"{_OWN}/tuned.service.wants/{BOOT}"
    if tuned:
        change.link(wanted, _packaged(change.root, BOOT) or f"{_OWN}/{BOOT}")
    else:
        change.put_back(wanted)


def files(root: Root) -> Iterator[tuple[str, int, str]]:
    """Where the units go and what they are, where no package brought them."""
    for name in (BOOT, TRIAL):
        yield f"{_OWN}/{name}", 0o644, hooks.template(f"systemd/{name}", programs.ourselves(root))


def _packaged(root: Root, name: str) -> Optional[str]:
    paths = (f"{folder}/{name}" for folder in _PACKAGED)
    return next((path for path in paths if root.exists(path)), None)
