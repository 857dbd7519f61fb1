# SPDX-License-Identifier: GPL-2.0-or-later
"""What one tunable does, costs and needs: the catalogue, in words."""

from __future__ import annotations

import textwrap

from lowlat.catalogue import CATALOGUE
from lowlat.catalogue.entry import Stage, Tunable
from lowlat.catalogue.never import NEVER

_WIDTH = 88


def explain(entry: Tunable) -> str:
    """One entry, at most a screen."""
    place = "kernel command line" if entry.stage is Stage.BOOT else "run time"
    parts = [
        ("What", _sentence(entry.why)),
        ("Where", place),
        ("Cost", f"{entry.cost} (class: {entry.risk.value})"),
        (
            "Refused",
            "; ".join(need.missing for need in entry.needs) or "nowhere: all kernels have it",
        ),
        ("Seen", entry.evidence),
        ("Source", entry.source),
        ("Enable", f"lowlat-gen plan --enable {entry.name}"),
    ]
    return "\n".join([entry.name, *(_paragraph(label, text) for label, text in parts)])


def overview() -> str:
    """Every name with the first words of what it does, and what is never set."""
    width = max(len(entry.name) for entry in CATALOGUE)
    lines = ["Set or offered:"]
    for entry in CATALOGUE:
        lines.append(f"  {entry.name:{width}}  {textwrap.shorten(entry.why, 70, placeholder=' …')}")
    lines += ["", "Never set:"]
    width = max(len(name) for name in NEVER)
    lines += [
        f"  {name:{width}}  {textwrap.shorten(why, 70, placeholder=' …')}"
        for name, why in NEVER.items()
    ]
    return "\n".join(lines)


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."


def _paragraph(label: str, text: str) -> str:
    return textwrap.fill(text, _WIDTH, initial_indent=f"  {label:8}", subsequent_indent=" " * 10)
