# SPDX-License-Identifier: GPL-2.0-or-later
"""Names that are no entries. Every boot parameter that the kernel has a name for, by
packaging/kernel-names out of its sources, tells a foreign parameter from a misspelt one. Documents
about low latency name others: NEVER, harmful, useless or unknown to the kernel, with the reason;
ELSEWHERE, useful but not lowlat's to set, with what to do instead; and ALIASES, other names of
entries. never.ini holds the texts."""

import difflib
import re
from functools import cache
from typing import Optional

from lowlat.base import resources
from lowlat.catalogue.entry import Tunable


def _table(section: str) -> dict[str, str]:
    return {name: text.replace("\n", " ") for name, text in _TOLD[section].items()}


_TOLD = resources.texts("catalogue/never.ini")

NEVER = _table("never")
ELSEWHERE = _table("elsewhere")
ALIASES = _table("aliases")

#: Two names this alike are one of them misspelt.
_ALIKE = 0.84


@cache
def kernel_names() -> frozenset[str]:
    """The names, "-" being "_" in them."""
    return frozenset(line for line in _lines() if not line.startswith("#"))


@cache
def newest() -> tuple[int, int]:
    """The newest kernel whose names are known."""
    versions = re.findall(r"(\d+)\.(\d+)", _lines()[0])
    return max((int(major), int(minor)) for major, minor in versions)


def _lines() -> list[str]:
    return resources.parameters().read_text("utf-8").splitlines()


def nearest(name: str, preferred: frozenset[str]) -> Optional[str]:
    """The known name that this one is meant for; None where nothing is like it. A dotted name is
    held against dotted ones, whose parts are to be alike too."""
    dotted = "." in name
    for names in (preferred, kernel_names()):
        pool = [known for known in sorted(names) if ("." in known) == dotted]
        near = difflib.get_close_matches(name[:80], pool, n=1, cutoff=_ALIKE)
        if near and (not dotted or _half_alike(name, near[0])):
            return near[0]
    return None


def _half_alike(name: str, known: str) -> bool:
    (module, _, own), (other, _, theirs) = name.partition("."), known.partition(".")
    return module == other or own == theirs


def is_boot_parameter(entry: Tunable, name: str) -> bool:
    """Whether a name that is an entry's can stand on the boot line: a run-time entry's can where
    the file is a module parameter, or the kernel knows the name besides."""
    return entry.at_boot or name.replace("-", "_") in kernel_names()
