# SPDX-License-Identifier: GPL-2.0-or-later
"""Rolling back: from any state, also after a crash, and as often as one likes."""

from __future__ import annotations

from lowlat import files, tuned
from lowlat.boot import decision as decisions
from lowlat.boot import journal as journals
from lowlat.boot import programs, selection, trials
from lowlat.boot.disk import BESIDE, Disk
from lowlat.boot.loader import Loader
from lowlat.boot.transaction import Lock, roll_back
from lowlat.errors import LowlatError
from lowlat.root import Root

#: What tells that something was applied, or was about to be.
_OWN = frozenset(
    {"decision.json", "trials.json", "journal.json", "plans", "administrator.json", "default.json"}
)


def applied(root: Root) -> bool:
    """Whether there is anything to take back."""
    names = (name.partition(BESIDE)[0] for name in root.names(files.STATE))
    return any(name in _OWN for name in names)


def reverse(root: Root, loader: Loader) -> list[str]:
    """Take everything back and return what was kept, for somebody edited it since.

    The journal goes last: until then a second run finds all it needs. Raises LowlatError where the
    loader's own generator does not work; what lowlat wrote is back by then.
    """
    disk = Disk(root)
    with Lock(disk):
        journal = journals.read(disk)
        # While its files are still there: TuneD undoes with them what it did.
        if selection.restore(disk) and root.live and tuned.state(root) == "running":
            programs.run(root, ["systemctl", "restart", "tuned.service"])
        kept = roll_back(disk, journal)
        try:
            loader.remove()
        except LowlatError as error:
            raise LowlatError(
                f"the inputs are as they were, but the boot entries are still there: {error}",
                hint="mend that, then run 'lowlat-gen rollback' again",
            ) from error
        _forget(disk, set(kept))
    return kept


def tidy(root: Root) -> None:
    """Remove the state folder where a crash left nothing in it."""
    if not root.absent(files.STATE) and not set(root.names(files.STATE)) - {"lock"}:
        with Lock(Disk(root)):
            pass


def _forget(disk: Disk, kept: set[str]) -> None:
    """Remove what lowlat keeps for itself."""
    for name in disk.root.names(decisions.PLANS):
        disk.remove(f"{decisions.PLANS}/{name}")
    disk.remove_folder(decisions.PLANS)
    for path in (decisions.DECISION, trials.TRIALS):
        if path not in kept:
            disk.remove(path)
        disk.unstage(path)
    disk.unstage(journals.JOURNAL)
    disk.remove(journals.JOURNAL)
