# SPDX-License-Identifier: GPL-2.0-or-later
"""The JSON that the programs of rt-tests share (src/lib/rt-utils.c: rt_write_json)."""

from __future__ import annotations

import json
from typing import Any


def load(text: str) -> dict[str, Any]:
    """The object that ``text`` begins with, stray colons cut off its keys; {} where it is none."""
    try:
        data, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return {}
    return {key.rstrip(":"): value for key, value in data.items()} if isinstance(data, dict) else {}
