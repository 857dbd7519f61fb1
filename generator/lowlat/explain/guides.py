# SPDX-License-Identifier: GPL-2.0-or-later
"""The guides: one screen for each kind of work, found by the words that people use for it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Optional

from lowlat.base import resources


@dataclass(frozen=True)
class Guide:
    """``words`` are other names of the guide; ``text`` begins with "NAME: TITLE"."""

    name: str
    title: str
    words: tuple[str, ...]
    text: str


@cache
def guides() -> tuple[Guide, ...]:
    """Every guide in templates/guides, sorted by name."""
    return tuple(_read(name) for name in resources.template_names("guides"))


def _read(file: str) -> Guide:
    _, head, words, body = resources.template(f"guides/{file}").split("\n", 3)
    name, _, title = head.partition(": ")
    return Guide(name, title, tuple(words.split()[1:]), f"{head}\n{body.rstrip()}")


def find(asked: str) -> Optional[Guide]:
    """The guide of that name or word in any spelling: "C-States", "raspberry pi", "cgroups"."""
    for key in (_key(asked), _key(asked).removesuffix("s")):
        for one in guides():
            if key in map(_key, (one.name, *one.words)):
                return one
    return None


def names() -> Iterator[str]:
    """All names and words that find() knows."""
    for one in guides():
        yield from (one.name, *one.words)


def _key(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())
