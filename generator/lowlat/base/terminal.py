# SPDX-License-Identifier: GPL-2.0-or-later
"""Talking to a person: steps with their time, a progress bar, colour where it is wanted."""

import os
import re
import shutil
import sys
import textwrap
import time
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Optional, TextIO

_CONTROL = re.compile(r"[^\n\t -~]")


def colour_wanted(stream: TextIO) -> bool:
    """NO_COLOR and FORCE_COLOR decide (no-color.org), else whether a terminal that can is there."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or is_screen(stream)


def is_screen(stream: TextIO) -> bool:
    """Whether it is a terminal that knows colour and where its cursor is."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def bold(text: str) -> str:
    return paint(text, "1") if colour_wanted(sys.stdout) else text


def section(title: str, lines: Iterable[str]) -> Iterator[str]:
    """Lines below a title, with a blank line before; nothing where there are none."""
    kept = tuple(lines)
    if kept:
        yield from ("", bold(title), *kept)


def paint(text: str, code: str) -> str:
    """Text of one line in a colour or weight of the terminal's (ECMA-48, SGR)."""
    return Encoded(f"\033[{code}m{printable(text)}\033[0m")


def printable(text: str) -> str:
    """Text of a machine or a file for a terminal or a document: without control characters."""
    return text if text.isprintable() else "".join(c if is_shown(c) else "?" for c in text)


def plain(text: str) -> str:
    """The same on one line; what others wrote must not move a terminal's cursor."""
    return printable(" ".join(text.split()))


def visible(text: str) -> str:
    """The same of text of many lines, which may have tabs."""
    if text.isascii() and not _CONTROL.search(text):
        return text
    return "".join(c if c in "\n\t" else printable(c) for c in text)


def is_shown(char: str) -> bool:
    """Whether a character is seen, or is a blank, and does nothing else."""
    return char.isprintable() or unicodedata.category(char) == "Zs"


class Encoded(str):
    """Text that is as its reader shall get it: another program's, or in colour."""

    def __str__(self) -> str:
        return self


class Screen:
    """A stream for people: what is not Encoded loses all but lines, tabs and what can be seen."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(text if isinstance(text, Encoded) else visible(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def say(text: str = "") -> None:
    # In one piece: boots side by side tell of themselves at any time.
    line = f"{text}\n"
    print(Encoded(line) if isinstance(text, Encoded) else line, end="", flush=True)


def columns() -> int:
    """How many columns a text may take: those of COLUMNS or the terminal, else 80; 40 to 200."""
    return min(max(shutil.get_terminal_size((80, 24)).columns, 40), 200)


def filled(text: str, first: str = "", rest: Optional[str] = None) -> list[str]:
    """The text in lines that fit; the first begins with ``first``, all others with ``rest``."""
    return textwrap.wrap(
        plain(text),
        columns(),
        initial_indent=first,
        subsequent_indent=first if rest is None else rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def item(label: str, text: str) -> list[str]:
    """A label and its text in two columns; a label too long for its own has lines of its own."""
    width = min(max(columns() * 3 // 10, 12), 34)
    head = f"  {plain(label):{width}}  "
    if len(head) <= width + 4:
        return filled(text, head, " " * len(head)) or [head.rstrip()]
    indent = " " * (width + 4)
    return [*filled(label, "  "), *filled(text, indent)]


@contextmanager
def step(title: str) -> Iterator[None]:
    """Announce a piece of work, and its duration once it is done."""
    say(f"• {title} …")
    begin = time.monotonic()
    yield
    say(f"  {title}: {time.monotonic() - begin:.1f} s")


class Progress:
    """A bar that fills over a known number of seconds; now and then a line without a terminal."""

    def __init__(self, title: str, seconds: float) -> None:
        self._title = title
        self._seconds = max(seconds, 0.001)
        self._begin = time.monotonic()
        self._shown = -1

    def tick(self) -> None:
        share = min((time.monotonic() - self._begin) / self._seconds, 1.0)
        shown = int(share * 20)
        if shown == self._shown:
            return
        if is_screen(sys.stdout):
            bar = "█" * shown + "░" * (20 - shown)
            sys.stdout.write(Encoded(f"\r  {printable(self._title)} {bar} {share:4.0%}"))
        elif shown // 5 != self._shown // 5:
            sys.stdout.write(f"  {self._title} {share:4.0%}\n")
        sys.stdout.flush()
        self._shown = shown

    def done(self) -> None:
        if is_screen(sys.stdout):
            sys.stdout.write(Encoded("\r\033[K"))
            sys.stdout.flush()
