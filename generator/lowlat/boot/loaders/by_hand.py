# SPDX-License-Identifier: GPL-2.0-or-later
"""A boot loader that lowlat does not write. A person adds the line after a trial by kexec; lowlat
prints the words and the file to change, and detects the change."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Optional

from lowlat.base import files
from lowlat.base.errors import Refused
from lowlat.boot import decision, entry_line, foreign, kexec
from lowlat.boot.added_words import AddedWords
from lowlat.boot.disk import Disk
from lowlat.boot.foreign import ForeignLoader
from lowlat.boot.foreseen import Foreseen
from lowlat.boot.loaders.interface import BootEntry, BootMenu, Loader
from lowlat.boot.state_file import StateFile, lenient
from lowlat.boot.transaction import Transaction
from lowlat.host import boot_loader
from lowlat.host.root import Root
from lowlat.model import cmdline
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


def replaced_words(root: Root, plan: Plan) -> tuple[str, ...]:
    """The words of the stock line that the plan's words take the place of."""
    stock = _stored(root)
    return entry_line.conflicting(stock.words, plan) if stock else ()


def forget(change: Transaction) -> None:
    """Drop the stock line: the loader's entries are written again."""
    change.put_back(_STOCK.path)


def no_kexec(root: Root) -> str:
    """The reason why kexec cannot try the line of the applied plan, else a line of this kernel; ""
    if it can."""
    loader = foreign.recognise(root, boot_loader.recognise(root))
    return loader.no_kexec or _no_kexec(root, _menu(root, loader, _stored(root), None))


def _no_kexec(root: Root, menu: BootMenu) -> str:
    entry = next(menu.tuned(trial=True), menu.default)
    return kexec.why_not(root, entry.release, entry.words) if entry else "no plan is applied"


def _menu(
    root: Root, loader: ForeignLoader, known: Optional[_StockLine], plan: Optional[Plan]
) -> BootMenu:
    """The stock, tuned and trial entries of a kernel, with this plan or the stored one. The default
    is the entry whose words the loader's file has; where no file can be read, the one with the
    running line."""
    added = loader.added(root)
    if known is None:
        return BootMenu((), _of_file(added, running_release(root) or "", ()))
    stock = BootEntry("stock", known.release, known.words)
    plan = plan or decision.stored(root, known.release)
    if plan is None:
        return BootMenu((stock,), _of_file(added, known.release, known.words) or stock)
    ours = _entry(known, plan)
    trial = _entry(known, plan, entry_line.trial_words(root))
    default = _of_file(added, known.release, known.words) or stock
    if runs_line_of(root, ours) if added is None else added.plan == plan.id:
        default = ours
    return BootMenu((stock, ours, trial), default)


def runs_line_of(root: Root, entry: BootEntry) -> bool:
    """Whether this kernel runs with the entry's line."""
    return entry_line.same(root.read("/proc/cmdline") or "", entry.words) is None


def _of_file(
    added: Optional[AddedWords], release: str, stock: tuple[str, ...]
) -> Optional[BootEntry]:
    """The entry with the words of a plan that is not stored, or not any more."""
    if added is None or added.plan is None:
        return None
    words = (*stock, *added.words)
    return BootEntry(entry_line.entry_id(release, words), release, words)


def _entry(stock: _StockLine, plan: Plan, trial: Sequence[str] = ()) -> BootEntry:
    words = entry_line.tuned(stock.words, plan)
    name = entry_line.entry_id(stock.release, words)
    if trial:
        name = entry_line.trial_id(name)
        words = entry_line.tuned(stock.words, plan, trial)
    return BootEntry(name, stock.release, words, ours=True, trial=bool(trial))


def _stored(root: Root) -> Optional[_StockLine]:
    """The stock line of the applied plan's kernel, else the running one."""
    return _STOCK.read(Disk(root)) or _running(root)


def _running(root: Root) -> Optional[_StockLine]:
    """The running kernel with its stock line; if it runs with lowlat's, the stored stock line. None
    if that is not known."""
    kept = _STOCK.read(Disk(root))
    words = tuple(cmdline.of_kernel(root.read("/proc/cmdline") or ""))
    release = running_release(root)
    if release is None:
        return kept
    if not entry_line.marked(words):
        return _StockLine(release, words)
    return replace(kept, release=release) if kept else None


class ByHand(Loader):
    """``anew``: for the running kernel, whichever one a plan is applied for."""

    def __init__(self, root: Root, loader: ForeignLoader, *, anew: bool = False) -> None:
        self._root = root
        self._loader = loader
        self._anew = anew
        self.name = loader.name
        self.cannot_try = loader.cannot_try

    @property
    def added(self) -> Optional[AddedWords]:
        """The words of a plan in the loader's file; None if it cannot be read."""
        return self._loader.added(self._root)

    def steps(self, plan: Optional[Plan] = None) -> str:
        """The steps for a person to make this plan's line the default, or that of the applied plan;
        "" if there is none."""
        boot = self.describe()
        if plan is None and boot.entries:
            plan = decision.stored(self._root, boot.entries[0].release)
        if plan is None:
            return ""
        default = self._menu(plan).default
        if default and default.ours and runs_line_of(self._root, default):
            return "it boots with this line already"
        replaced = entry_line.conflicting(boot.entries[0].words, plan)
        return self._loader.steps(self._root, plan.words, str(plan.kernel), replaced)

    def no_kexec(self, plan: Plan) -> str:
        """The reason why kexec cannot try this plan's line; "" if it can."""
        return self._loader.no_kexec or _no_kexec(self._root, self._menu(plan))

    def check(self) -> None:
        self._needed()

    def describe(self) -> BootMenu:
        return self._menu()

    def _menu(self, plan: Optional[Plan] = None) -> BootMenu:
        return _menu(self._root, self._loader, self._known(), plan)

    def _known(self) -> Optional[_StockLine]:
        return _running(self._root) if self._anew else _stored(self._root)

    def _needed(self) -> _StockLine:
        stock = self._known()
        if stock is None:
            why = "the running line is lowlat's own, and the stock one is not known"
            raise Refused(why, hint="boot the stock line first")
        return stock

    def write(self, change: Transaction, plans: Sequence[Plan], accept: bool) -> BootMenu:
        change.write(_STOCK.path, _STOCK.text(self._needed()))
        boot = self.describe()
        for entry in boot.tuned():
            plan = next(plan for plan in plans if plan.kernel == entry.release)
            entry_line.check_planned(entry.id, entry.words, plan)
            entry_line.check_length(self._root, entry.id, entry.words, plan.kernel)
        return boot

    def foresee(self, change: Foreseen, plans: Sequence[Plan]) -> None:
        stock = self._known() if plans else None
        if stock is not None:
            change.write(_STOCK.path, _STOCK.text(stock))

    def check_one_shot(self) -> None:
        why = f"this machine boots with {self.name}: {self.cannot_try}"
        hint = "--kexec tries the line without the loader"
        if not_either := no_kexec(self._root):
            applied = any(self.describe().tuned())
            by_hand = "'lowlat-gen promote' prints the step"
            hint = by_hand if applied else f"nor does kexec try it: {not_either}"
        raise Refused(why, hint=hint)

    def one_shot(self, entry: Optional[BootEntry]) -> None:
        self.check_one_shot()

    def make_default(
        self, change: Transaction, entry: Optional[BootEntry], follow: bool
    ) -> BootMenu:
        if entry is not None:
            why = f"this machine boots with {self.name}: its default is yours to change"
            raise Refused(why, hint="'lowlat-gen promote' prints the step")
        return self.describe()
