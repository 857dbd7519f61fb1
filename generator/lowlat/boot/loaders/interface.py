# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot loaders behind one small interface: describe, write entries, boot one once, make one the
default, remove."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Callable, Optional, Protocol

from lowlat.base.errors import Refused
from lowlat.boot import entry_line
from lowlat.boot.foreseen import Foreseen
from lowlat.boot.transaction import Transaction
from lowlat.host.root import Root
from lowlat.model import cmdline
from lowlat.model.plan import Plan

PlanOf = Callable[[str], Optional[Plan]]


@dataclass(frozen=True)
class BootEntry:
    """A boot entry: ``name`` is the loader's name for it, ``words`` its kernel parameters with the
    loader's variables filled in; ``ours`` marks lowlat's entries, ``trial`` those for one try,
    ``foreign`` those that no tuned entry is made from: a person's, another system's, for rescue.
    ``unfilled`` are the words without the variables' values, where that differs; ``files`` the
    kernel and its initramfs images; ``edited`` whether the text of a lowlat entry is not the one
    that was written."""

    name: str
    release: str
    words: tuple[str, ...]
    ours: bool = False
    trial: bool = False
    foreign: bool = False
    unfilled: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    edited: bool = False

    @property
    def is_stale(self) -> bool:
        """Whether the image of this lowlat entry was replaced by another kernel's (Arch)."""
        own = self.id[: -len(entry_line.trial_id(""))] if self.trial else self.id
        return self.ours and self.release not in ("", entry_line.release_of(own))

    @property
    def is_others(self) -> bool:
        """Whether it boots another system, or what a person chose, as far as is known."""
        return self.foreign and not self.release

    @property
    def id(self) -> str:
        """The entry's own id: the last part of a name that leads through submenus."""
        return self.name.rpartition(">")[2]


@dataclass(frozen=True)
class BootMenu:
    """The loader's state: its entries in its own order, the default entry, and the entry that it
    boots next, once."""

    entries: tuple[BootEntry, ...]
    default: Optional[BootEntry] = None
    next: Optional[BootEntry] = None

    def tuned(self, *, trial: bool = False) -> Iterator[BootEntry]:
        return (entry for entry in self.entries if entry.ours and entry.trial is trial)

    def stocks(self) -> Iterator[BootEntry]:
        """The distribution's entries that tuned ones are made from."""
        return (entry for entry in self.entries if not (entry.ours or entry.foreign))

    def stock(self, release: str) -> Optional[BootEntry]:
        """The distribution's entry of a kernel."""
        return next((entry for entry in self.stocks() if entry.release == release), None)

    def edited(self) -> Iterator[BootEntry]:
        """The lowlat entries that somebody changed."""
        return (entry for entry in self.entries if self.is_edited(entry))

    def is_edited(self, entry: BootEntry) -> bool:
        """Whether somebody changed the text of this lowlat entry, its line, or its files, which are
        those of the stock entry. The id holds a hash of the line; a trial entry has the line of the
        entry that it tries, and the parameters of a trial."""
        if entry.edited and entry.ours:
            return True
        if entry.id == entry_line.STOCK:
            stock = self.stock(entry.release)
            return stock is None or (entry.words, entry.files) != (stock.words, stock.files)
        if not entry.ours:
            return False
        if not entry.trial:
            release = entry_line.release_of(entry.id)
            if entry.is_stale:
                return True
            made = entry_line.entry_id(release, entry.unfilled or entry.words)
            stock = self.stock(release)
            return not entry.id.endswith(made) or bool(stock and stock.files != entry.files)
        tried = self.by_id(entry.id[: -len(entry_line.trial_id(""))])
        if tried is None or self.is_edited(tried) or tried.files != entry.files:
            return True
        return not entry_line.is_trial_of(entry.words, tried.words)

    def lacking(self) -> Iterator[str]:
        """The ids of trial entries that are gone."""
        trials = (entry_line.trial_id(entry.id) for entry in self.tuned())
        return (trial for trial in trials if self.by_id(trial) is None)

    def promoted(self, entry: BootEntry, follow: bool) -> BootEntry:
        """The entry that promoting this one makes the default: with ``follow`` the newest."""
        return next(self.tuned(), entry) if follow else entry

    def by_id(self, ident: str) -> Optional[BootEntry]:
        return next((entry for entry in self.entries if entry.id == ident), None)


class Unwritable(Refused):
    """The loader is known, but no entry of lowlat's can be made here, whatever the person mends:
    the line is left to the person."""


def named(entries: Sequence[BootEntry], name: str) -> Optional[BootEntry]:
    """The entry with this name, or None."""
    return next((entry for entry in entries if name and entry.name == name), None)


def line_of(entry: Optional[BootEntry]) -> str:
    return " ".join(entry.words) if entry else ""


