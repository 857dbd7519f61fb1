# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot loaders behind one small interface: describe, write entries, boot one once, make one the
default, remove."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Callable, Optional, Protocol

from lowlat.base.errors import Refused
from lowlat.boot import entry_line
from lowlat.boot.transaction import Transaction
from lowlat.host.root import Root
from lowlat.model.plan import Plan

PlanOf = Callable[[str], Optional[Plan]]


@dataclass(frozen=True)
class BootEntry:
    """A boot entry: ``name`` is what the loader calls it, ``words`` its kernel parameters with the
    loader's variables filled in; ``ours`` and ``trial`` tell what kind it is."""

    name: str
    release: str
    words: tuple[str, ...]
    ours: bool = False
    trial: bool = False

    @property
    def id(self) -> str:
        """The entry's own id: the last part of a name that leads through submenus."""
        return self.name.rpartition(">")[2]


@dataclass(frozen=True)
class BootMenu:
    """What the loader will do: its entries in its own order, the one it boots by default, and the
    one it boots next, once."""

    entries: tuple[BootEntry, ...]
    default: Optional[BootEntry] = None
    next: Optional[BootEntry] = None

    def tuned(self, *, trial: bool = False) -> Iterator[BootEntry]:
        return (entry for entry in self.entries if entry.ours and entry.trial is trial)

    def stock(self, release: str) -> Optional[BootEntry]:
        """The distribution's entry of a kernel."""
        found = (entry for entry in self.entries if entry.release == release and not entry.ours)
        return next(found, None)

    def by_id(self, ident: str) -> Optional[BootEntry]:
        return next((entry for entry in self.entries if entry.id == ident), None)


def named(entries: Sequence[BootEntry], name: str) -> Optional[BootEntry]:
    """The entry that the loader calls so."""
    return next((entry for entry in entries if name and entry.name == name), None)


def check_entry(root: Root, entry: BootEntry, stock: BootEntry, plan: Plan) -> None:
    """Raises Refused where a tuned entry, read back, is not the stock one and the plan."""
    trial = entry_line.trial_words(root) if entry.trial else ()
    entry_line.check(entry.id, entry.words, stock.words, plan, trial)


def refuse_pending(loader: str, rows: Sequence[str]) -> None:
    """Raises Refused where these changes of others would show too."""
    marked = [row for row in rows if row[:1] in "+-" and row[:3] not in ("+++", "---")]
    changed = sorted(marked, key=lambda row: (row[0] != "+", not row[1:].strip()))
    if changed:
        raise Refused(
            f"{loader}: {len(changed)} lines would change that are not lowlat's, first "
            f"'{' '.join(changed[0].split())[:120]}'",
            hint="generate its configuration first, or give --accept-pending; --dry-run shows all",
        )


class Loader(Protocol):
    """One boot loader of one tree. Methods raise Refused where the loader, or the state it is in,
    does not allow it; nothing has changed then."""

    name: str

    def check(self) -> None:
        """Whether entries can be written at all: its folders are there, mounted and writable."""
        return

    def describe(self) -> BootMenu:
        """What it will do now."""

    def pending(self) -> Sequence[str]:
        """What somebody else changed that the loader does not show yet: lines of a diff."""
        return ()

    def write(self, change: Transaction, plans: Sequence[Plan], accept: bool) -> BootMenu:
        """Write the tuned entries of these plans and check them; the default stays. What is pending
        is refused, or taken along where that is accepted."""

    def check_one_shot(self) -> None:
        """Whether it boots an entry once, and surely not a second time."""

    def one_shot(self, entry: Optional[BootEntry]) -> None:
        """Boot this entry next, once; None takes that back."""

    def make_default(
        self, change: Transaction, entry: Optional[BootEntry], follow: bool
    ) -> BootMenu:
        """Boot this entry from now on, or with ``follow`` the newest kernel's tuned one; None
        puts the default back that was there before."""

    def refresh(self, plan_of: PlanOf, follow: bool) -> str:
        """Make the entries follow the kernels that came or went; with ``follow`` the newest tuned
        one is the default where an older one was. Returns what there is to say: a tuned default
        that is gone gives way to its kernel's stock entry."""
        return ""

    def remove(self) -> None:
        """Make our entries go, once their inputs have gone."""
        return
