# SPDX-License-Identifier: GPL-2.0-or-later
"""Unified kernel images, reduced to what their readers look at: PE headers and sections of text.
(PYTEST_DONT_REWRITE)"""

from __future__ import annotations

import struct
from collections.abc import Iterable

_OS = 'NAME="Debian GNU/Linux"\nPRETTY_NAME="Debian GNU/Linux 13 (trixie)"\n'

#: As linkers write it: every section begins at a multiple of this in the file.
_ALIGNED = 0x200


def image(release: str, line: str = "root=UUID=1 ro", *more: tuple[str, bytes]) -> bytes:
    """An image with these texts, and with ``more`` sections behind them."""
    own = ((".osrel", _OS), (".cmdline", line), (".uname", release))
    return pe(((".linux", b"MZ"), *((name, text.encode()) for name, text in own), *more))


def pe(sections: Iterable[tuple[str, bytes]]) -> bytes:
    """A PE file with these sections (Microsoft's "PE Format")."""
    named = list(sections)
    start, optional = 0x80, 240
    head = b"MZ".ljust(0x3C, b"\0") + struct.pack("<I", start)
    head = head.ljust(start, b"\0") + b"PE\0\0"
    head += struct.pack("<HHIIIHH", 0x8664, len(named), 0, 0, 0, optional, 0x22E)
    head += b"\x0b\x02".ljust(optional, b"\0")
    at = _padded(len(head) + 40 * len(named))
    table, bodies = b"", b""
    for name, body in named:
        size = _padded(len(body))
        table += struct.pack("<8sIIIIIIHHI", name.encode(), len(body), 0, size, at, 0, 0, 0, 0, 0)
        bodies += body.ljust(size, b"\0")
        at += size
    return (head + table).ljust(at - len(bodies), b"\0") + bodies


def _padded(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED
