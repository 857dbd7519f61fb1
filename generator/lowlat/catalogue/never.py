# SPDX-License-Identifier: GPL-2.0-or-later
"""What is no entry, though documents about low latency name it: NEVER, harmful, useless or unknown
to the kernel, with the reason; ELSEWHERE, useful but not lowlat's to set, with what to do instead;
and ALIASES, other names of entries. never.ini holds the texts."""

from __future__ import annotations

from lowlat.base import resources


def _table(section: str) -> dict[str, str]:
    found = {name: text.replace("\n", " ") for name, text in _TOLD[section].items()}
    # A text that is another name stands for what is said of that one.
    return {name: found.get(text, text) for name, text in found.items()}


_TOLD = resources.texts("catalogue/never.ini")

NEVER = _table("never")
ELSEWHERE = _table("elsewhere")
ALIASES = _table("aliases")
