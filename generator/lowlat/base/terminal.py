# SPDX-License-Identifier: GPL-2.0-or-later
"""Talking to a person: steps with their time, a progress bar, colour where it is wanted."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO


def colour_wanted(stream: TextIO) -> bool:
    """NO_COLOR and FORCE_COLOR decide, else whether a person is reading (no-color.org)."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


def bold(text: str) -> str:
    return f"\033[1m{text}\033[0m" if colour_wanted(sys.stdout) else text


def printable(text: str) -> str:
    """Text of a machine or a file for a terminal or a document: without control characters."""
    return "".join(char if char.isprintable() else "?" for char in text)


def say(text: str = "") -> None:
    # In one piece: boots side by side tell of themselves at any time.
    print(f"{text}\n", end="", flush=True)


@contextmanager
def step(title: str) -> Iterator[None]:
    """Announce a piece of work, and its duration once it is done."""
    say(f"• {title} …")
    begin = time.monotonic()
    yield
    say(f"  {title}: {time.monotonic() - begin:.1f} s")


class Progress:
    """A bar that fills over a known number of seconds; a line now and then where nobody watches."""

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
        if sys.stdout.isatty():
            bar = "█" * shown + "░" * (20 - shown)
            sys.stdout.write(f"\r  {self._title} {bar} {share:4.0%}")
        elif shown // 5 != self._shown // 5:
            sys.stdout.write(f"  {self._title} {share:4.0%}\n")
        sys.stdout.flush()
        self._shown = shown

    def done(self) -> None:
        if sys.stdout.isatty():
            sys.stdout.write("\r\033[K")
            sys.stdout.flush()
