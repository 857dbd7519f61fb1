# SPDX-License-Identifier: GPL-2.0-or-later
"""A digest in an entry's text, by which a later look tells whether somebody changed any of it."""

import hashlib
import re

_ROW = re.compile(r"^# lowlat: ([0-9a-f]{16})\n", re.MULTILINE)


def sealed(text: str) -> str:
    """The text with a comment behind its first row that holds its digest."""
    first, _, rest = text.partition("\n")
    return f"{first}\n# lowlat: {_digest(text)}\n{rest}"


def is_broken(text: str) -> bool:
    """Whether a text is not the one that was sealed; what never was may be any."""
    found = _ROW.search(text)
    return found is not None and found[1] != _digest(_ROW.sub("", text, count=1))


def _digest(text: str) -> str:
    return hashlib.sha256(text.strip().encode("utf-8", "replace")).hexdigest()[:16]
