# SPDX-License-Identifier: GPL-2.0-or-later
"""/proc/interrupts: a row for each interrupt, with a count for each online CPU
(proc_interrupts(5))."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Optional

from lowlat.base import bounds

#: The column of a CPU that never took the interrupt, as the kernel prints it (" %10u").
_NEVER = " " * 10 + "0"
_WIDTH = len(_NEVER)


@dataclass(frozen=True)
class InterruptRow:
    """``label`` is a number or a name, ``words`` describe the interrupt, ``total`` is the sum over
    the ``cpus``, which are those of the header row."""

    label: str
    total: int
    words: tuple[str, ...]
    columns: str
    cpus: tuple[int, ...]

    def counts(self) -> Iterator[tuple[int, int]]:
        """Each CPU with its count."""
        return zip(self.cpus, map(int, self.columns.split()))


def parse(text: str) -> Iterator[InterruptRow]:
    """The rows with a count for every CPU; other and damaged rows are left out. No rows at all if
    the text has more than any kernel prints."""
    if text.count("\n") > bounds.INTERRUPTS:
        return
    header, *lines = text.split("\n")
    cpus = tuple(map(int, re.findall(r"\bCPU([0-9]{1,5})\b", header)))
    for line in lines:
        label, colon, rest = line.partition(":")
        row = _split(rest, len(cpus)) if colon else None
        if row is not None:
            numbers, counts, words = row
            yield InterruptRow(label.strip(), sum(map(int, numbers)), tuple(words), counts, cpus)


def _split(rest: str, columns: int) -> Optional[tuple[list[str], str, list[str]]]:
    """The counts above zero, all counts, and the words after them; None if counts are missing."""
    width = columns * _WIDTH
    counts = rest[:width]
    # On thousands of CPUs nearly all columns are zero; removing them leaves little to split.
    numbers = counts.replace(_NEVER, "").split()
    aligned = (
        len(counts) == width and not counts[-1:].isspace() and rest[width : width + 1] in ("", " ")
    )
    if aligned and _all_digits(numbers):
        return numbers, counts, rest[width:].split()
    words = rest.split()
    numbers, words = words[:columns], words[columns:]
    if len(numbers) < columns or not _all_digits(numbers):
        return None
    return numbers, " ".join(numbers), words


def _all_digits(words: list[str]) -> bool:
    joined = "".join(words)
    return not words or (joined.isascii() and joined.isdigit() and max(map(len, words)) <= 20)
