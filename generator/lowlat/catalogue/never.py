# SPDX-License-Identifier: GPL-2.0-or-later
"""What is no entry, though documents about low latency name it: NEVER, harmful, useless or unknown
to the kernel, with the reason; ELSEWHERE, useful but not lowlat's to set, with what to do instead;
and ALIASES, other names of entries. never.ini holds the texts."""

from __future__ import annotations

from lowlat.base import resources


def _table(section: str) -> dict[str, str]:
    return {name: text.replace("\n", " ") for name, text in _TOLD[section].items()}


_TOLD = resources.texts("catalogue/never.ini")

NEVER = _table("never")
ELSEWHERE = _table("elsewhere")
ALIASES = _table("aliases")
