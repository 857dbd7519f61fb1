# SPDX-License-Identifier: GPL-2.0-or-later
"""The catalogue: every tunable, declared once. Plan, render, runtime, verify and explain read it.

Entries are in order of decision: an entry whose needs ask for another one comes after it.
"""

import difflib
import fnmatch
import functools
import re
from collections.abc import Iterable
from typing import Optional

from lowlat.base.errors import Refused
from lowlat.catalogue import (
    clocks,
    cpusets,
    devices,
    frequency,
    idle,
    interrupts,
    isolation,
    kthreads,
    memory,
    rcu,
    scheduling,
    virtual,
    watchdogs,
    workqueues,
)
from lowlat.catalogue.entry import Tunable
from lowlat.catalogue.names import ALIASES, ELSEWHERE, NEVER

#: From this similarity on, a name is guessed; a short one has too many that are as similar.
_ALIKE = 0.84
_SHORT = 4

#: What stands between the parts of a name. One with blanks, a fact's, has none.
_PARTS = re.compile(r"[._/-]")

#: The areas with their entries, in the order of the catalogue.
AREAS: tuple[tuple[str, tuple[Tunable, ...]], ...] = (
    ("Partitions", cpusets.ENTRIES),
    ("Isolation", isolation.ENTRIES),
    ("RCU", rcu.ENTRIES),
    ("Clocks and timers", clocks.ENTRIES),
    ("Scheduling", scheduling.ENTRIES),
    ("Kernel threads", kthreads.ENTRIES),
    ("Interrupts", interrupts.ENTRIES),
    ("Workqueues", workqueues.ENTRIES),
    ("Fault detection", watchdogs.ENTRIES),
    ("Memory", memory.ENTRIES),
    ("Idle states", idle.ENTRIES),
    ("Frequency", frequency.ENTRIES),
    ("Devices", devices.ENTRIES),
    ("Virtual machines", virtual.ENTRIES),
)

CATALOGUE: tuple[Tunable, ...] = tuple(entry for _, entries in AREAS for entry in entries)

#: The files whose existence on the running kernel decides about an entry.
FEATURES = frozenset(path for entry in CATALOGUE for need in entry.needs for path in need.features)

#: No name has a hyphen, so a name is also the kernel's form of a parameter.
BY_NAME = {entry.name: entry for entry in CATALOGUE}


def unset(name: str) -> Optional[str]:
    """Why a name without an entry is not set, as "is never set: WHY"; the name may carry its value.
    None if no reason is stated."""
    for said, table in (("is never set", NEVER), ("is not set by lowlat", ELSEWHERE)):
        why = _stated(table, name)
        if why:
            return f"{said}: {why}"
    return None


def alias(name: str) -> Optional[str]:
    """The catalogue's name of an entry that has this other name; None for any other name."""
    return _stated(ALIASES, name)


def _stated(table: dict[str, str], name: str) -> Optional[str]:
    if name in BY_NAME:
        return None
    return table.get(name) or table.get(name.partition("=")[0])


def lookup(name: str, others: Iterable[str] = ()) -> Tunable:
    """The entry of that name; the name may carry its value ("idle=poll"). Raises Refused, with the
    nearest known name or one of ``others``, or with the reason why it is never set."""
    why = unset(name)
    if why:
        raise Refused(f"'{name[:60]}' {why}")
    bare = name.partition("=")[0]
    if bare not in BY_NAME:
        known = alias(name)
        hint = f"here it is {known}" if known else _nearest(bare, others)
        raise Refused(f"there is no {'page' if others else 'tunable'} '{name[:60]}'", hint=hint)
    return BY_NAME[bare]


def area(word: str) -> Optional[tuple[str, tuple[Tunable, ...]]]:
    """The area with that word in its title, whatever its ending ("clock", "scheduler"), and its
    entries."""
    for title, entries in AREAS:
        if _stem(word) in {_stem(each) for each in title.split() if each != "and"}:
            return title, entries
    return None


def _stem(word: str) -> str:
    return re.sub("(er|ing|s)$", "", word.lower())


def _nearest(name: str, others: Iterable[str]) -> str:
    """A name with the same letters, or that is spelt nearly alike from its beginning; else up to
    three names of which the word is a part."""
    names = [*BY_NAME, *others, *ALIASES, *NEVER, *ELSEWHERE]
    alike = [known for known in names if known[:1] == name[:1].lower()]
    near = [known for known in alike if sorted(known) == sorted(name.lower())][:1]
    if not near and len(name) > _SHORT:
        near = difflib.get_close_matches(name[:80], alike, n=1, cutoff=_ALIKE)
    if not near and len(name) > 2:
        near = [known for known in names if name.lower() in _PARTS.split(known.lower())][:3]
    return f"did you mean {' or '.join(near)}?" if near else "'lowlat-gen explain' lists them"


@functools.lru_cache(maxsize=4096)
def remedy(cause: str) -> Optional[str]:
    """The name of the tunable that removes a cause ("class: cause"), by the most specific of the
    entries' patterns; None if none matches. remedies.py asks the machine besides."""
    ranked = [
        (len(pattern), entry.name)
        for entry in CATALOGUE
        for pattern in entry.silences
        if fnmatch.fnmatchcase(cause, pattern)
    ]
    # Among equal patterns the first entry wins: later ones are alternatives to it.
    return max(ranked, key=lambda one: one[0])[1] if ranked else None
