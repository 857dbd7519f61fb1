# SPDX-License-Identifier: GPL-2.0-or-later
"""Names without an entry. All boot parameters that the kernel knows, extracted from its sources by
packaging/kernel-names, tell foreign parameters from misspelt ones. never.ini has the names in
documents on low latency: NEVER, harmful, useless or unknown to the kernel, with the reason;
ELSEWHERE, useful but not lowlat's to set, with what to do instead; and ALIASES, other names of
entries."""

import difflib
import re
from functools import cache
from typing import Optional

from lowlat.base import resources
from lowlat.catalogue.entry import Tunable
from lowlat.kernel.release import Release

_TOLD = resources.texts("catalogue/never.ini")

NEVER = resources.unfolded(_TOLD["never"])
ELSEWHERE = resources.unfolded(_TOLD["elsewhere"])
ALIASES = resources.unfolded(_TOLD["aliases"])

#: From this similarity on, one of two names counts as a misspelling of the other.
_ALIKE = 0.84


@cache
def kernel_names() -> frozenset[str]:
    """The names, with "_" for "-"."""
    return frozenset(line for line in _lines() if not line.startswith("#"))


def is_newer(release: Optional[str]) -> bool:
    """Whether a kernel is newer than those whose names are known."""
    read = Release.parse(release)
    return read is not None and read.branch > newest()


def is_older(release: Optional[str]) -> bool:
    """Whether a kernel is older than those whose names are known."""
    read = Release.parse(release)
    return read is not None and read.branch < min(_listed())


def newest() -> tuple[int, int]:
    """The newest kernel whose names are known, as (major, minor)."""
    return max(_listed())


@cache
def _listed() -> tuple[tuple[int, int], ...]:
    versions = re.findall(r"(\d+)\.(\d+)", _lines()[0])
    return tuple((int(major), int(minor)) for major, minor in versions)


def _lines() -> list[str]:
    return resources.parameters().read_text("utf-8").splitlines()


def nearest(name: str, preferred: frozenset[str]) -> Optional[str]:
    """The known name that a misspelt one probably means; None if no name is similar. A dotted
    name is compared with dotted ones only, and must share one part with the result."""
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
    """Whether an entry's name may stand on the boot line. A run-time entry's may if its file is a
    module parameter, or the kernel also knows the name as a boot parameter."""
    return entry.at_boot or name.replace("-", "_") in kernel_names()
