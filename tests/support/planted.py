# SPDX-License-Identifier: GPL-2.0-or-later
"""A program that has the kernel do known things at known lines, and what of it an audit found."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).with_name("planted.c")

#: By kind and comment in planted.c: how often, and as what. AMD's INVLPGB flushes without
#: interrupts, and arm64 does so always.
FLUSHES = {("ipis", "flush"): (16, "madvise")}
PLANTED = {
    ("minor-faults", "fault"): (37, ""),
    ("major-faults", "read from the disk"): (2, ""),
    ("calls", "call"): (3, "getppid"),
    ("calls", "wait"): (5, "futex"),
    ("futex-waits", "wait"): (5, "futex"),
    ("switches", "wait"): (5, "syscall"),
    ("signals", "signal"): (4, "SIGUSR1"),
    ("calls", "migrate"): (6, "sched_setaffinity"),
    ("migrations", "migrate"): (6, "pthread_setaffinity_np"),
    ("calls", "flush"): (16, "madvise"),
    ("calls", "barrier"): (8, "membarrier"),
}

#: Behind a statement.
_COMMENT = re.compile(r"[;)] /\* (.*) \*/$")


@dataclass(frozen=True)
class Planted:
    """The compiled program, the lines of its comments, and a folder that everybody can write."""

    program: Path
    lines: dict[int, str]

    @property
    def words(self) -> tuple[str, str]:
        return str(self.program), str(self.program.parent / "file")


def build(folder: Path) -> Planted:
    """Compile it there, beside a copy of its source."""
    program = folder / "planted"
    shutil.copy(SOURCE, folder)
    argv = ["cc", "-g", "-O1", "-pthread", "-o", str(program), f"{folder}/planted.c"]
    subprocess.run(argv, check=True)
    lines = enumerate(SOURCE.read_text().splitlines(), 1)
    comments = {n: found[1] for n, line in lines if (found := _COMMENT.search(line))}
    return Planted(program, comments)


def by_comment(document: dict[str, Any], planted: Planted) -> dict[tuple[str, str], Any]:
    """The rows at lines with a comment: their count, and as what."""
    found: dict[tuple[str, str], Any] = {}
    for row in document["rows"]:
        place = row["place"]
        comment = planted.lines.get(place["line"])
        if comment and place["file"].endswith("/planted.c"):
            assert place["object"] == str(planted.program)
            found.setdefault((row["kind"], comment), []).append((row["count"], row["what"]))
    return found
