# SPDX-License-Identifier: GPL-2.0-or-later
"""A boot loader that lowlat does not write. A person adds the line after a trial by kexec; lowlat
prints the words and the file to change, and detects the change."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

from lowlat.base import files
from lowlat.base.errors import Refused
from lowlat.boot import decision, entry_line
from lowlat.boot.disk import Disk
from lowlat.boot.foreign import ForeignLoader
from lowlat.boot.loaders.interface import BootEntry, BootMenu, Loader
from lowlat.boot.state_file import StateFile, lenient
from lowlat.boot.transaction import Transaction
from lowlat.host.root import Root
from lowlat.model.plan import Plan
from lowlat.probe.kernel import running_release


@dataclass(frozen=True)
class _StockLine:
    """The line with which this kernel was booted before the tuned one."""

    release: str
    words: tuple[str, ...]


_STOCK = StateFile(
    f"{files.STATE}/stock.json", "lowlat.stock/1", lenient(_StockLine), "'lowlat-gen rollback'"
)


def is_used(root: Root) -> bool:
    """Whether the line of the applied plan is added by hand here, whichever loaders exist."""
    return not root.absent(_STOCK.path)


def trial(root: Root) -> str:
    """The command that tries the applied plan here."""
    return "lowlat-gen trial --kexec" if is_used(root) else "lowlat-gen trial"


class ByHand(Loader):
    def __init__(self, root: Root, loader: ForeignLoader) -> None:
        self._root = root
        self._loader = loader
        self.name = loader.name
        self.cannot_try = loader.cannot_try

    def steps(self, plan: Optional[Plan] = None) -> str:
        """The steps for a person to make this plan's line the default, or that of the applied plan;
        "" if there is none."""
        boot = self.describe()
        if plan is None and boot.entries:
            plan = decision.stored(self._root, boot.entries[0].release)
        if plan is None:
            return ""
        replaced = entry_line.conflicting(boot.entries[0].words, plan)
        instead = f"\nin place of: {' '.join(replaced)}" if replaced else ""
        return self._loader.steps(plan.words) + instead

    def describe(self) -> BootMenu:
        """The stock, tuned and trial entries of the kernel that ran during ``apply``. The default
        is the entry with the running line."""
        known = self._stock()
        if known is None:
            return BootMenu(())
        stock = BootEntry("stock", known.release, known.words)
        plan = decision.stored(self._root, known.release)
        if plan is None:
            return BootMenu((stock,), stock)
        ours = self._entry(known, plan)
        trial = self._entry(known, plan, entry_line.trial_words(self._root))
        added = entry_line.same(self._root.read("/proc/cmdline") or "", ours.words) is None
        return BootMenu((stock, ours, trial), ours if added else stock)

    def _entry(self, stock: _StockLine, plan: Plan, trial: Sequence[str] = ()) -> BootEntry:
        words = entry_line.tuned(stock.words, plan)
        name = entry_line.entry_id(stock.release, words)
        if trial:
            name = entry_line.trial_id(name)
            words = entry_line.tuned(stock.words, plan, trial)
        return BootEntry(name, stock.release, words, ours=True, trial=bool(trial))

    def _stock(self) -> Optional[_StockLine]:
        """The stored stock line, else the running one; None if that is unknown or lowlat's own."""
        kept = _STOCK.read(Disk(self._root))
        line = self._root.read("/proc/cmdline") or ""
        words = tuple(entry_line.of_kernel(line))
        release = running_release(self._root)
        if kept is None and release and not entry_line.marked(words):
            return _StockLine(release, words)
        return kept

    def write(self, change: Transaction, plans: Sequence[Plan], accept: bool) -> BootMenu:
        stock = self._stock()
        if stock is None:
            why = "the running line is lowlat's own, and the stock one is not known"
            raise Refused(why, hint="boot the stock line first")
        change.write(_STOCK.path, _STOCK.text(stock))
        boot = self.describe()
        for entry in boot.tuned():
            plan = next(plan for plan in plans if plan.kernel == entry.release)
            entry_line.check_planned(entry.id, entry.words, plan)
        return boot

    def check_one_shot(self) -> None:
        why = f"this machine boots with {self.name}: {self.cannot_try}"
        raise Refused(why, hint="--kexec tries the line without the loader")

    def one_shot(self, entry: Optional[BootEntry]) -> None:
        self.check_one_shot()

    def make_default(
        self, change: Transaction, entry: Optional[BootEntry], follow: bool
    ) -> BootMenu:
        if entry is not None:
            why = f"this machine boots with {self.name}: its default is yours to change"
            raise Refused(why, hint="'lowlat-gen promote' prints the step")
        return self.describe()
