# SPDX-License-Identifier: GPL-2.0-or-later
"""The common part of loaders that read entry files (Boot Loader Specification, type #1). lowlat's
files lie beside the distribution's; the default is a setting of the loader. The previous default is
stored, and restored unless another one was chosen since."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Callable, Optional

from lowlat.base import files
from lowlat.base.errors import LowlatError, Refused
from lowlat.boot import entry_line, hooks
from lowlat.boot import journal as journals
from lowlat.boot.disk import Disk, FileSnapshot
from lowlat.boot.foreseen import Foreseen
from lowlat.boot.loaders import bls_entries
from lowlat.boot.loaders.bls_entries import Snippet
from lowlat.boot.loaders.interface import BootEntry, BootMenu, Loader, PlanOf, check_entry, named
from lowlat.boot.state_file import StateFile, lenient
from lowlat.boot.transaction import Transaction
from lowlat.host.root import Root
from lowlat.model.plan import Plan


@dataclass(frozen=True)
class _Kept:
    """The default before lowlat set one (None: no setting), and the defaults that lowlat set.
    ``made``: the files that hold it were not there."""

    before: Optional[str]
    ours: tuple[str, ...]
    made: bool = False


_KEPT = StateFile(
    f"{files.STATE}/default.json",
    "lowlat.default/1",
    lenient(_Kept),
    "set the default by hand, then remove it",
    0o600,
    frozen=True,
)


class EntryFiles(Loader, ABC):
    """``path`` is the folder of entry files."""

    #: Separator before lowlat's part of an entry's name.
    behind = bls_entries.BEHIND

    #: Written before the version of a tuned entry.
    before_version = ""

    #: Whether removing the default entry's file unsets the default, so that no other one is set.
    unsets_default = False

    #: Whether an unset default means the first entry, which could be lowlat's.
    first_is_default = False

    def __init__(self, root: Root, path: str) -> None:
        self._root = root
        self._disk = Disk(root)
        self.path = path

    @abstractmethod
    def _default(self) -> Optional[str]:
        """The loader's setting of the default; None if it is not set."""

    @abstractmethod
    def _set_default(self, name: Optional[str]) -> None: ...

    @abstractmethod
    def _next(self) -> str:
        """The entry that the loader boots next, once; "" for none."""

    def _hook(self, change: Transaction) -> None:
        """Install the hooks that the distribution calls when a kernel comes or goes."""
        hooks.write_plugin(change)

    def _known(self) -> Mapping[str, str]:
        """The loader's variables."""
        return {}

    def _new_file(self, name: str) -> str:
        return f"{name}.conf"

    def _content(self, stock: Snippet, words: Sequence[str], trial: bool) -> str:
        """The file of a tuned entry with this line."""
        return bls_entries.text(stock, words, trial, self._known(), self.before_version)

    def _follows(self, default: BootEntry, newest: BootEntry) -> bool:
        """Whether the newest tuned entry becomes the default."""
        return default.ours

    @abstractmethod
    def _ordered(self, snippets: Sequence[Snippet]) -> list[Snippet]:
        """The entries in the order of the loader's menu."""

    def _read(self) -> list[Snippet]:
        """The entries, in any order."""
        return bls_entries.read(self._root, self.path)

    def _likely(self, snippet: Snippet) -> int:
        """The rank of a stock entry by the default of before lowlat: 0 if it names this one."""
        return int(self._first_default() != snippet.name)

    def _first_default(self) -> str:
        known = _KEPT.read(self._disk)
        return bls_entries.base_name((known.before if known else self._default()) or "")

    def _snippets(self) -> list[Snippet]:
        ordered = self._ordered(self._read())
        return bls_entries.marked(ordered, self._root, self._known(), self._likely)

    def write(self, change: Transaction, plans: Sequence[Plan], accept: bool) -> BootMenu:
        self._hook(change)
        before = self.describe().default
        if before is None:
            raise Refused(f"{self.path}: there is no entry to stay the default")
        by_release = {str(plan.kernel): plan for plan in plans}
        self._check_stays(before, dict(self._made(self._snippets(), by_release.get)))
        # It is the default only as the first of the list: setting its id keeps it the default.
        pinned = self.first_is_default and not before.ours and self._default() != before.name
        if pinned:
            self._change(before.name)
        change.make_folders(f"{self.path}/*.conf")
        try:
            self._put(by_release.get, lambda: self._check(before, plans))
        except LowlatError:
            if pinned:
                self._restore()
            raise
        self._give_way()
        return self.describe()

    def foresee(self, change: Foreseen, plans: Sequence[Plan]) -> None:
        there, before = self._snippets(), self.describe()
        made = dict(self._made(there, {str(plan.kernel): plan for plan in plans}.get))
        for file, text in made.items():
            change.put(f"{self.path}/{file}", text)
        gone = {each.name: each.file for each in there if each.ours and each.file not in made}
        change.ways.update((f"{self.path}/{file}", "remove") for file in gone.values())
        known, default = not change.root.absent(_KEPT.path), before.default
        if not plans:
            if known or any(self.lost()) or (before.next and before.next.ours):
                kept = _KEPT.read(self._disk)
                way = "remove" if kept and kept.made else "restore"
                change.ways.update((path, way) for path in self._settings())
            if known:
                change.ways[_KEPT.path] = "remove"
            return
        self._hook(change)
        if before.next and before.next.name in gone:
            change.ways.update((path, "change") for path in self._settings())
        if default:
            self._check_stays(default, made)
        pinned = self.first_is_default and default and self._default() != default.name
        if default and (default.name in gone or (pinned and not default.ours)):
            for path in self._settings():
                change.ways[path] = "add" if change.root.absent(path) else "change"
            stock = before.stock(entry_line.release_of(default.name))
            stays = stock if default.name in gone else default
            if stays and not (self.unsets_default and default.name in gone):
                change.put(_KEPT.path, _KEPT.text(self._kept(stays.name)))

    def _check_stays(self, before: BootEntry, made: Mapping[str, str]) -> None:
        """Raises Refused if these new files would change the default."""

    def _unmake(self) -> None:
        """Remove the files that hold the default, if nothing else is in them."""

    def _settings(self, name: str = "") -> Sequence[str]:
        """The files that hold the default, or would hold this one, and the entry for one boot."""
        return ()

    def refresh(self, plan_of: PlanOf, follow: bool) -> str:
        default = self.describe().default
        self._put(plan_of)
        self._keep_first()
        newest = next(self.describe().tuned(), None)
        if follow and newest and default and self._follows(default, newest):
            self._change(newest.name)
        return self._give_way()

    def _keep_first(self) -> None:
        """Where the first entry was the default, whichever it is, pin the one that is first now.
        The stock entry that took a promoted one's place stays."""
        known, now = _KEPT.read(self._disk), self._default()
        if known is None or known.before is not None or now not in known.ours:
            return
        first = next((each for each in self.describe().entries if not each.ours), None)
        if self.first_is_default and first and not any(map(bls_entries.is_ours, known.ours)):
            self._change(first.name)

    def _put(self, plan_of: PlanOf, check: Callable[[], None] = lambda: None) -> None:
        """Write the entries of every kernel with a plan, then remove leftover ones. If a write
        fails or ``check`` refuses, the new files are removed again."""
        there = self._snippets()
        before = {snippet.file for snippet in there if snippet.ours}
        made = dict(self._made(there, plan_of))
        try:
            for file, text in made.items():
                self._disk.put(f"{self.path}/{file}", FileSnapshot(text.encode()))
            check()
        except LowlatError:
            self._remove(made.keys() - before)
            raise
        self._remove(before - made.keys())

    def _made(self, there: Sequence[Snippet], plan_of: PlanOf) -> Iterator[tuple[str, str]]:
        files, known = {snippet.name: snippet.file for snippet in there}, self._known()
        for stock in (each for each in reversed(there) if each.stock and not each.second):
            plan = plan_of(stock.release)
            if plan is None:
                continue
            for trial in ((), entry_line.trial_words(self._root)):
                name, words = bls_entries.tuned(stock, plan, trial, known, self.behind)
                text = self._content(stock, words, bool(trial))
                yield files.get(name) or self._new_file(name), text

    def _check(self, before: BootEntry, plans: Sequence[Plan]) -> None:
        """Read back: raises Refused if a plan has no entry, if an entry is not the stock one plus
        the plan, or if the default has changed."""
        boot = self.describe()
        for plan in plans:
            stock = boot.stock(str(plan.kernel))
            fresh = [each for each in boot.entries if each.ours and plan.marker in each.words]
            if not fresh or stock is None:
                raise Refused(f"no entry was made for kernel {plan.kernel}")
            for each in fresh:
                check_entry(self._root, each, stock, plan)
        if boot.default is None or boot.default.name != before.name:
            raise Refused(f"{self.path}: the default would not stay {before.name}")

    def _remove(self, names: Iterable[str]) -> None:
        for name in names:
            self._disk.remove(f"{self.path}/{name}")

    def remove(self) -> None:
        if bls_entries.is_ours(self._next()):
            self.one_shot(None)
        self._restore()
        # Files that a crash left are removed too.
        self._remove(filter(bls_entries.is_ours, self._root.names(self.path)))
        for folder in reversed(journals.read(self._disk).folders):
            if f"{self.path}/".startswith(f"{folder}/"):
                self._disk.remove_folder(folder)

    def make_default(
        self, change: Transaction, entry: Optional[BootEntry], follow: bool
    ) -> BootMenu:
        if entry is None:
            self._restore()
            return self.describe()
        boot, before = self.describe(), self._default()
        wanted = boot.promoted(entry, follow)
        if wanted not in boot.entries:
            raise Refused(f"{wanted.name} is not there any more", hint="'lowlat-gen status'")
        self._change(wanted.name)
        after = self.describe()
        if after.default != wanted:
            self._set_default(before)
            raise Refused(f"the loader did not take {wanted.name} for its default")
        return after

    def foresee_default(self, change: Foreseen, entry: BootEntry, follow: bool) -> None:
        name = self.describe().promoted(entry, follow).name
        if self._default() == name:
            return
        self._check_default(name)
        change.put(_KEPT.path, _KEPT.text(self._kept(name)))
        for path in self._settings(name):
            change.ways[path] = "add" if change.root.absent(path) else "change"

    def _check_default(self, name: str) -> None:
        """Raises Refused if this entry cannot be stored as the default."""

    def _change(self, name: str) -> None:
        """Make this entry the default."""
        if self._default() != name:
            self._check_default(name)
            _KEPT.write(self._disk, self._kept(name))
            self._set_default(name)

    def _kept(self, name: str) -> _Kept:
        """What is recorded before this entry becomes the default."""
        now = self._default()
        known = _KEPT.read(self._disk) or _Kept(
            self._before(now), (), any(map(self._root.absent, self._settings()))
        )
        # Until the new default is set the old one holds: it stays recorded as lowlat's.
        return replace(known, ours=(name, *(each for each in known.ours if each == now)))

    def _before(self, now: Optional[str]) -> Optional[str]:
        """The default without lowlat, by the one that is set: for an entry of lowlat's, whose
        record was lost, the stock entry of its kernel."""
        name = bls_entries.base_name(now or "")
        if not bls_entries.is_ours(name):
            return now
        stock = self.describe().stock(entry_line.release_of(name))
        return stock.name if stock else None

    def lost(self) -> Iterator[str]:
        if self._root.absent(_KEPT.path) and bls_entries.is_ours(self._default() or ""):
            yield f"{_KEPT.path} is gone, and with it the default before lowlat"

    def _set_last(self) -> Optional[str]:
        """The default that lowlat set last."""
        known = _KEPT.read(self._disk)
        return known.ours[0] if known and known.ours else None

    def _give_way(self) -> str:
        """If the default is a tuned entry that was removed, make its kernel's stock entry the
        default; if that is gone too, restore the first default. Returns a message, or ""."""
        now, boot = bls_entries.base_name(self._default() or ""), self.describe()
        if not bls_entries.is_ours(now) or named(boot.entries, now):
            return ""
        stock = boot.stock(entry_line.release_of(now))
        if stock is None:
            self._restore()
        else:
            self._change(stock.name)
        default = self.describe().default
        return f"{now} was promoted and is gone: {default.id if default else 'none'} is the default"

    def _restore(self) -> None:
        """Restore the first default, unless another one was chosen since; idempotent."""
        now = self._default()
        name = bls_entries.base_name(now or "")
        known = _KEPT.read(self._disk) or _Kept(self._before(now), ())
        if name in map(bls_entries.base_name, known.ours) or bls_entries.is_ours(name):
            self._set_default(known.before)
        if known.made:
            self._unmake()
        self._disk.unstage(_KEPT.path)
        self._disk.remove(_KEPT.path)
