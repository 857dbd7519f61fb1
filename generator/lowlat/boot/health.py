# SPDX-License-Identifier: GPL-2.0-or-later
"""The administrator's own checks of a trial: executables in /etc/lowlat/health.d, run by name in
order before the trial counts as good. The first that fails, or takes too long, ends the trial."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lowlat.base import trust
from lowlat.base.errors import LowlatError
from lowlat.boot import programs, trials
from lowlat.boot.disk import Disk
from lowlat.boot.transaction import AT_BOOT_S, lock
from lowlat.host.root import Root

FOLDER = "/etc/lowlat/health.d"

#: For each check: the trial's unit reboots after ten minutes in all.
LIMIT_S = 60.0


def check(root: Root) -> Iterator[str]:
    """Run the checks of a trial that is pending; yields what to say. After one that failed, the
    record tells why, and the machine reboots into its stock entry."""
    if trials.read(root).pending is None:
        return
    for name in sorted(root.names(FOLDER)):
        if name.startswith(".") or name.endswith("~"):
            continue
        path = f"{FOLDER}/{name}"
        failed = _failure(root, path)
        yield f"{path}: {failed or 'passed'}"
        if failed:
            with lock(Disk(root), AT_BOOT_S):
                known = trials.read(root)
                trials.write(root, replace(known, pending=None, failed=f"{path}: {failed}"))
            yield "back to the stock entry"
            if root.live:
                programs.run(root, [programs.need(root, "systemctl"), "--no-block", "reboot"])
            return


def _failure(root: Root, path: str) -> str:
    """Why a check did not pass, or ""."""
    try:
        trust.check_program(path, root.path)
        done = programs.run(root, [path], limit=LIMIT_S)
    except LowlatError as error:
        return str(error)
    return f"ended with {done.status}: {done.last_words[:200]}" if done.status else ""
