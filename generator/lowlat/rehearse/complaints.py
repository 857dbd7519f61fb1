# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel says against its command line in its messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lowlat.catalogue import lookup
from lowlat.host.kmsg import MALFORMED_PARAMETER, UNKNOWN_PARAMETERS
from lowlat.model.cmdline import without_virtme


def of(messages: str, parameters: Iterable[str]) -> Iterator[str]:
    """Each line that tells of a parameter the kernel did not take as it was given.

    ``parameters`` are the catalogue's names of those that were planned: only what contradicts one
    of them counts. An emulated clock may be called unstable in any boot.
    """
    signs = [lookup(name).sign.contradiction for name in parameters]
    against = [MALFORMED_PARAMETER, *(re.compile(sign) for sign in signs if sign)]
    for line in messages.splitlines():
        unknown = UNKNOWN_PARAMETERS.search(line)
        if unknown:
            words = without_virtme(unknown[1])
            if words:
                yield f"unknown to the kernel: {words}"
        elif any(sign.search(line) for sign in against):
            yield line
