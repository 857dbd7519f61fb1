# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that a running program reads meanwhile."""

from __future__ import annotations

from pathlib import Path


def put(path: Path, text: str) -> None:
    """Replace the file at once: ``write_text`` empties it first, and a reader may see that."""
    beside = path.with_name(f".{path.name}.put")
    beside.write_text(text)
    beside.rename(path)
