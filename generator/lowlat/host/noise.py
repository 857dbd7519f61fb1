# SPDX-License-Identifier: GPL-2.0-or-later
"""Known disturbers of isolated CPUs that no setting of lowlat governs: daemons, agents, firmware.
noise.ini has them, with how each is seen, what it does, and what to do about it."""

import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Optional

from lowlat.base import resources
from lowlat.host.daemons import running
from lowlat.host.root import Root, glob


@dataclass(frozen=True)
class NoiseSource:
    """One section of noise.ini."""

    name: str
    what: str
    mend: str
    source: str
    names: tuple[str, ...]
    programs: frozenset[str]
    files: tuple[str, ...]
    holds: str
    unless: tuple[str, ...]
    unless_holds: str

    @property
    def visible(self) -> bool:
        """Whether anything can show it."""
        return bool(self.programs or self.files)

    @property
    def told(self) -> str:
        return f"{self.name} {self.what}; {self.mend}"


def _source(name: str, keys: Mapping[str, str]) -> NoiseSource:
    def text(key: str) -> str:
        return keys.get(key, "").replace("\n", " ")

    def words(key: str) -> tuple[str, ...]:
        return tuple(text(key).split())

    return NoiseSource(
        name,
        text("what"),
        text("mend"),
        text("source"),
        words("names"),
        frozenset(words("program")),
        words("file"),
        text("holds"),
        words("unless"),
        text("unless_holds"),
    )


_TOLD = resources.texts("host/noise.ini")

#: Those with a text, by name.
SOURCES = {name: _source(name, _TOLD[name]) for name in _TOLD.sections() if "what" in _TOLD[name]}

#: Programs of which plan warns.
INTERFERING = tuple(name for name in _TOLD.sections() if "interferes" in _TOLD[name])

PROGRAMS = frozenset[str]().union(*(one.programs for one in SOURCES.values()))

#: The files that are read, as globs, with a pattern of the lines that count; and those that need
#: only be there.
READ = {
    file: pattern
    for one in SOURCES.values()
    for files, pattern in ((one.files, one.holds), (one.unless, one.unless_holds))
    for file in files
    if pattern
}
PRESENT = tuple(
    file for one in SOURCES.values() for file in (*one.files, *one.unless) if file not in READ
)


def find(asked: str) -> Optional[NoiseSource]:
    """The source with this name, or with this other name."""
    return next((one for one in SOURCES.values() if asked in (one.name, *one.names)), None)


def names() -> Iterator[str]:
    """All names that find() knows."""
    for one in SOURCES.values():
        yield from (one.name, *one.names)


def here(root: Root) -> dict[str, str]:
    """The sources of a host by name, each with the sign of it."""
    programs = running(root, "noise", PROGRAMS)
    signs = ((one, _sign(root, one, programs)) for one in SOURCES.values())
    return {one.name: sign for one, sign in signs if sign}


def _sign(root: Root, one: NoiseSource, programs: Container[str]) -> str:
    """What shows that a source is here; "" if it is not."""
    runs = [f"{name} runs" for name in sorted(one.programs) if name in programs]
    files = _there(root, one.files, one.holds)
    lacks = (one.programs and not runs) or (one.files and not files)
    if lacks or _there(root, one.unless, one.unless_holds):
        return ""
    return ", ".join([*runs, *files[:1]])


def _there(root: Root, patterns: tuple[str, ...], holds: str) -> list[str]:
    """Of these files those that are there, or that have such a line, with that line."""
    found = []
    for path in chain(*(glob(root, pattern) for pattern in patterns)):
        line = re.search(holds, root.read(path) or "", re.MULTILINE) if holds else None
        if line:
            found.append(f"{path} has {line[0].strip()}")
        elif not holds and root.exists(path):
            found.append(f"{path} is there")
    return found
