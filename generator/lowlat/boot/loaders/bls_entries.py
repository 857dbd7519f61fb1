# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot entries that are files of their own (Boot Loader Specification, type #1): those of the
distribution, and ours, made from them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Callable, Optional

from lowlat.base import encode
from lowlat.base.errors import LowlatError, Refused
from lowlat.boot import entry_line
from lowlat.boot.disk import Disk
from lowlat.boot.file_snapshot import FileSnapshot
from lowlat.boot.loaders.interface import BootEntry, BootMenu
from lowlat.host.root import Root
from lowlat.model.plan import Plan

PlanOf = Callable[[str], Optional[Plan]]

#: What stands before our part of a name. The first sorts behind all versions, as in the rescue
#: entry's. GRUB takes a name for that of a package (split_cmp() in grub-core/commands/blscfg.c):
#: with more than two hyphens what is left of them counts, and a longer one comes first. There the
#: tilde sorts before everything; others may not have it in a name (Boot Loader Specification).
BEHIND = "-0-"
BEHIND_IN_GRUB = "~"

_OURS = re.compile(f"(?:{BEHIND}|{BEHIND_IN_GRUB})lowlat-")

#: Behind the name of a file whose boots systemd-boot counts: tries left and tries done.
_COUNTER = re.compile(r"\+\d+(-\d+)?$")

_RELEASE = re.compile(r"[^0-9/]*-([^/]*)$")

#: What an entry of ours does not take from the stock one.
_DROPPED = frozenset({"id", "options", "title", "initrd", "sort-key"})

_VARIABLE = re.compile(r"\$\{?\w+\}?")

_SORT_KEY = "zz-lowlat"


@dataclass(frozen=True)
class Snippet:
    """One file: its name without ".conf" and without a counter, its own name, its lines."""

    name: str
    file: str
    pairs: tuple[tuple[str, str], ...]

    def values(self, key: str) -> list[str]:
        return [value for name, value in self.pairs if name == key]

    @property
    def options(self) -> str:
        return " ".join(self.values("options"))

    @property
    def release(self) -> str:
        version = self.values("version")
        if version:
            return version[0]
        found = _RELEASE.search("".join(self.values("linux")))
        return found[1] if found else ""

    @property
    def ours(self) -> bool:
        return is_ours(self.name)

    @property
    def stock(self) -> bool:
        """Whether it boots one of the distribution's kernels in its normal way."""
        rescue = "-0-rescue" in self.name or self.release.startswith("0-rescue")
        return not self.ours and not rescue and bool(self.values("linux"))


def parse(file: str, text: str) -> Snippet:
    rows = (row.split(None, 1) for row in text.split("\n") if not row.lstrip().startswith("#"))
    pairs = tuple((row[0], row[1].strip()) for row in rows if len(row) == 2)
    return Snippet(base_name(file), file, pairs)


def read(root: Root, folder: str) -> list[Snippet]:
    """Every entry file in a folder, newest kernel first as loaders sort them."""
    files = [name for name in root.names(folder) if name.endswith(".conf")]
    found = [parse(name, root.read(f"{folder}/{name}") or "") for name in files]
    return sorted(found, key=lambda each: (not each.ours, _order(each.name)), reverse=True)


def _order(name: str) -> list[tuple[int, int, str]]:
    """Names in the order of versions: numbers by value, and before them what has none."""
    parts = re.findall(r"\d+|[^\d]+", name)
    return [(1, int(part), "") if part.isdecimal() else (0, 0, part) for part in parts]


def entry(snippet: Snippet, known: Mapping[str, str]) -> BootEntry:
    words = filled(snippet.options, known)
    trial = snippet.ours and snippet.name.endswith("-trial")
    release = snippet.release if snippet.ours or snippet.stock else ""
    return BootEntry(snippet.name, release, words, snippet.ours, trial)


def filled(text: str, known: Mapping[str, str]) -> tuple[str, ...]:
    """The words of a line as GRUB hands them on: a variable that is not set is nothing."""
    return tuple(
        word for word in entry_line.expanded([text], known) if not _VARIABLE.fullmatch(word)
    )


def base_name(file: str) -> str:
    """An entry's name: the file's, without ".conf" and without what systemd-boot counts."""
    return _COUNTER.sub("", file[: -len(".conf")] if file.endswith(".conf") else file)


def is_ours(name: str) -> bool:
    return _OURS.search(name) is not None


