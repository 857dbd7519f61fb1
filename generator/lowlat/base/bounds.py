# SPDX-License-Identifier: GPL-2.0-or-later
"""How much of what others wrote is read: bytes, lines, entries, depth. Its readers ask here.

No machine's own files come near these; what exceeds them is refused before it costs much.
"""

import json
import zlib
from typing import Any, Callable, Optional

_MIB = 1 << 20

#: A value that the kernel tells or takes: sysfs, sysctl, its command line.
HOST_VALUE = _MIB

#: Rows of /proc/interrupts.
INTERRUPTS = 1 << 16

#: Another file of the host that is read as text (/proc/interrupts of 4096 CPUs has 40 MB, and
#: /proc/kcore is not such a file), and the names in a folder.
HOST_FILE = 64 * _MIB
FOLDER = 100_000

#: A captured machine, unpacked: its bytes, its lines and names, and how long and deep a path is.
ARCHIVE = 64 * _MIB
ARCHIVE_ENTRIES = 500_000
PATH, PATH_DEPTH = 1024, 32

#: gzip makes the text of 4096 CPUs 48 times smaller, and zeros a thousand times.
_GZIP_RATIO, _GZIP_SMALL = 80, 4 * _MIB

#: A run with a full histogram for 4096 CPUs: its bytes, and the values in it.
DOCUMENT = 256 * _MIB
DOCUMENT_VALUES = 16_000_000

#: A list of CPUs: no kernel writes, and no person types, a longer one.
CPU_LIST = 64 << 10

#: A boot line, or the file that holds one: every kernel cuts it long before.
BOOT_LINE = 64 << 10

#: The most that a rehearsal's guest may leave in one file, and print on its console.
GUEST_FILE = 64 * _MIB
GUEST_LOG = 16 * _MIB


def read_json(data: bytes, constant: Optional[Callable[[str], Any]] = None) -> Any:
    """JSON of others. Raises ValueError where it is none, has too many values or is too deep."""
    if data.count(b",") + data.count(b"[") + data.count(b"{") > DOCUMENT_VALUES:
        raise ValueError("more values than any such file has")
    try:
        return json.loads(data, parse_constant=constant)
    except RecursionError as error:
        raise ValueError("lists in lists without end") from error


def unpack(data: bytes, limit: int) -> bytes:
    """The data as it is, or what gzip packed into it. Raises ValueError where that is damaged or
    larger than the limit, or than text of this size packed can be."""
    if not data.startswith(b"\x1f\x8b"):
        return data
    unpacker = zlib.decompressobj(wbits=31)
    try:
        most = min(limit, max(_GZIP_SMALL, _GZIP_RATIO * len(data)))
        unpacked = unpacker.decompress(data, most)
    except zlib.error as error:
        raise ValueError("the compressed data is damaged") from error
    if not unpacker.eof:
        raise ValueError("the compressed data is cut off or too large")
    return unpacked
