# SPDX-License-Identifier: GPL-2.0-or-later
"""The words of a boot line, split as the kernel splits them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Optional

from lowlat.base import bounds
from lowlat.base.errors import Refused
from lowlat.model import cmdline


class ReadBy(Enum):
    """Who reads a word: the kernel; init, because it stands behind "--"; or nobody, because it is
    beyond what the kernel reads."""

    KERNEL = "kernel"
    INIT = "init"
    NOBODY = "nobody"


@dataclass(frozen=True)
class Word:
    """``text`` is the word on the line, ``name`` its name with "_" for "-"; ``at`` is its index in
    the line."""

    at: int
    text: str
    name: str
    value: str
    reader: ReadBy

    @property
    def flag(self) -> bool:
        return "=" not in self.text

    @property
    def normal(self) -> str:
        return self.name if self.flag else f"{self.name}={self.value}"


def read_words(line: str, limit: Optional[int] = None) -> tuple[Word, ...]:
    """The words of a line (lib/cmdline.c, next_arg(); init/main.c) for a kernel that reads
    ``limit`` bytes, or all. Raises Refused if the line is longer than any boot loader passes on."""
    if len(line) > bounds.BOOT_LINE:
        raise Refused(f"the line has {len(line)} characters", hint="no kernel reads a longer one")
    words: list[Word] = []
    reader, end = ReadBy.KERNEL, _end(line, limit)
    for match in cmdline.WORD.finditer(line):
        text = match[0]
        if text == "--" and reader is ReadBy.KERNEL:
            reader = ReadBy.INIT
            continue
        value = text.partition("=")[2].strip('"')
        who = ReadBy.NOBODY if match.end() > end else reader
        words.append(Word(len(words), text, cmdline.name_of(text), value, who))
    return tuple(words)


def _end(line: str, limit: Optional[int]) -> int:
    """The number of characters of a line that a kernel reads."""
    known = line.encode("utf-8", "replace")
    return len(known[: None if limit is None else max(limit - 1, 0)].decode("utf-8", "ignore"))


def cut(line: str, limit: int) -> tuple[str, str]:
    """The words of a line that a kernel reads, which reads ``limit`` bytes, and the rest."""
    end = _end(line, limit)
    begins = (match.start() for match in cmdline.WORD.finditer(line) if match.end() > end)
    at = next(begins, len(line))
    return line[:at].rstrip(), line[at:].rstrip()


def names_of(line: Optional[str]) -> frozenset[str]:
    """The names of all words of a line."""
    return frozenset(word.name for word in read_words(line or ""))


def changed(line: str, words: Mapping[int, str]) -> str:
    """The line with other words at these indices, "" for none. "--" stays where it is."""
    texts = [(word, words.get(word.at, word.text)) for word in read_words(line)]
    ours = [text for word, text in texts if text and word.reader is not ReadBy.INIT]
    inits = [text for word, text in texts if text and word.reader is ReadBy.INIT]
    return " ".join([*ours, *(["--", *inits] if inits else [])])
