# SPDX-License-Identifier: GPL-2.0-or-later
"""Which tunable of the catalogue removes a cause; the entries themselves say which they remove."""

from __future__ import annotations

import fnmatch
import functools
from typing import Optional

from lowlat.catalogue import CATALOGUE


@functools.lru_cache(maxsize=4096)
def remedy(kind: str, cause: str) -> Optional[str]:
    """The name of the tunable that removes a cause, by the most specific of the patterns that the
    catalogue's entries give; None where none does."""
    text = f"{kind}: {cause}"
    found = [
        (len(pattern), entry.name)
        for entry in CATALOGUE
        for pattern in entry.silences
        if fnmatch.fnmatchcase(text, pattern)
    ]
    # Of equal patterns, the entry that stands first: others are what may be had instead.
    return max(found, key=lambda one: one[0])[1] if found else None