class Folder:
    """The folder of entry files, and what is done to ours in it."""

    def __init__(
        self, root: Root, path: str, *, behind: str = BEHIND, counted: bool = False
    ) -> None:
        self._root = root
        self._disk = Disk(root)
        self._behind = behind
        self.path = path
        #: Whether systemd-boot counts the boots of new entries here.
        self._counted = counted

    def read(self) -> list[Snippet]:
        return read(self._root, self.path)

    def write(
        self,
        plan_of: PlanOf,
        known: Mapping[str, str],
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """Write the entries of every kernel with a plan, then remove those that are left over. What
        fails, or ``check`` refuses, leaves the files that were there before."""
        there = self.read()
        before = {snippet.file for snippet in there if snippet.ours}
        made = dict(self._made(there, plan_of, known))
        try:
            for file, text in made.items():
                self._disk.put(f"{self.path}/{file}", FileSnapshot(text.encode()))
            check()
        except LowlatError:
            for file in made.keys() - before:
                self._disk.remove(f"{self.path}/{file}")
            raise
        for file in before - made.keys():
            self._disk.remove(f"{self.path}/{file}")

    def _made(
        self, there: Sequence[Snippet], plan_of: PlanOf, known: Mapping[str, str]
    ) -> Iterator[tuple[str, str]]:
        files = {snippet.name: snippet.file for snippet in there}
        for stock in _stock(there):
            plan = plan_of(stock.release)
            if plan is None:
                continue
            for trial in ((), entry_line.trial_words(self._root)):
                name, text = tuned(stock, plan, trial, known, self._behind)
                yield files.get(name) or self._new_file(name), text

    def _new_file(self, name: str) -> str:
        tries = (self._root.read("/etc/kernel/tries") or "") if self._counted else ""
        counter = f"+{tries}" if tries.isdecimal() else ""
        return f"{name}{counter}.conf"

    def check(self, boot: BootMenu, before: BootEntry, plans: Sequence[Plan]) -> None:
        """Read back: raises Refused where a plan has no entry, or one that is not the stock one and
        the plan, or where the default is no longer what it was."""
        for plan in plans:
            self._check(boot, plan)
        if boot.default is None or boot.default.name != before.name:
            raise Refused(f"{self.path}: the default would not stay {before.name}")

    def _check(self, boot: BootMenu, plan: Plan) -> None:
        stock = boot.stock(str(plan.kernel))
        ident = entry_line.planned(plan)[-1]
        fresh = [each for each in boot.entries if each.ours and ident in each.words]
        if not fresh or stock is None:
            raise Refused(f"no entry was made for kernel {plan.kernel}")
        for each in fresh:
            trial = entry_line.trial_words(self._root) if each.trial else ()
            entry_line.check(each.id, each.words, stock.words, plan, trial)

    def clear(self) -> None:
        """Remove all entries of ours, and what a crash left beside them."""
        for name in self._root.names(self.path):
            if is_ours(name):
                self._disk.remove(f"{self.path}/{name}")


def _stock(there: Sequence[Snippet]) -> Iterator[Snippet]:
    """The newest entry of each kernel of the distribution's."""
    seen = set()
    for snippet in there:
        if snippet.stock and snippet.release not in seen:
            seen.add(snippet.release)
            yield snippet


def tuned(
    stock: Snippet, plan: Plan, trial: Sequence[str], known: Mapping[str, str], behind: str
) -> tuple[str, str]:
    """The name and the text of a tuned entry; no variable is left in it."""
    words = filled(stock.options, known)
    release = stock.release
    ident = entry_line.entry_id(release, entry_line.tuned(words, plan))
    token = stock.name[: -len(release)].rstrip("-") if stock.name.endswith(release) else stock.name
    name = f"{token}{behind}{ident}"
    title = (stock.values("title") or [f"Linux {release}"])[0]
    rows = [("title", f"{title} ({'lowlat, one try' if trial else 'lowlat'})")]
    if stock.values("sort-key"):
        rows.append(("sort-key", _SORT_KEY))
    rows += [(key, value) for key, value in stock.pairs if key not in _DROPPED]
    for initrd in stock.values("initrd"):
        rows += [("initrd", path) for path in filled(initrd, known)]
    rows.append(("options", " ".join(entry_line.tuned(words, plan, trial))))
    text = "# Written by lowlat-gen, made anew with every kernel.\n"
    text += "".join(encode.entry(key, value) for key, value in rows)
    return (entry_line.trial_id(name) if trial else name), text
