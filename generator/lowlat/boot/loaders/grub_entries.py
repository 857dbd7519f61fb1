# SPDX-License-Identifier: GPL-2.0-or-later
"""GRUB's tuned entries, made from the output of the distribution's 10_linux: for every kernel with
a plan one entry, and one more to try it once. Text in, text out."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Callable, Optional

from lowlat.base import encode
from lowlat.boot import entry_line
from lowlat.boot.loaders import grub_cfg
from lowlat.model.plan import Plan

#: 10_linux runs with this parameter, and the planned ones replace it in the output.
PLACE = "lowlat.line"

SUBMENU = "lowlat"

#: The submenu's first entry: the stock line of the promoted entry's kernel. GRUB boots the first
#: entry if the default's id is gone, mostly because the line changed.
STOCK = "lowlat-stock"

_HEAD = re.compile(
    r"(?P<begin>\s*menuentry )'(?P<title>(?:[^']|'\\'')*)'(?P<classes>.*)"
    r"(?P<option>--id |\$menuentry_id_option )'gnulinux-(?P<release>.+)-advanced-[^']*'(?P<end>.*)"
)
_LINUX = re.compile(r"(\s*linux(?:efi|16)?\s+\S+\s*)(.*)$")


@dataclass(frozen=True)
class Stock:
    """One entry of the distribution as written: its first row parsed, and the other rows."""

    head: re.Match[str]
    rows: tuple[str, ...]

    @property
    def release(self) -> str:
        return self.head["release"]

    @property
    def words(self) -> tuple[str, ...]:
        """The words of its linux line."""
        return grub_cfg.split("".join(row[2] for row in map(_LINUX.match, self.rows) if row))


def submenu(
    text: str,
    plan_of: Callable[[str], Optional[Plan]],
    trial: Sequence[str],
    known: Mapping[str, str],
    promoted: str = "",
) -> str:
    """lowlat's submenu for the entries in ``text``; "" if no kernel has a plan or was promoted.

    ``trial`` are the parameters of the trial entries alone, ``known`` GRUB's variables,
    ``promoted`` the tuned entry that is the default, or its number.
    """
    stocks = list(stock_entries(text))
    planned = [(stock, plan) for stock in stocks if (plan := plan_of(stock.release))]
    if not stocks or not (planned or promoted):
        return ""
    release = entry_line.release_of(promoted)
    first = next((stock for stock in stocks if stock.release == release), stocks[0])
    words = [word for word in first.words if word != PLACE]
    rows = [
        "submenu 'lowlat: tuned for low latency' --id " + SUBMENU + " {",
        *_entry(first, "stock", STOCK, words),
    ]
    for extra in ((), trial):
        for stock, plan in planned:
            rows += _tuned(stock, plan, extra, known)
    return "\n".join((*rows, "}", ""))


def lost(made: str, promoted: str) -> str:
    """A message if the default is not among the generated entries; "" if it is."""
    tuned = set(re.findall(r"'(lowlat-[^']+)'", made)) - {STOCK}
    if not promoted or promoted in tuned or (promoted.isdecimal() and tuned):
        return ""
    if promoted.isdecimal():
        return "no promoted entry is left: the newest kernel's stock entry is the default"
    return f"{promoted} was promoted and is gone: its kernel's stock entry is the default"


def stock_entries(text: str) -> Iterator[Stock]:
    """The distribution's normal entries, one a kernel, newest first; those for recovery and for
    other init systems are left out."""
    rows: list[str] = []
    head: Optional[re.Match[str]] = None
    for row in text.splitlines():
        match = _HEAD.match(row)
        if match:
            head, rows = match, []
        elif head and grub_cfg.CLOSE.match(row):
            yield Stock(head, tuple(rows))
            head = None
        else:
            rows.append(row)


def _tuned(
    stock: Stock, plan: Plan, trial: Sequence[str], known: Mapping[str, str]
) -> Iterator[str]:
    words = entry_line.inlined(stock.words, known, plan)
    name = entry_line.entry_id(stock.release, entry_line.tuned(words, plan, (), PLACE))
    title, name = ("lowlat, one try", entry_line.trial_id(name)) if trial else ("lowlat", name)
    words = entry_line.inlined(words, known, plan, trial)
    return _entry(stock, title, name, entry_line.tuned(words, plan, trial, PLACE))


def _entry(stock: Stock, title: str, name: str, words: Iterable[str]) -> Iterator[str]:
    """The rows of the stock entry with another title, id and line."""
    head = stock.head
    yield (
        f"{head['begin']}'{head['title']} ({title})'{head['classes']}{head['option']}"
        f"{encode.shell(name)}{head['end']}"
    )
    line = " ".join(words)
    for row in stock.rows:
        linux = _LINUX.match(row)
        yield linux[1] + line if linux else row
    yield "}"
