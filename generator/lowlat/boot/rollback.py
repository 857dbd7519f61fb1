# SPDX-License-Identifier: GPL-2.0-or-later
"""Rolling back: from any state, also after a crash, and any number of times."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Optional

from lowlat.base import files
from lowlat.base.errors import LowlatError, Refused, Unmet
from lowlat.boot import decision as decisions
from lowlat.boot import (
    entry_line,
    foreign,
    kexec,
    programs,
    promote,
    trials,
    tuned_plugin,
    tuned_profile,
)
from lowlat.boot import journal as journals
from lowlat.boot.disk import BESIDE, Disk, digest
from lowlat.boot.foreseen import Foreseen
from lowlat.boot.loaders.interface import Loader
from lowlat.boot.transaction import LOCK, kept, lock, roll_back
from lowlat.host import tuned
from lowlat.host.root import Root
from lowlat.plan import store

#: Names in the state folder that show that a plan was applied, or was about to be.
_OWN = frozenset(
    {
        "decision.json",
        "replaced.json",
        "trials.json",
        "journal.json",
        "plans",
        "administrator.json",
        "default.json",
    }
)


def applied(root: Root, loader: Optional[Loader]) -> bool:
    """Whether there is anything to roll back."""
    names = (name.partition(BESIDE)[0] for name in root.names(files.STATE))
    if any(name in _OWN for name in names) or journals.is_lost(Disk(root)):
        return True
    return loader is not None and not all(_is_others(root, each) for each in _entries(loader))


def _is_others(root: Root, entry: str) -> bool:
    """Whether an entry is that of another system's lowlat on the same boot partition."""
    machine, its = root.read("/etc/machine-id"), re.match("[0-9a-f]{32}(?=[-~])", entry)
    return bool(machine and its and its[0] != machine)


def lost(root: Root, loader: Optional[Loader]) -> Iterator[str]:
    """What a rollback cannot restore, because its record is gone."""
    if journals.is_lost(Disk(root)):
        yield f"{journals.JOURNAL} is gone, and with it what there was before lowlat"
        profiles = [name for name in root.names("/etc/tuned") if name.startswith("lowlat")]
        if profiles:
            yield f"profiles of TuneD stay in /etc/tuned, lowlat's or yours: {', '.join(profiles)}"
    with suppress(LowlatError):  # a damaged menu must not hide the rest
        yield from loader.lost() if loader else ()
    yield from tuned_profile.lost(root)


def _entries(loader: Loader) -> list[str]:
    """The ids of lowlat's entries; none of a menu that is damaged."""
    with suppress(LowlatError):
        return [entry.id for entry in loader.describe().entries if entry.ours]
    return []


def reverse(root: Root, loader: Optional[Loader]) -> list[str]:
    """Roll everything back; returns the files that stay because they were edited. If the boot
    loader is gone (None), so are its entries. The journal goes last: until then a second run finds
    all it needs. Raises LowlatError if the loader's own generator fails; lowlat's files are
    restored by then. Raises Unmet if all is restored but TuneD could not be restarted."""
    disk = Disk(root)
    with lock(disk):
        journal = journals.read(disk)
        _unload(root)
        # While the profile's files still exist: TuneD undoes its settings with them.
        failed = _restart_tuned(root) if tuned_profile.restore(disk) else ""
        tuned_profile.restore_line(disk)
        stay = roll_back(disk, journal)
        try:
            if loader is not None:
                loader.remove()
        except LowlatError as error:
            raise LowlatError(
                f"the inputs are as they were, but the boot entries are still there: {error}",
                hint="mend that, then run 'lowlat-gen rollback' again",
            ) from error
        _forget(disk, set(stay))
    if failed:
        why = f"the boot is as it was, but TuneD still has lowlat's profile: {failed}"
        raise Unmet(why, hint="restart tuned.service")
    return stay


def foresee(root: Root, loader: Optional[Loader]) -> Mapping[str, str]:
    """What reverse() would do to each file that it would change: Foreseen.ways, or "keep"."""
    disk = Disk(root)
    ways: dict[str, str] = {}
    with suppress(LowlatError), Foreseen(root) as change:  # a damaged menu must not hide the rest
        if loader is not None:
            loader.foresee(change, ())
        ways.update(change.ways)
    for path, entry in journals.read(disk).entries.items():
        now = disk.get(path)
        if digest(now) != digest(entry.before):
            ways[path] = "restore" if entry.before else "remove"
    ways.update(tuned_profile.foresee(disk))
    for path in kept(disk, journals.read(disk)):
        ways[path] = "keep"
    own = {f"{files.STATE}/{name}" for name in root.names(files.STATE) if name in _OWN}
    own |= {f"{store.PLANS}/{name}" for name in root.names(store.PLANS)}
    for path in sorted(own - {store.PLANS}):
        ways.setdefault(path, "remove")
    there = {f"{files.STATE}/{name}" for name in root.names(files.STATE)}
    if LOCK in there and there <= {*ways, LOCK, store.PLANS}:
        ways[LOCK] = "remove"
    return ways


def _unload(root: Root) -> None:
    """Unload the trial that waits for ``systemctl kexec``."""
    with suppress(Refused):  # a damaged record must not prevent a rollback
        if promote.waits(root, trials.read(root)):
            kexec.unload()


def _restart_tuned(root: Root) -> str:
    """Have TuneD load the selected profile; returns the reason if that failed, else ""."""
    if not root.live or tuned.state(root) != "running":
        return ""
    try:
        done = programs.run(root, ["systemctl", "restart", "tuned.service"])
    except LowlatError as error:
        return str(error)
    return done.last_words if done.status else ""


def left(loader: Optional[Loader]) -> list[str]:
    """Messages about entries of lowlat's that came of another script."""
    return [f"{ident} is still there" for ident in _entries(loader)] if loader else []


def marked_stock_entries(root: Root, loader: Optional[Loader]) -> list[str]:
    """Messages about stock entries with a plan's line. lowlat does not change these: a person added
    the line, or TuneD left it behind because it did not run."""
    with suppress(LowlatError):  # a damaged menu must not hide the rest
        found = (
            f"{entry.id} still carries {word}, from {foreign.source(root, word)}"
            for entry in (tuned_plugin.marked(loader.describe()) if loader else ())
            for word in entry.words
            if entry_line.marked([word])
        )
        return list(dict.fromkeys(found))
    return []


def tidy(root: Root) -> None:
    """Remove the state folder if a crash left it empty."""
    if not root.absent(files.STATE) and not set(root.names(files.STATE)) - {"lock"}:
        with lock(Disk(root)):
            pass


def _forget(disk: Disk, kept: set[str]) -> None:
    """Remove lowlat's own state."""
    tuned_profile.forget(disk)
    # The decision went with the journal's files: no hook stores another plan now.
    with decisions.exclusive_lock(disk):
        for name in disk.root.names(store.PLANS):
            disk.remove(f"{store.PLANS}/{name}")
        disk.remove_folder(store.PLANS)
    for path in (store.DECISION, store.REPLACED, trials.TRIALS):
        if path not in kept:
            disk.remove(path)
        disk.unstage(path)
    disk.unstage(journals.JOURNAL)
    disk.remove(journals.JOURNAL)
