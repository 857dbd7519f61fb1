# SPDX-License-Identifier: GPL-2.0-or-later
"""The catalogue: every tunable, declared once. Plan, render, runtime, verify and explain read it.

The order matters in one way: an entry that asks whether another is enabled comes after it.
"""

from __future__ import annotations

import difflib
from typing import Optional

from lowlat.catalogue import hardware, isolation, kernelwork, scheduling
from lowlat.catalogue.entry import Tunable
from lowlat.catalogue.never import NEVER
from lowlat.errors import Refused

CATALOGUE: tuple[Tunable, ...] = (
    *isolation.ENTRIES,
    *scheduling.ENTRIES,
    *kernelwork.ENTRIES,
    *hardware.ENTRIES,
)

_BY_NAME = {entry.name: entry for entry in CATALOGUE}


def never(name: str) -> Optional[str]:
    """Why that name is never set, also given with its value; None where it is not among those."""
    return NEVER.get(name) or NEVER.get(name.partition("=")[0])


def lookup(name: str) -> Tunable:
    """The entry of that name, also given as it stands on a command line ("idle=poll").

    Raises Refused, naming the nearest known name, or why it is never set.
    """
    why = never(name)
    if why:
        raise Refused(f"'{name[:60]}' is never set: {why}")
    bare = name.partition("=")[0]
    if bare not in _BY_NAME:
        near = difflib.get_close_matches(bare, [*_BY_NAME, *NEVER], n=1)
        hint = f"did you mean {near[0]}?" if near else "'lowlat-gen explain' lists them"
        raise Refused(f"there is no tunable '{name[:60]}'", hint=hint)
    return _BY_NAME[bare]
