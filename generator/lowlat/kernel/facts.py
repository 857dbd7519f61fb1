# SPDX-License-Identifier: GPL-2.0-or-later
"""Facts about kernels that only the release tells. facts.ini has them, each with its source."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Optional

from lowlat.base import resources
from lowlat.kernel.release import Release


@dataclass(frozen=True)
class KernelFact:
    """``since`` are the first releases that have it, one for each line of kernels (none: the oldest
    do), ``until`` the first ones that lack it again. A fault also has ``what`` it does, the part of
    the kernel that it ``hits``, and the commit of its ``mend``."""

    since: tuple[str, ...]
    until: tuple[str, ...]
    what: str
    hits: str
    mend: str
    commit: str
    source: str
    checked: str

    @property
    def bound(self) -> str:
        """The mainline version that brought it, or else the one that ended it."""
        return (self.since or self.until)[0]


_TEXTS = ("what", "hits", "mend", "commit")


def _fact(keys: dict[str, str]) -> KernelFact:
    since, until = (tuple(keys.pop(key, "").split()) for key in ("since", "until"))
    return KernelFact(since, until, *(keys.pop(key, "") for key in _TEXTS), **keys)


FACTS = {
    name: _fact(resources.unfolded(section))
    for name, section in resources.texts("kernel/facts.ini").items()
    if name != "DEFAULT"
}


@cache
def has(name: str, release: Optional[str]) -> Optional[bool]:
    """Whether a kernel of this release has a fact; None if the release is not one of Linux's.
    Raises KeyError for a name that facts.ini lacks."""
    fact, read = FACTS[name], Release.parse(release)
    if read is None:
        return None
    return (not fact.since or _reached(fact.since, read)) and not _reached(fact.until, read)


def predates(option: str, release: Optional[str]) -> bool:
    """Whether a kernel is older than a build option, and has what the option later switched off."""
    name = f"CONFIG_{option}"
    return name in FACTS and has(name, release) is False


def bound(name: str) -> str:
    """The mainline version that brought a fact, or else the one that ended it, for texts."""
    return FACTS[name].bound


def told(fault: str, where: str) -> str:
    """What a fault does on ``where``, a kernel in words."""
    fact = FACTS[fault]
    return f"{fact.what} on {where} ({fact.hits}, fixed by {fact.mend[:12]})"


def _reached(firsts: Iterable[str], release: Release) -> bool:
    """By the first release of its own line of kernels: the vendor's builds of that version, else
    that stable branch, else mainline."""
    lines = [first for first in map(Release.parse, firsts) if first is not None]
    for first in lines:
        if first.family and (first.family, first.version) == (release.family, release.version):
            return release.build >= first.build
    for first in lines:
        if not first.family and first.version[2] and first.branch == release.branch:
            return release.reached(first)
    return any(release.reached(one) for one in lines if not (one.family or one.version[2]))
