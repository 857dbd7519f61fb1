# SPDX-License-Identifier: GPL-2.0-or-later
"""Output for people: steps with their duration, a progress bar, colour if it is wanted."""

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

#: The ASCII characters that are not printable, without tabs and ends of lines.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def colour_wanted(stream: TextIO) -> bool:
    """NO_COLOR and FORCE_COLOR decide (no-color.org), else whether the terminal has colour."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or is_screen(stream)


def is_screen(stream: TextIO) -> bool:
    """Whether the stream is a terminal with colour and cursor movement."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def bold(text: str) -> str:
    return paint(text, "1") if colour_wanted(sys.stdout) else text


def section(title: str, lines: Iterable[str]) -> Iterator[str]:
    """A blank line, the title and the lines; nothing if there are no lines."""
    kept = tuple(lines)
    if kept:
        yield from ("", bold(title), *kept)


def paint(text: str, code: str) -> str:
    """One line of text in a terminal's colour or weight (``code``: ECMA-48, SGR)."""
    return Encoded(f"\033[{code}m{printable(text)}\033[0m")


def printable(text: str) -> str:
    """Text from a machine or file without control characters; each becomes "?"."""
    return text if text.isprintable() else "".join(c if is_shown(c) else "?" for c in text)


def plain(text: str) -> str:
    """printable() text on one line, so that input of others moves no cursor."""
    return printable(" ".join(text.split()))


def visible(text: str) -> str:
    """printable() for text of several lines, which may hold tabs."""
    if text.isascii() and not _CONTROL.search(text):
        return text  # such as the JSON of a large machine
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))


def is_shown(char: str) -> bool:
    """Whether a character is visible or a blank, and has no other effect."""
    return char.isprintable() or unicodedata.category(char) == "Zs"


class Encoded(str):
    """Text that is passed on unchanged: another program's, or in colour."""

    def __str__(self) -> str:
        return self


class Screen:
    """A stream for people: text that is not Encoded keeps only lines, tabs and visible
    characters."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(text if isinstance(text, Encoded) else visible(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def say(text: str = "") -> None:
    # One write: boots that run in parallel print at any time.
    line = f"{text}\n"
    print(Encoded(line) if isinstance(text, Encoded) else line, end="", flush=True)


def columns() -> int:
    """The width for text in columns: COLUMNS, else the terminal's, else 80; from 40 to 200."""
    return min(max(shutil.get_terminal_size((80, 24)).columns, 40), 200)


def filled(text: str, first: str = "", rest: Optional[str] = None) -> list[str]:
    """The text wrapped to the width; ``first`` begins the first line, ``rest`` all others."""
    return textwrap.wrap(
        plain(text),
        columns(),
        initial_indent=first,
        subsequent_indent=first if rest is None else rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def cut(text: str, width: int) -> str:
    """The text on one line: of a long one the middle is left out."""
    text = plain(text)
    if len(text) <= width:
        return text
    head = max(width // 3, 1)
    return f"{text[:head]}…{text[len(text) - (width - head - 1) :]}"


def item(label: str, text: str) -> list[str]:
    """A label and its text in two columns; a label that is too long gets lines of its own."""
    width = min(max(columns() * 3 // 10, 12), 34)
    head = f"  {plain(label).ljust(width)}  "
    if len(head) <= width + 4:
        return filled(text, head, " " * len(head)) or [head.rstrip()]
    indent = " " * (width + 4)
    return [*filled(label, "  "), *filled(text, indent)]


@contextmanager
def step(title: str) -> Iterator[None]:
    """Announce a step, and print its duration at its end."""
    say(f"• {title} …")
    begin = time.monotonic()
    yield
    say(f"  {title}: {time.monotonic() - begin:.1f} s")


def minutes_left(seconds: float, passed: float) -> str:
    """The time left of so many seconds, as ", 112 min left"; "" for less than two minutes."""
    minutes = int(max(seconds - passed, 0.0) // 60)
    return f", {minutes} min left" if minutes > 1 else ""


class Progress:
    """A bar that fills over a known number of seconds, with the minutes left if they are many;
    without a terminal, a line each quarter."""

    def __init__(self, title: str, seconds: float) -> None:
        self._title = title
        self._seconds = max(seconds, 0.001)
        self._begin = time.monotonic()
        self._shown = -1
        self._left = ""

    def tick(self) -> None:
        passed = time.monotonic() - self._begin
        share = min(passed / self._seconds, 1.0)
        shown, left = int(share * 20), minutes_left(self._seconds, passed)
        if (shown, left) == (self._shown, self._left):
            return
        if is_screen(sys.stderr):
            bar = "█" * shown + "░" * (20 - shown)
            sys.stderr.write(Encoded(f"\r  {printable(self._title)} {bar} {share:4.0%}{left} "))
        elif shown // 5 > max(self._shown, 0) // 5:
            sys.stderr.write(f"  {self._title} {share:4.0%}{left}\n")
        sys.stderr.flush()
        self._shown, self._left = shown, left

    def done(self) -> None:
        if is_screen(sys.stderr):
            sys.stderr.write(Encoded("\r\033[K"))
            sys.stderr.flush()
