# SPDX-License-Identifier: GPL-2.0-or-later
"""The documents for users, and the console screens in them.

A screen is a command after ``$ `` and its output; a row that begins with ``# `` is a comment. ``…``
stands for any part of a row, and alone in a row for any rows. Empty rows do not count.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
DOCUMENTS = (README, *sorted((ROOT / "packaging/doc").glob("*.md")))


@dataclass(frozen=True)
class Screen:
    command: str
    printed: tuple[str, ...]

    @property
    def words(self) -> list[str]:
        """The command's words without sudo."""
        return [word for word in shlex.split(self.command) if word != "sudo"]

    def fits(self, text: str) -> bool:
        rows = "\n".join(filter(None, text.splitlines())) + "\n"
        return re.fullmatch("".join(map(self._row, self.printed)), rows) is not None

    @staticmethod
    def _row(row: str) -> str:
        if row == "…":
            return "(?:.*\n)*"
        return ".*".join(map(re.escape, row.split("…"))) + "\n"


def blocks(document: Path) -> Iterator[list[Screen]]:
    """The screens of each console block."""
    for text in re.findall(r"(?ms)^```console\n(.*?)^```$", document.read_text("utf-8")):
        screens: list[Screen] = []
        for row in text.splitlines():
            if row.startswith("$ "):
                screens.append(Screen(row[2:], ()))
            elif row and not row.startswith("# "):
                last = screens[-1]
                screens[-1] = Screen(last.command, (*last.printed, row))
        yield screens


def commands(document: Path) -> Iterator[list[str]]:
    """The words of every command line of lowlat-gen in a document."""
    text = document.read_text("utf-8").replace("\\\n", " ")
    rows = re.findall(r"(?m)^(?:    |\$ (?:sudo )?)(lowlat-gen .*)$", text)
    quoted = re.findall(r"`(lowlat-gen [^`]*)`", text)
    for line in (*rows, *quoted):
        yield shlex.split(line, comments=True)[1:]
