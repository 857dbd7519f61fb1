# SPDX-License-Identifier: GPL-2.0-or-later
"""Times with their unit: "100ns", "10s", "5m"."""

import re
from typing import Optional

from lowlat.base.errors import Refused

#: The least and the most seconds, and both in words.
Span = tuple[float, float, str]

_TIME = re.compile(r"(\d{1,9})(ns|us|ms|s|m|h)", re.ASCII)
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(option: str, text: str, span: Optional[Span] = None) -> float:
    """A time with its unit ("100ns", "10s", "5m") in seconds; raises Refused on anything else, and
    outside of the span."""
    found = _TIME.fullmatch(text)
    if not found:
        raise Refused(f"{option} {text!r}: not a time with its unit", hint="such as 10s or 5m")
    result = int(found[1]) * _SECONDS[found[2]]
    if span and not span[0] <= result <= span[1]:
        raise Refused(f"{option} {text}: out of range", hint=f"from {span[2]}")
    return result
