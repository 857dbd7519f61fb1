# SPDX-License-Identifier: GPL-2.0-or-later
"""Trying an entry once, recording that it came up, and making it the default."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Optional

from lowlat.base.errors import NotYet, Refused
from lowlat.boot import decision as decisions
from lowlat.boot import entry_line, hooks, kexec, places, trials, way_to_try
from lowlat.boot.disk import Disk
from lowlat.boot.foreseen import Foreseen
from lowlat.boot.loaders import by_hand
from lowlat.boot.loaders.by_hand import ByHand
from lowlat.boot.loaders.detect import detect
from lowlat.boot.loaders.interface import BootEntry, BootMenu, Loader
from lowlat.boot.programs import Unchecked
from lowlat.boot.transaction import AT_BOOT_S, Transaction, lock
from lowlat.boot.trials import Pending, Trials
from lowlat.host.root import BOOT_ID, Root
from lowlat.model.plan import Plan
from lowlat.probe.kernel import running_release


def check_applied(root: Root) -> None:
    """Raises Refused if there are no lowlat entries to choose from."""
    made = decisions.read(root)
    if made is None:
        raise NotYet("nothing is applied here", hint="'lowlat-gen apply' comes first")
    if made.boot == "tuned":
        why = "TuneD's bootloader plugin changes the stock entries: there is none to try once"
        raise Refused(why, hint="apply with --boot own")


def applied_entry(root: Root, release: Optional[str]) -> tuple[Loader, BootMenu, BootEntry]:
    """The boot loader, its menu, and the tuned entry of the kernel as pick() chooses it. Raises
    Refused if nothing is applied, or the loader or its entries are not ready or were edited."""
    places.check(root)
    check_applied(root)
    loader = detect(root)
    loader.check()
    boot = loader.describe()
    entry = pick(boot, root, release)
    for each in (entry, boot.by_id(entry_line.trial_id(entry.id))):
        if each and boot.is_edited(each):
            raise Refused(edited(each), hint="'lowlat-gen apply' writes it again")
    return loader, boot, entry


def edited(entry: BootEntry) -> str:
    if entry.is_stale:
        return f"{entry.id}: its image holds Linux {entry.release} now"
    return f"{entry.id}: somebody changed it since lowlat wrote it"


def pick(boot: BootMenu, root: Root, release: Optional[str]) -> BootEntry:
    """The tuned entry of the requested kernel, else of the running one, else of the newest. Raises
    Refused if there is none."""
    entries = list(boot.tuned())
    wanted = release or running_release(root)
    chosen = next((entry for entry in entries if entry.release == wanted), None)
    if chosen is None and release is None and entries:
        chosen = entries[0]
    if chosen is None:
        why = f"there is no tuned entry for Linux {(release or '')[:64]}".rstrip()
        raise Refused(why, hint="'lowlat-gen status' lists them")
    return chosen


def triable_entry(
    root: Root, release: Optional[str], by_kexec: bool
) -> tuple[Loader, BootMenu, BootEntry, list[str]]:
    """applied_entry(), and what check_returns() could not check. Raises Refused as both do."""
    loader, boot, entry = applied_entry(root, release)
    return loader, boot, entry, check_returns(root, loader, entry if by_kexec else None)


def promotable_entry(root: Root, release: Optional[str]) -> tuple[Loader, BootMenu, BootEntry]:
    """applied_entry(). Also raises Refused if it was not tried, where it can be and does not boot
    already."""
    loader, boot, entry = applied_entry(root, release)
    untriable = isinstance(loader, ByHand) and (boot.default == entry or by_hand.no_kexec(root))
    if not untriable:
        check_tried(root, loader, entry)
    return loader, boot, entry


def check_returns(root: Root, loader: Loader, by_kexec: Optional[BootEntry] = None) -> list[str]:
    """Raises Refused if the boot after the trial might not be stock, if a person set an entry to
    boot once, or if kexec cannot start the entry that it shall. Returns messages about what a dry
    run could not check."""
    if not hooks.has_systemd(root):
        why = "systemd does not start this system: no unit would record the trial"
        raise Refused(why, hint="'lowlat-gen promote' prints the step")
    settings = root.read("/etc/default/kexec") or ""
    theirs = kexec.is_loaded(root) and not waits(root, trials.read(root))
    if theirs or "LOAD_KEXEC=true" in settings:
        hint = "unload it with 'kexec -u' and set LOAD_KEXEC=false in /etc/default/kexec"
        raise Refused("reboots go through kexec here, past the boot loader", hint=hint)
    try:
        if by_kexec:
            kexec.check_load(root, by_kexec.release, by_kexec.words)
        else:
            loader.check_unarmed()
            loader.check_one_shot()
    except Unchecked as error:
        return [f"not checked: whether {loader.name} boots an entry only once ({error})"]
    return []


def waits(root: Root, known: Trials) -> bool:
    """Whether ``systemctl kexec`` starts the pending trial."""
    pending = known.pending
    in_this_boot = pending is not None and pending.boot_id == (root.read(BOOT_ID) or "")
    return in_this_boot and pending is not None and pending.kexec and kexec.is_loaded(root)


def is_set(root: Root, loader: Loader, boot: BootMenu, entry: BootEntry, by_kexec: bool) -> bool:
    """Whether this entry's trial is already what boots next, and by the same way."""
    known = trials.read(root)
    if known.pending is None or known.pending.entry != entry.id:
        return False
    if by_kexec:
        return waits(root, known)
    armed = boot.next is not None and boot.next.id == entry_line.trial_id(entry.id)
    return armed and not any(loader.differing())


