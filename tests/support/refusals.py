# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables of what a program refuses: ``refusals.txt`` of a room. A line is

    COMMAND | FILE... | WORDS

The command runs in a folder with these files, and its one line has the words in this order; "…"
stands for what may be between them. ``NAME := FILE...`` names files that several lines have.

A file is ``path=text``, ``path->target``, ``path/`` for a folder, ``path|`` for a FIFO,
``machine(cpus=8,threads=2)`` for those of such a machine, or ``runs`` for before.json, after.json,
third.json and hostless.json. A shell would read command and files alike; "\\n" in either is the
end of a line.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.machines import machine, write_tree
from support.runs import document

_RUNS = {f"{name}.json": json.dumps(document(name, 4.0)) for name in ("before", "after", "third")}
_RUNS["hostless.json"] = json.dumps({**document("hostless", 4.0), "host": None})


@dataclass(frozen=True)
class Refusal:
    """One line of a table."""

    room: str
    command: str
    files: tuple[str, ...]
    words: str

    def __str__(self) -> str:
        return f"{self.room}: {self.command}"

    @property
    def argv(self) -> list[str]:
        return [word.replace("\\n", "\n") for word in shlex.split(self.command)]

    def make(self, folder: Path) -> None:
        for file in self.files:
            _make(folder, file)

    def is_said_in(self, line: str) -> bool:
        return re.search(".*".join(map(re.escape, self.words.split("…"))), line) is not None


def _make(folder: Path, file: str) -> None:
    path, _, text = file.partition("=")
    link, _, target = file.partition("->")
    made = re.fullmatch(r"machine(?:\((.*)\))?", file)
    if made:
        pairs = (word.split("=") for word in filter(None, (made[1] or "").split(",")))
        asked: dict[str, Any] = {name: int(n) if n.isdigit() else n for name, n in pairs}
        write_tree(folder, machine(**asked))
    elif file == "runs":
        write_tree(folder, _RUNS)
    elif file.endswith("/"):
        (folder / file).mkdir(parents=True)
    elif file.endswith("|"):
        os.mkfifo(folder / file[:-1])
    elif target and "=" not in link:
        (folder / link).parent.mkdir(parents=True, exist_ok=True)
        (folder / link).symlink_to(target)
    else:
        assert "=" in file, file
        write_tree(folder, {path: text.replace("\\n", "\n")})


def rows(table: Path) -> Iterator[Refusal]:
    """Raises ValueError for a line that is none."""
    named: dict[str, list[str]] = {}
    for line in table.read_text("utf-8").splitlines():
        name, defines, files = line.partition(" := ")
        if defines:
            named[name] = shlex.split(files)
        elif line and not line.startswith("#"):
            command, given, words = (part.strip() for part in line.split(" | "))
            every = (each for file in shlex.split(given) for each in named.get(file, [file]))
            yield Refusal(table.parent.name, command, tuple(every), words)


def contents(folder: Path) -> dict[str, object]:
    """All that is below a folder, by path: bytes, target of a link, or None."""

    def content(path: Path) -> object:
        if path.is_symlink():
            return str(path.readlink())
        return path.read_bytes() if path.is_file() else None

    return {str(path.relative_to(folder)): content(path) for path in sorted(folder.rglob("*"))}
