# SPDX-License-Identifier: GPL-2.0-or-later
"""What OpenShift's Node Tuning Operator sets for a PerformanceProfile, by release. operator.ini has
it."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from lowlat.base import resources
from lowlat.base.errors import Refused

#: (4, 18) of "4.18.3".
Version = tuple[int, int]


@dataclass(frozen=True)
class _Row:
    words: tuple[str, ...]
    settings: tuple[str, ...]
    conditions: tuple[str, ...]
    since: Version
    until: Version

    def holds(self, version: Version, given: Collection[str]) -> bool:
        wanted = all((name.lstrip("!") in given) is (name[0] != "!") for name in self.conditions)
        return wanted and self.since <= version < self.until


_OLDEST, _END = (4, 11), (1000, 0)


def read_version(text: str) -> Version:
    """The release of a version such as "4.18" or "4.18.3". Raises Refused if it is none, or older
    than the operator's words are known."""
    found = re.fullmatch(r"v?(\d{1,3})\.(\d{1,3})(?:[.-].*)?", text, re.DOTALL)
    if not found:
        raise Refused(f"'{text[:40]}' is no version of OpenShift", hint="such as 4.18")
    version = (int(found[1]), int(found[2]))
    if version < _OLDEST:
        hint = "give a later one, or lint the node's own line, /proc/cmdline"
        raise Refused(f"OpenShift {text[:40]}: lowlat knows the words from 4.11 on", hint=hint)
    return version


def text(version: Version) -> str:
    return ".".join(map(str, version))


def _row(keys: dict[str, str]) -> _Row:
    since, until = (read_version(keys[key]) if key in keys else None for key in ("since", "until"))
    words, settings, given = (tuple(keys.get(k, "").split()) for k in ("words", "settings", "if"))
    return _Row(words, settings, given, since or _OLDEST, until or _END)


_ROWS = tuple(
    _row(resources.unfolded(section))
    for name, section in resources.texts("catalogue/operator.ini").items()
    if name != "DEFAULT"
)

#: The releases that differ from the release before.
TURNS = sorted({row.since for row in _ROWS} | {row.until for row in _ROWS} - {_END})

#: The newest release that was read.
NEWEST = TURNS[-1]


def words(version: Version, given: Collection[str]) -> Iterator[str]:
    """The words of a release where the conditions ``given`` hold, each once, with {isolated} and
    other places for CPUs."""
    found = (word for row in _ROWS if row.holds(version, given) for word in row.words)
    yield from dict.fromkeys(found)


def conditions(version: Version, given: Collection[str]) -> dict[str, tuple[str, ...]]:
    """By word of a release where these conditions hold, those on which the word depends."""
    return {
        word: row.conditions for row in _ROWS if row.holds(version, given) for word in row.words
    }


def settings(version: Version, given: Collection[str]) -> frozenset[str]:
    """The names of the run-time settings of a release where these conditions hold."""
    return frozenset(name for row in _ROWS if row.holds(version, given) for name in row.settings)
