# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbered interrupts: /proc/interrupts and /proc/irq (Documentation/core-api/irq/irq-affinity)."""

import re
from collections.abc import Sequence
from dataclasses import replace

from lowlat.host import interrupts
from lowlat.host.root import Root
from lowlat.model.machine import Interrupt


def read_interrupts(root: Root) -> tuple[Interrupt, ...]:
    """The numbered interrupts with their affinity; empty where /proc/interrupts is missing."""
    found = parse_interrupts(root.read("/proc/interrupts") or "")
    return tuple(_with_affinity(root, interrupt) for interrupt in found)


def _with_affinity(root: Root, interrupt: Interrupt) -> Interrupt:
    folder = f"/proc/irq/{interrupt.number}"
    mode = root.mode(f"{folder}/smp_affinity_list")
    if mode is None:
        mode = root.mode(f"{folder}/smp_affinity")
    settable = None if mode is None else bool(mode & 0o200)
    # Only message-signalled interrupts are spread by the kernel (kernel/irq/affinity.c). A file
    # with write permission says nothing: before 6.12 managed interrupts have it too.
    managed = "MSI" in interrupt.chip if settable is False else None
    return replace(
        interrupt,
        affinity=root.read_cpus(f"{folder}/smp_affinity_list", f"{folder}/smp_affinity"),
        effective=root.read_cpus(
            f"{folder}/effective_affinity_list", f"{folder}/effective_affinity"
        ),
        settable=settable,
        managed=managed,
    )


def parse_interrupts(text: str) -> list[Interrupt]:
    """The numbered rows."""
    return [
        Interrupt(int(row.label), *_split_description(row.words), count=row.total)
        for row in interrupts.parse(text)
        if row.label.isascii() and row.label.isdigit() and len(row.label) <= 9
    ]


def _split_description(words: Sequence[str]) -> tuple[str, str]:
    # "PCI-MSIX-0000:00:02.0 1-edge virtio1-req.0": chip, line with its trigger, then the actions.
    for position, word in enumerate(words):
        if re.search(r"(edge|level|fasteoi)", word, re.IGNORECASE):
            return " ".join(words[: position + 1]), " ".join(words[position + 1 :])
    return " ".join(words[:2]), " ".join(words[2:])
