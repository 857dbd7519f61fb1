# SPDX-License-Identifier: GPL-2.0-or-later
"""What may lie where a file is expected."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

#: Larger than every limit; it takes no room.
_HUGE = 1 << 34


def _linked(path: Path) -> None:
    os.mkfifo(f"{path}~")
    path.symlink_to(f"{path}~")


def _huge(path: Path) -> None:
    path.touch()
    os.truncate(path, _HUGE)


#: By name: makes it at a path. Each is refused wherever a file is named.
ODD: Mapping[str, Callable[[Path], None]] = {
    "a FIFO": os.mkfifo,
    "a link to a FIFO": _linked,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a folder": Path.mkdir,
    "a link to itself": lambda path: path.symlink_to(path),
    "a huge file": _huge,
    "nothing": lambda path: None,
}
