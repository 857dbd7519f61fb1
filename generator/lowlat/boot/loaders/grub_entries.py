# SPDX-License-Identifier: GPL-2.0-or-later
"""GRUB's tuned entries, made from the output of the distribution's 10_linux: for every kernel with
a plan one entry, and one more to try it once. Text in, text out."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Callable, Optional

from lowlat.base import encode
from lowlat.boot import entry_line, seal
from lowlat.boot.loaders import grub_cfg, grub_words
from lowlat.model.plan import Plan

#: 10_linux runs with this parameter, and the planned ones replace it in the output.
PLACE = "lowlat.line"

SUBMENU = "lowlat"

_ID = r"gnulinux-(?P<release>.+)-advanced-[^']*"
_HEAD = re.compile(
    r"(?P<begin>\s*menuentry )'(?P<title>(?:[^']|'\\'')*)'(?P<classes>.*)"
    rf"(?P<option>--id |\$menuentry_id_option )'{_ID}'(?P<end>.*)"
)

#: An entry of lowlat's, by its id.
_OWN = re.compile(r"^[ \t]*menuentry .*'(lowlat-[^']+)'.*\n(?:.*\n)*?\}", re.MULTILINE)


@dataclass(frozen=True)
class Stock:
    """One entry of the distribution as written: its first row parsed, and the other rows; and the
    release of its kernel, which the id lacks where the image is named without it (Arch)."""

    head: re.Match[str]
    rows: tuple[str, ...]
    release: str

    @property
    def words(self) -> tuple[str, ...]:
        """The words of its linux line, without the image; none if it has several such lines."""
        lines = [row[2] for row in map(grub_cfg.LINUX.match, self.rows) if row]
        return grub_words.split(lines[0])[1:] if len(lines) == 1 else ()

    def once(self) -> "Stock":
        """The entry as it boots with its initrd, and without the function of Ubuntu's 00_header
        that boots an entry a second time (GRUB_FORCE_PARTUUID)."""
        rows = grub_cfg.with_initrd(self.rows)
        return replace(self, rows=tuple(row for row in rows if row.strip() != "initrdfail"))


def submenu(
    text: str,
    release_of: Callable[[str], str],
    plan_of: Callable[[str], Optional[Plan]],
    trial: Sequence[str],
    known: Mapping[str, str],
    promoted: str = "",
) -> str:
    """lowlat's submenu for the entries in ``text``; "" if no kernel has a plan or was promoted.

    ``release_of`` tells the release of an image. ``trial`` are the parameters of the trial entries
    alone, ``known`` GRUB's variables, ``promoted`` the tuned entry that is the default, or its
    number.
    """
    stocks = list(stock_entries(text, release_of))
    single = [stock for each in stocks if (stock := each.once()).words]
    planned = [(stock, plan) for stock in single if (plan := plan_of(stock.release))]
    if not stocks or not (planned or promoted):
        return ""
    release = entry_line.release_of(promoted)
    first = next((stock for stock in stocks if stock.release == release), stocks[0])
    # Where GRUB has a password, what is not so asks for it before any kernel boots.
    free = " --unrestricted" if "--unrestricted" in first.head["classes"].split() else ""
    rows = [
        f"submenu 'lowlat: tuned for low latency'{free} --id {SUBMENU} {{",
        _entry(first.once(), "stock", entry_line.STOCK, _without_place),
    ]
    for extra in ((), trial):
        for stock, plan in planned:
            rows.append(_tuned(stock, plan, extra, known))
    return "\n".join((*rows, "}", ""))


def lost(made: str, promoted: str) -> str:
    """A message if the default is not among the generated entries; "" if it is."""
    tuned = set(re.findall(r"'(lowlat-[^']+)'", made)) - {entry_line.STOCK}
    if not promoted or promoted in tuned or (promoted.isdecimal() and tuned):
        return ""
    if promoted.isdecimal():
        return "no promoted entry is left: the newest kernel's stock entry is the default"
    return f"{promoted} was promoted and is gone: its kernel's stock entry is the default"


def edited(config: str) -> set[str]:
    """The ids of lowlat's entries in a grub.cfg that somebody changed."""
    return {found[1] for found in _OWN.finditer(config) if seal.is_broken(found[0])}


def is_stock(ident: str) -> bool:
    """Whether 10_linux gives this id to a kernel's normal entry."""
    return re.fullmatch(_ID, ident) is not None


def stock_entries(text: str, release_of: Callable[[str], str]) -> Iterator[Stock]:
    """The distribution's normal entries, newest first; those for recovery and for other init
    systems are left out, and so is a second image of a kernel (a copy for rescue, or the one that
    "make install" replaced)."""
    rows: list[str] = []
    known: set[str] = set()
    head: Optional[re.Match[str]] = None
    for row in text.splitlines():
        match = _HEAD.match(row)
        if match:
            head, rows = match, []
        elif head and grub_cfg.CLOSE.match(row):
            stock = Stock(head, tuple(rows), release_of(_image(rows)) or head["release"])
            if stock.release not in known:
                yield stock
            known.add(stock.release)
            head = None
        else:
            rows.append(row)


def _image(rows: Iterable[str]) -> str:
    """The path of the entry's kernel; "" without a linux line."""
    line = next((row[2] for row in map(grub_cfg.LINUX.match, rows) if row), "")
    return "".join(grub_words.passed(next(iter(grub_words.split(line)), ""), {}))


def _tuned(stock: Stock, plan: Plan, trial: Sequence[str], known: Mapping[str, str]) -> str:
    words = _inlined(stock.words, known, plan)
    line = grub_words.passed(" ".join(entry_line.tuned(words, plan, (), PLACE)), {})
    name = entry_line.entry_id(stock.release, line)
    title, name = ("lowlat, one try", entry_line.trial_id(name)) if trial else ("lowlat", name)
    words = entry_line.tuned(_inlined(words, known, plan, trial), plan, trial, PLACE)
    return _entry(stock, title, name, lambda text: " ".join((grub_words.split(text)[0], *words)))


def _inlined(
    stock: Iterable[str], known: Mapping[str, str], plan: Plan, trial: Sequence[str] = ()
) -> tuple[str, ...]:
    """The words as written, with each variable that holds a conflicting parameter replaced by its
    value."""
    words: list[str] = []
    for word in stock:
        parts = grub_words.passed(word, known)
        inline = parts and entry_line.conflicting(parts, plan, trial)
        words.extend(
            parts if inline and grub_words.passed(" ".join(parts), {}) == parts else [word]
        )
    return tuple(words)


def _entry(stock: Stock, title: str, name: str, line: Callable[[str], str]) -> str:
    """The stock entry with another title and id, sealed; ``line`` changes what follows "linux"."""
    head = stock.head
    rows = [
        f"{head['begin']}'{head['title']} ({title})'{head['classes']}{head['option']}"
        f"{encode.shell(name)}{head['end']}"
    ]
    for row in stock.rows:
        linux = grub_cfg.LINUX.match(row)
        rows.append(linux[1] + line(linux[2]) if linux else row)
    return seal.sealed("\n".join((*rows, "}")))


def _without_place(text: str) -> str:
    return " ".join(word for word in grub_words.split(text) if word != PLACE)
