# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot entries that are files of their own (Boot Loader Specification, type #1): those of the
distribution, and ours, made from them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lowlat.base import encode
from lowlat.boot import entry_line
from lowlat.boot.loaders.interface import BootEntry
from lowlat.host.root import Root
from lowlat.model.plan import Plan

#: What stands before our part of a name. The first sorts behind all versions, as in the rescue
#: entry's. GRUB takes a name for that of a package (split_cmp() in grub-core/commands/blscfg.c):
#: with more than two hyphens what is left of them counts, and a longer one comes first. There the
#: tilde sorts before everything; others may not have it in a name (Boot Loader Specification).
BEHIND = "-0-"
BEHIND_IN_GRUB = "~"

#: How the name of a unified kernel image ends, which is its entry's too.
IMAGE = ".efi"

_OURS = re.compile(f"(?:{BEHIND}|{BEHIND_IN_GRUB})lowlat-")

#: Behind the name of a file whose boots systemd-boot counts: tries left and tries done.
_COUNTER = re.compile(r"\+\d+(-\d+)?(?=$|\.efi$)")

_RELEASE = re.compile(r"[^0-9/]*-([^/]*)$")

#: What a tuned entry does not take from the stock one.
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
        kernel = self.values("linux") or self.name.endswith(IMAGE)
        return not self.ours and not rescue and bool(kernel)


def parse(file: str, text: str) -> Snippet:
    rows = (row.split(None, 1) for row in text.split("\n") if not row.lstrip().startswith("#"))
    pairs = tuple((row[0], row[1].strip()) for row in rows if len(row) == 2)
    return Snippet(base_name(file), file, pairs)


def read(root: Root, folder: str) -> list[Snippet]:
    """Every entry file in a folder, newest kernel first as loaders sort them."""
    files = [name for name in root.names(folder) if name.endswith(".conf")]
    found = [parse(name, root.read(f"{folder}/{name}") or "") for name in files]
    return sorted(found, key=lambda each: (not each.ours, order(each.name)), reverse=True)


def order(name: str) -> list[tuple[int, int, str]]:
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


def tuned(
    stock: Snippet, plan: Plan, trial: Sequence[str], known: Mapping[str, str], behind: str
) -> tuple[str, tuple[str, ...]]:
    """The name and the line of a tuned entry; no variable is left in it."""
    words = filled(stock.options, known)
    release = stock.release
    ident = entry_line.entry_id(release, entry_line.tuned(words, plan))
    stem = stock.name[: -len(IMAGE)] if stock.name.endswith(IMAGE) else stock.name
    token = stem[: -len(release)].rstrip("-") if stem.endswith(release) else stem
    name = f"{token}{behind}{ident}"
    return (entry_line.trial_id(name) if trial else name), entry_line.tuned(words, plan, trial)


def text(stock: Snippet, words: Sequence[str], trial: bool, known: Mapping[str, str]) -> str:
    """The file of a tuned entry with this line."""
    title = (stock.values("title") or [f"Linux {stock.release}"])[0]
    rows = [("title", f"{title} ({'lowlat, one try' if trial else 'lowlat'})")]
    if stock.values("sort-key"):
        rows.append(("sort-key", _SORT_KEY))
    rows += [(key, value) for key, value in stock.pairs if key not in _DROPPED]
    for initrd in stock.values("initrd"):
        rows += [("initrd", path) for path in filled(initrd, known)]
    rows.append(("options", " ".join(words)))
    head = "# Written by lowlat-gen, made anew with every kernel.\n"
    return head + "".join(encode.entry(key, value) for key, value in rows)