def check_entry(root: Root, entry: BootEntry, stock: BootEntry, plan: Plan) -> None:
    """Raises Refused if a tuned entry, read back, is not the stock one plus the plan, or lacks the
    root file system that the running line has."""
    running = root.read("/proc/cmdline") or ""
    if cmdline.values(running, "root") and not any(w.startswith("root=") for w in entry.words):
        raise Refused(f"{entry.id}: its line has no root=, which the running one has")
    trial = entry_line.trial_words(root) if entry.trial else ()
    entry_line.check(entry.id, entry.words, stock.words, plan, trial)
    entry_line.check_length(root, entry.id, entry.words, plan.kernel)


def refuse_pending(loader: Loader, rows: Sequence[str]) -> None:
    """Raises Refused if there are pending changes, which others made and which would show too."""
    marked = [row for row in rows if row[:1] in "+-" and row[:3] not in ("+++", "---")]
    changed = sorted(marked, key=lambda row: (row[0] != "+", not row[1:].strip()))
    if changed:
        shown = "; --dry-run shows all" if loader.shows_pending() else ""
        raise Refused(
            f"{loader.name}: {len(changed)} lines would change that are not lowlat's, first "
            f"'{' '.join(changed[0].split())[:120]}'",
            hint=f"'{loader.generator()}' first, or give --accept-pending{shown}",
        )


class Loader(Protocol):
    """One boot loader of one tree. Methods raise Refused if the loader, or its present state, does
    not allow them; nothing has changed then."""

    name: str

    def check(self) -> None:
        """Raises Refused unless entries can be written: folders exist, are mounted and writable."""
        return

    def check_new(self) -> None:
        """Raises Refused if no entry may be added; existing ones can still be removed."""
        return

    def describe(self) -> BootMenu:
        """The loader's present state."""

    def pending(self, *, dry: bool = False) -> Sequence[str]:
        """Changes by others that the loader does not show yet: lines of a diff. With ``dry`` no
        program can change anything; raises Unchecked where that does not tell."""
        return ()

    def shows_pending(self) -> bool:
        """Whether a dry run can tell them."""
        return True

    def generator(self) -> str:
        """The command with which a person generates its configuration; "" if none does."""
        return ""

    def taken_along(self) -> Iterator[str]:
        """Changes by others that write() generates too, because they have no effect."""
        return iter(())

    def write(self, change: Transaction, plans: Sequence[Plan], accept: bool) -> BootMenu:
        """Write the tuned entries of these plans and check them; the default stays. Pending changes
        are refused, or included if ``accept``."""

    def foresee(self, change: Foreseen, plans: Sequence[Plan]) -> None:
        """What write() would do to the loader's files, or without plans remove()."""
        return

    def check_one_shot(self) -> None:
        """Raises Refused unless the loader boots an entry exactly once when asked to."""
        return

    def check_unarmed(self) -> None:
        """Raises Refused if anything but a trial is to boot next, once: a trial would replace it
        for good."""
        armed = self._next()
        if armed and not entry_line.is_trial(armed):
            cancel = self._cancel()
            hint = f"reboot into it first{f', or cancel it: {cancel}' if cancel else ''}"
            raise Refused(f"{armed[:120]} is set to boot next, once, and not by lowlat", hint=hint)

    def _next(self) -> str:
        """The loader's name of the entry that it boots next, once; "" for none."""
        return ""

    def _cancel(self) -> str:
        """The command with which a person cancels that; "" if there is none."""
        return ""

    def one_shot(self, entry: Optional[BootEntry]) -> None:
        """Boot this entry next, once; None cancels that."""

    def make_default(
        self, change: Transaction, entry: Optional[BootEntry], follow: bool
    ) -> BootMenu:
        """Boot this entry from now on, or with ``follow`` the newest kernel's tuned one; None
        restores the default that was there before."""

    def foresee_default(self, change: Foreseen, entry: BootEntry, follow: bool) -> None:
        """What make_default() would do to the loader's files. Raises Refused as it does, as far as
        that can be told without the loader's programs."""
        return

    def refresh(self, plan_of: PlanOf, follow: bool) -> str:
        """Update the entries after a kernel came or went; with ``follow`` the newest tuned entry
        replaces an older one as the default. Returns a message, or "": a removed tuned default
        gives way to its kernel's stock entry."""
        return ""

    def differing(self) -> Iterator[str]:
        """What was set for the trial that boots next and is not so any more; and what to do."""
        return iter(())

    def outlasting(self) -> Iterator[str]:
        """A person's settings that name an entry of lowlat's, which a rollback leaves; and what to
        do."""
        return iter(())

    def lost(self) -> Iterator[str]:
        """What a rollback cannot restore in the loader, because its record is gone."""
        return iter(())

    def remove(self) -> None:
        """Remove lowlat's entries after their inputs were removed."""
        return
