# SPDX-License-Identifier: GPL-2.0-or-later
"""The words of a plan that a person added to the files of a boot loader."""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Optional

from lowlat.boot import entry_line, extlinux
from lowlat.boot.line_file import LineFile
from lowlat.catalogue import CATALOGUE
from lowlat.host.root import Root
from lowlat.model import cmdline

_COMMENT = re.compile(r"(?m)^\s*[#;].*")

#: Between two words of a line, or of a list.
_BETWEEN = re.compile(r"[\s\"',]+")

#: Before and behind a word: a blank, a quote, or the end of a section of an image.
_EDGE = r"\s\"'\0"

#: Parts of a grub.cfg that are lowlat's own, TuneD's, and of other systems.
_OTHERS = re.compile(r"### BEGIN /etc/grub\.d/(99_lowlat|00_tuned|30_os-prober) ###(?s:.*?)### END")


@dataclass(frozen=True)
class AddedWords:
    """The file, and the words of a plan in it, the plan's marker last; none if no marker is there.
    ``made``: the file of the line has none, and this one was made of it."""

    path: str
    words: tuple[str, ...]
    made: bool = False

    @property
    def plan(self) -> Optional[str]:
        return cmdline.marker(" ".join(self.words))


def read(root: Root, file: LineFile) -> Optional[AddedWords]:
    """The words in the file of the line, else in the files made of it; None if no file could be
    read. The one reader for all that tell what a person did."""
    texts = list(_texts(root, file))
    own = any(not made for _, _, made in texts)
    found = [AddedWords(path, find(text), made and own) for path, text, made in texts]
    return next((each for each in found if each.words), next(iter(found), None))


def _texts(root: Root, file: LineFile) -> Iterator[tuple[str, str, bool]]:
    for place in filter(None, (file.path, *file.made)):
        names = [name for name in root.names(place) if name.endswith(".conf")]
        for path in [f"{place}/{name}" for name in names] or [place]:
            text = None if _is_own(path) else root.read(path)
            if text is not None:
                part = extlinux.of_label(text, file.facts.get("label", ""))
                yield path, part, place != file.path


def _is_own(path: str) -> bool:
    """Whether this is an entry of lowlat's."""
    name = path.rpartition("/")[2].rpartition(".")[0]
    return bool(entry_line.release_of(name)) or entry_line.is_trial(name)


def find(text: str) -> tuple[str, ...]:
    """The words of a plan in a text: those before its last marker, in the catalogue's order, in
    which lowlat prints them."""
    text = _COMMENT.sub("", _OTHERS.sub("", text))
    found = list(_parameter().finditer(text))
    last = next((at for at in reversed(range(len(found))) if found[at][1] == cmdline.MARKER), None)
    if last is None:
        return ()
    first, order = last, _order()
    while first and _follows(text, found[first - 1], found[first]):
        if order[found[first - 1][1]] >= order[found[first][1]]:
            break
        first -= 1
    return tuple(match[0] for match in found[first : last + 1])


def _follows(text: str, one: "re.Match[str]", other: "re.Match[str]") -> bool:
    return _BETWEEN.fullmatch(text, one.end(), other.start()) is not None


@functools.cache
def _order() -> dict[str, int]:
    names = (entry.name for entry in CATALOGUE if entry.value is not None)
    return {name: at for at, name in enumerate((*names, cmdline.MARKER))}


@functools.cache
def _parameter() -> "re.Pattern[str]":
    names = "|".join(map(re.escape, _order()))
    return re.compile(rf"(?<![^{_EDGE}=])({names})(?:=[^{_EDGE}]*)?(?![^{_EDGE}])")