def try_once(root: Root, loader: Loader, entry: BootEntry, by_kexec: bool = False) -> BootEntry:
    """Set this entry's trial entry for the next boot, once, or load it for ``systemctl kexec``;
    returns the trial entry. A trial that was set the other way is cancelled."""
    boot_id = root.read(BOOT_ID) or ""
    with lock(Disk(root)):
        boot = loader.describe()
        trial = boot.by_id(entry_line.trial_id(entry.id))
        if trial is None:
            raise Refused(f"{entry.id} has no entry to try it", hint="apply again")
        known = trials.read(root)
        pending = Pending(entry.id, entry.release, trial.words, boot_id, by_kexec)
        # The record first: a trial without a record could not be confirmed.
        with trials.written(root, replace(known, pending=pending, failed="")):
            if by_kexec:
                kexec.load(root, entry.release, trial.words)
                if boot.next is not None and boot.next.ours:
                    loader.one_shot(None)
                return trial
            if waits(root, known):
                kexec.unload()
            loader.one_shot(trial)
            if loader.describe().next != trial:
                raise Refused(f"{loader.name} does not boot {trial.id} next")
    return trial


def without_lost(known: Trials, plans: Sequence[Plan]) -> Trials:
    """The record once these plans are applied: the pending trial of another plan is gone."""
    pending = known.pending
    if pending is None or any(plan.marker in pending.words for plan in plans):
        return known
    return replace(known, pending=None)


def cancel_lost(root: Root, loader: Loader, before: BootMenu, plans: Sequence[Plan]) -> None:
    """Cancel the pending trial of a plan that is not among these any more; ``before`` is the menu
    that it was set in."""
    known = trials.read(root)
    kept = without_lost(known, plans)
    if kept == known:
        return
    if waits(root, known):
        kexec.unload()
    if before.next is not None and before.next.ours:
        loader.one_shot(None)
    trials.write(root, kept)


def record(root: Root) -> str:
    """Called in a trial that came up: compare its line with the entry's. Returns a message."""
    with lock(Disk(root), AT_BOOT_S):
        known = trials.read(root)
        pending = known.pending
        if pending is None:
            return "no trial was set: nothing is recorded"
        different = entry_line.same(root.read("/proc/cmdline") or "", pending.words)
        if different is not None:
            failed = f"it booted with another line, '{different[:80]}' differs"
            trials.write(root, replace(known, pending=None, failed=failed))
            return f"{pending.entry}: {failed}"
        trials.write(root, known.came_up(pending.entry))
        return f"{pending.entry} came up: 'lowlat-gen promote' makes it the default"


def note_return(root: Root) -> None:
    """Called in every other boot: a pending trial that did not come up has failed."""
    with lock(Disk(root), AT_BOOT_S):
        known = trials.read(root)
        failed = failure(root, known)
        if failed:
            trials.write(root, replace(known, pending=None, failed=failed))


def failure(root: Root, known: Trials) -> str:
    """The reason why a pending trial did not come up, seen from a later boot; "" without one."""
    boot_id = root.read(BOOT_ID) or ""
    if known.pending is None or known.pending.boot_id == boot_id:
        return ""
    if known.pending.kexec:
        return f"{known.pending.entry} was loaded for kexec; it was not started, or did not come up"
    return f"{known.pending.entry} was booted and did not reach its target"


def check_tried(root: Root, loader: Loader, entry: BootEntry) -> None:
    """Raises Refused if no trial of this entry's line came up."""
    seen = trials.read(root).seen
    if entry.id in seen:
        return
    changed = any(f"lowlat-{entry.release}-" in each for each in seen)
    why = "its line changed since it was tried" if changed else "it was not tried yet"
    raise NotYet(f"{entry.id}: {why}", hint=way_to_try.next_steps(root, loader))


def promote(root: Root, loader: Loader, entry: BootEntry, follow: bool) -> BootMenu:
    """Make a tried entry the default."""
    with Transaction(root) as change:
        check_tried(root, loader, entry)
        with trials.written(root, _promoted(root, entry, follow)):
            return loader.make_default(change, entry, follow)


def foresee(root: Root, loader: Loader, entry: BootEntry, follow: bool) -> Mapping[str, str]:
    """What promote() would do to each file that it would change: Foreseen.ways."""
    with Foreseen(root) as change:
        loader.foresee_default(change, entry, follow)
        change.put(trials.TRIALS, trials.text(_promoted(root, entry, follow)))
    return change.with_state()


def _promoted(root: Root, entry: BootEntry, follow: bool) -> Trials:
    return replace(trials.read(root), promoted=entry.id, follow=follow)
