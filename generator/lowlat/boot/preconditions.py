# SPDX-License-Identifier: GPL-2.0-or-later
"""What must hold before boot entries are written."""

from __future__ import annotations

from lowlat.base.errors import Refused
from lowlat.boot import decision as decisions
from lowlat.boot import journal, trials, tuned_profile
from lowlat.boot.disk import Disk
from lowlat.boot.loaders.interface import Loader
from lowlat.boot.transaction import edited
from lowlat.host import tuned
from lowlat.host.root import Root
from lowlat.plan.store import PLANS


def refuse_edited(root: Root) -> None:
    """Raises Refused where somebody edited what lowlat wrote, or others than root could."""
    disk = Disk(root)
    for folder in ("/etc/lowlat", PLANS):
        root.check_owned(folder)
    trials.read(root)
    changed = edited(disk, journal.read(disk, to_write=True))
    if changed:
        raise Refused(
            f"{changed[0]} was edited since lowlat wrote it",
            hint="move it away, or take everything back with 'lowlat-gen rollback' first",
        )


def refuse_pending(found: Loader, accepted: bool) -> None:
    """Raises Refused where the loader would show changes of others too, and that is not wanted."""
    rows = found.pending()
    if rows and not accepted:
        marked = [row for row in rows if row[:1] in "+-" and row[:3] not in ("+++", "---")]
        changed = sorted(marked, key=lambda row: row[0] != "+")
        raise Refused(
            f"{found.name}: {len(changed)} lines would change that are not lowlat's, first "
            f"'{' '.join(changed[0].split())[:120]}'",
            hint="generate its configuration first, or give --accept-pending; --dry-run shows all",
        )


def check_way(root: Root, boot: str) -> None:
    """Raises Refused where the line is applied by the other way: both would put it on."""
    made = decisions.read(root)
    if made is not None and made.boot != boot:
        raise Refused(
            f"--boot {made.boot} is applied here, and {boot} would double the line",
            hint="'lowlat-gen rollback' first",
        )


def check_tuned(root: Root, runtime: str) -> None:
    """Raises Refused where TuneD shall do the run-time half and is not there, or shall not any more
    and has it in effect: no later boot would take that back."""
    if runtime == "none" and tuned_profile.selected(root):
        raise Refused(
            f"--runtime none: TuneD has {tuned.LOCAL} selected in this boot",
            hint="boot the stock entry first, or take everything back with 'lowlat-gen rollback'",
        )
    if runtime == "tuned" and tuned.state(root) == "absent":
        raise Refused(
            "TuneD is not installed, which does the run-time half",
            hint="install the package tuned, or apply --runtime none",
        )
