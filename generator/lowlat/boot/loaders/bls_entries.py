# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot entries in files of their own (Boot Loader Specification, type #1): the distribution's, and
lowlat's, which are made from them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Callable

from lowlat.base import encode
from lowlat.boot import entry_line, seal
from lowlat.boot.loaders.interface import BootEntry
from lowlat.host.root import Root
from lowlat.model import cmdline
from lowlat.model.plan import Plan
from lowlat.probe import kernel_image

#: Separators before lowlat's part of a name. "-0-" sorts behind all versions, as in rescue entries.
#: For GRUB the tilde is older than everything (version_order.py); the Boot Loader Specification
#: allows no tilde in names.
BEHIND = "-0-"
BEHIND_IN_GRUB = "~"

#: Suffix of a unified kernel image's name, and of its entry's.
IMAGE = ".efi"

_OURS = re.compile(f"(?:{BEHIND}|{BEHIND_IN_GRUB})lowlat-")

#: The counter of systemd-boot in a file's name: tries left and tries done.
_COUNTER = re.compile(r"\+\d+(-\d+)?(?=$|\.efi$)")

#: Keys that a tuned entry does not copy from the stock one.
_DROPPED = frozenset({"id", "options", "title", "initrd", "sort-key"})

_SORT_KEY = "zz-lowlat"

#: Before the version of lowlat's entries where versions sort before names: older than all others.
OLDEST = "~"


@dataclass(frozen=True)
class Snippet:
    """One entry file: its name without ".conf" and without a counter, its file name, its lines;
    ``kernel`` is the release of the kernel in its image, if that was read. ``second``: of the
    entries of its kernel, another one is this system's normal one. ``elsewhere``: on another
    partition than lowlat's entries. ``edited``: of lowlat's, and not as it was written."""

    name: str
    file: str
    pairs: tuple[tuple[str, str], ...]
    kernel: str = ""
    second: bool = False
    elsewhere: bool = False
    edited: bool = False

    def values(self, key: str) -> list[str]:
        return [value for name, value in self.pairs if name == key]

    @property
    def options(self) -> str:
        return " ".join(self.values("options"))

    @property
    def release(self) -> str:
        return self.kernel or "".join(self.values("version")[:1]).lstrip(OLDEST)

    @property
    def ours(self) -> bool:
        return is_ours(self.name)

    @property
    def stock(self) -> bool:
        """Whether it boots a kernel of the distribution normally, without rescue mode."""
        kernel = "".join(self.values("linux"))
        rescue = "-0-rescue" in f"{self.name} {kernel}"
        there = not self.ours and not self.elsewhere
        return there and not rescue and bool(kernel or self.name.endswith(IMAGE))


def parse(file: str, text: str) -> Snippet:
    rows = (row.split(None, 1) for row in text.split("\n") if not row.lstrip().startswith("#"))
    pairs = tuple((row[0], row[1].strip()) for row in rows if len(row) == 2)
    return Snippet(base_name(file), file, pairs, edited=seal.is_broken(text))


def read(root: Root, folder: str) -> list[Snippet]:
    """Every entry file in a folder. Paths in them begin at the file system of its boot
    partition."""
    place = folder[: -len("/loader/entries")]
    files = [name for name in root.names(folder) if name.endswith(".conf")]
    parsed = (parse(name, root.read(f"{folder}/{name}") or "") for name in files)
    return [replace(each, kernel=_kernel(root, place, each)) for each in parsed]


def _kernel(root: Root, place: str, snippet: Snippet) -> str:
    return kernel_image.release(root, "".join(snippet.values("linux")), place, snippet.release)


def marked(
    snippets: Sequence[Snippet],
    root: Root,
    known: Mapping[str, str],
    likely: Callable[[Snippet], int],
) -> list[Snippet]:
    """The entries, of which each kernel has one stock entry that is not ``second``: first counts
    the root file system that is in use, then the machine's id, the rank that ``likely`` gives, the
    words that the running line lacks, and the order. Several systems may share a boot partition,
    and people write entries of their own for rescue."""
    running = (root.read("/proc/cmdline") or "").split()
    machine = root.read("/etc/machine-id") or ""

    def rank(each: Snippet) -> tuple[bool, bool, int, int]:
        words = filled(each.options, known)
        used, its = (list(cmdline.values(" ".join(line), "root")) for line in (running, words))
        other = any(value != machine for value in each.values("machine-id"))
        lacking = len(set(words) - set(running))
        return bool(used and used[-1:] != its[-1:]), bool(machine and other), likely(each), lacking

    normal: dict[str, Snippet] = {}
    for each in sorted((one for one in snippets if one.stock), key=rank):
        normal.setdefault(each.release, each)
    return [
        replace(each, second=each.stock and normal[each.release] is not each) for each in snippets
    ]


def entry(snippet: Snippet, known: Mapping[str, str]) -> BootEntry:
    words = filled(snippet.options, known)
    trial = snippet.ours and snippet.name.endswith("-trial")
    release = snippet.release if snippet.ours or snippet.stock else ""
    files = [*snippet.values("linux"), *snippet.values("efi")]
    for initrd in snippet.values("initrd"):
        files += filled(initrd, known)
    kind = (snippet.ours, trial, snippet.second)
    return BootEntry(snippet.name, release, words, *kind, files=tuple(files), edited=snippet.edited)


def filled(text: str, known: Mapping[str, str]) -> tuple[str, ...]:
    """The words of a line as GRUB passes them on; a variable that is not known stays."""
    return entry_line.expanded([text], known)


def base_name(file: str) -> str:
    """An entry's name: the file's, without ".conf" and without the counter of systemd-boot."""
    return _COUNTER.sub("", file[: -len(".conf")] if file.endswith(".conf") else file)


def is_ours(name: str) -> bool:
    return _OURS.search(name) is not None


def tuned(
    stock: Snippet, plan: Plan, trial: Sequence[str], known: Mapping[str, str], behind: str
) -> tuple[str, tuple[str, ...]]:
    """The name and the line of a tuned entry, with all variables filled in."""
    words = filled(stock.options, known)
    release = stock.release
    ident = entry_line.entry_id(release, entry_line.tuned(words, plan))
    stem = stock.name[: -len(IMAGE)] if stock.name.endswith(IMAGE) else stock.name
    token = stem[: -len(release)].rstrip("-") if stem.endswith(release) else stem
    name = f"{token}{behind}{ident}"
    return (entry_line.trial_id(name) if trial else name), entry_line.tuned(words, plan, trial)


def text(
    stock: Snippet,
    words: Sequence[str],
    trial: bool,
    known: Mapping[str, str],
    before_version: str = "",
) -> str:
    """The file of a tuned entry with this line."""
    title = (stock.values("title") or [f"Linux {stock.release}"])[0]
    rows = [("title", f"{title} ({'lowlat, one try' if trial else 'lowlat'})")]
    if stock.values("sort-key"):
        rows.append(("sort-key", _SORT_KEY))
    for key, value in stock.pairs:
        if key not in _DROPPED:
            rows.append((key, f"{before_version}{value}" if key == "version" else value))
    for initrd in stock.values("initrd"):
        rows += [("initrd", path) for path in filled(initrd, known)]
    rows.append(("options", " ".join(words)))
    head = "# Written by lowlat-gen, made anew with every kernel.\n"
    return seal.sealed(head + "".join(encode.entry(key, value) for key, value in rows))
