# SPDX-License-Identifier: GPL-2.0-or-later
"""Names without an entry. All boot parameters that the kernel knows, extracted from its sources by
packaging/kernel-names, tell foreign parameters from misspelt ones. never.ini has the names in
documents on low latency: NEVER, harmful, useless or unknown to the kernel, with the reason;
ELSEWHERE, useful but not lowlat's to set, with what to do instead; and ALIASES, other names of
entries."""

import difflib
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Optional

from lowlat.base import resources
from lowlat.catalogue.entry import Tunable
from lowlat.kernel.release import Release
from lowlat.model.machine import X86

_TOLD = resources.texts("catalogue/never.ini")

NEVER = resources.unfolded(_TOLD["never"])
ELSEWHERE = resources.unfolded(_TOLD["elsewhere"])
ALIASES = resources.unfolded(_TOLD["aliases"])

#: By architecture, the kernel's folder for it; without s390, whose boot code compares names by
#: itself (arch/s390/boot/ipl_parm.c), which packaging/kernel-names does not see.
_FOLDERS = {
    **dict.fromkeys(X86, "x86"),
    **dict.fromkeys(("ppc64", "ppc64le"), "powerpc"),
    **dict.fromkeys(("armv6l", "armv7l", "armv8l"), "arm"),
    "aarch64": "arm64",
    "riscv64": "riscv",
}

#: From this similarity on, one of two names counts as a misspelling of the other.
_ALIKE = 0.84


@cache
def kernel_names() -> Mapping[str, frozenset[str]]:
    """The names, with "_" for "-", and the folders of the architectures that alone have them; none
    stands for all."""
    rows = (line.split() for line in _lines() if not line.startswith("#"))
    return {name: frozenset(folders) for name, *folders in rows}


def is_foreign(name: str, arch: Optional[str]) -> bool:
    """Whether only kernels of other architectures (uname -m) than this one have a name."""
    folders, own = kernel_names().get(name), _FOLDERS.get(arch or "")
    return bool(folders) and own is not None and own not in (folders or ())


def is_newer(release: Optional[str]) -> bool:
    """Whether a kernel is newer than those whose names are known."""
    read = Release.parse(release)
    return read is not None and read.branch > newest()


def is_older(release: Optional[str]) -> bool:
    """Whether a kernel is older than those whose names are known."""
    read = Release.parse(release)
    return read is not None and read.branch < oldest()


def oldest() -> tuple[int, int]:
    """The oldest kernel whose names are known, as (major, minor)."""
    return min(_listed())


def newest() -> tuple[int, int]:
    """The newest kernel whose names are known, as (major, minor)."""
    return max(_listed())


@cache
def _listed() -> tuple[tuple[int, int], ...]:
    versions = re.findall(r"(\d+)\.(\d+)", _lines()[0])
    return tuple((int(major), int(minor)) for major, minor in versions)


def _lines() -> list[str]:
    return resources.text("catalogue/parameters.txt").splitlines()


@lru_cache(maxsize=512)
def nearest(name: str, preferred: frozenset[str]) -> Optional[str]:
    """The known name that a misspelt one probably means; None if no name is similar. A dotted
    name is compared with dotted ones only, and must share one part with the result."""
    dotted = "." in name
    for names in (preferred, kernel_names().keys()):
        pool = [known for known in sorted(names) if ("." in known) == dotted]
        near = difflib.get_close_matches(name[:80], pool, n=1, cutoff=_ALIKE)
        if near and not _opposite(name, near[0]) and (not dotted or _half_alike(name, near[0])):
            return near[0]
    return None


def _opposite(name: str, known: str) -> bool:
    """Whether one of the two names says "no" to the other."""
    shorter, longer = sorted((name, known), key=len)
    return longer.startswith("no") and not shorter.startswith("no") and shorter[0] == longer[2]


def _half_alike(name: str, known: str) -> bool:
    (module, _, own), (other, _, theirs) = name.partition("."), known.partition(".")
    return module == other or own == theirs


def is_boot_parameter(entry: Tunable, name: str) -> bool:
    """Whether an entry's name may stand on the boot line. A run-time entry's may if its file is a
    module parameter, or the kernel also knows the name as a boot parameter."""
    return entry.at_boot or name.replace("-", "_") in kernel_names()
