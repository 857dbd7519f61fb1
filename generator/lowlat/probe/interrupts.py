# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbered interrupts: /proc/interrupts and /proc/irq (Documentation/core-api/irq/irq-affinity)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Optional

from lowlat.host.root import Root
from lowlat.model.machine import Interrupt

#: A column of a CPU that never took the interrupt, as the kernel prints it (" %10u").
_NEVER = " " * 10 + "0"
_WIDTH = len(_NEVER)


@dataclass(frozen=True)
class Row:
    """A numbered row of /proc/interrupts; ``count`` is the sum over the CPUs."""

    number: int
    count: int
    chip: str
    actions: str


def read_interrupts(root: Root) -> tuple[Interrupt, ...]:
    """The numbered interrupts with their affinity; empty where /proc/interrupts is missing."""
    return tuple(
        _read_interrupt(root, row) for row in parse_interrupts(root.read("/proc/interrupts") or "")
    )


def _read_interrupt(root: Root, row: Row) -> Interrupt:
    folder = f"/proc/irq/{row.number}"
    mode = root.mode(f"{folder}/smp_affinity_list")
    if mode is None:
        mode = root.mode(f"{folder}/smp_affinity")
    settable = None if mode is None else bool(mode & 0o200)
    return Interrupt(
        number=row.number,
        chip=row.chip,
        actions=row.actions,
        affinity=root.read_cpus(f"{folder}/smp_affinity_list", f"{folder}/smp_affinity"),
        effective=root.read_cpus(
            f"{folder}/effective_affinity_list", f"{folder}/effective_affinity"
        ),
        settable=settable,
        managed=_managed(row.chip, settable),
        count=row.count,
    )


def _managed(chip: str, settable: Optional[bool]) -> Optional[bool]:
    # Only message-signalled interrupts are spread by the kernel (kernel/irq/affinity.c). A file
    # with write permission says nothing: before 6.12 managed interrupts have it too.
    return None if settable is not False else "MSI" in chip


def parse_interrupts(text: str) -> list[Row]:
    """The numbered rows; those of other kinds, and damaged ones, are left out."""
    lines = text.splitlines()
    columns = len(re.findall(r"CPU\d+", lines[0])) if lines else 0
    found = []
    for line in lines[1:]:
        label, _, rest = line.partition(":")
        label = label.strip()
        if not (label.isascii() and label.isdigit() and len(label) <= 9):
            continue
        counted = _count(rest, columns)
        if counted is not None:
            count, words = counted
            found.append(Row(int(label), count, *_split_description(words)))
    return found


def _count(rest: str, columns: int) -> Optional[tuple[int, list[str]]]:
    """The sum of the CPU columns and the words after them; None where columns are missing."""
    counts = rest[: columns * _WIDTH]
    # On thousands of CPUs nearly all columns are zero: without them there is little to split.
    numbers = counts.replace(_NEVER, "").split()
    if len(counts) < columns * _WIDTH or not _all_digits(numbers) or counts[-1:].isspace():
        words = rest.split()
        numbers, words = words[:columns], words[columns:]
        if len(numbers) < columns or not _all_digits(numbers):
            return None
        return sum(map(int, numbers)), words
    return sum(map(int, numbers)), rest[columns * _WIDTH :].split()


def _all_digits(words: list[str]) -> bool:
    joined = "".join(words)
    return not words or (joined.isascii() and joined.isdigit() and max(map(len, words)) <= 20)


def _split_description(words: list[str]) -> tuple[str, str]:
    # "PCI-MSIX-0000:00:02.0 1-edge virtio1-req.0": chip, line with its trigger, then the actions.
    for position, word in enumerate(words):
        if re.search(r"(edge|level|fasteoi)", word, re.IGNORECASE):
            return " ".join(words[: position + 1]), " ".join(words[position + 1 :])
    return " ".join(words[:2]), " ".join(words[2:])
