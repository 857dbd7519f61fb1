# SPDX-License-Identifier: GPL-2.0-or-later
"""Limits on input that others wrote: bytes, lines, entries, depth.

No real machine's files come near these limits; larger input is refused before it costs much.
"""

import json
import zlib
from typing import Any, Callable, Optional

_MIB = 1 << 20

#: A value read from or written to the kernel: sysfs, sysctl, the command line.
HOST_VALUE = _MIB

#: Rows of /proc/interrupts.
INTERRUPTS = 1 << 16

#: Any other text file of the host, and the names in a folder. /proc/interrupts of 4096 CPUs has 40
#: MB; /proc/kcore must not fit.
HOST_FILE = 64 * _MIB
FOLDER = 100_000

#: A captured machine, unpacked: its bytes, its lines and names, a path's length and depth.
ARCHIVE = 64 * _MIB
ARCHIVE_ENTRIES = 500_000
PATH, PATH_DEPTH = 1024, 32

#: gzip shrinks the text of 4096 CPUs 48 times, but zeros a thousand times.
_GZIP_RATIO, _GZIP_SMALL = 80, 4 * _MIB

#: A line of a file that is read line by line, such as a kernel's trace.
LINE = _MIB

#: A run with full histograms of 4096 CPUs: its bytes and its values.
DOCUMENT = 256 * _MIB
DOCUMENT_VALUES = 16_000_000

#: A list of CPUs: the kernel writes none longer, nor does a person.
CPU_LIST = 64 << 10

#: An object of a Kubernetes cluster: its API server takes no larger request.
CLUSTER_OBJECT = 3 * _MIB

#: A boot line, or the file that holds one: every kernel truncates it earlier.
BOOT_LINE = 64 << 10

#: The words of a boot line, and those that lint reads until it has judged one.
BOOT_WORDS, LINT_WORDS = 256, 160_000

#: What is kept of the output of a program of the host; and of one whose last words matter only.
OUTPUT = 64 * _MIB
LAST_WORDS = 64 << 10

#: What perf may record of a program, and what it keeps of the stack at each event.
RECORDED = 512 * _MIB
STACK = 2048

#: The image of a kernel, which may hold an initramfs; or a program.
IMAGE = 256 * _MIB

#: The most that a rehearsal's guest may write to one file and to its console.
GUEST_FILE = 64 * _MIB
GUEST_LOG = 16 * _MIB


def check_path(path: str) -> None:
    """Raises ValueError for a path, or a link's target, that is longer or deeper than any
    machine's."""
    if len(path) > PATH or path.count("/") > PATH_DEPTH:
        raise ValueError("a path that is longer or deeper than any machine's")


def read_json(data: bytes, constant: Optional[Callable[[str], object]] = None) -> Any:
    """Parse JSON that others wrote. Raises ValueError if it is invalid, too large or too deep."""
    if data.count(b",") + data.count(b"[") + data.count(b"{") > DOCUMENT_VALUES:
        raise ValueError("more values than any such file has")
    try:
        return json.loads(data, parse_constant=constant)
    except RecursionError as error:
        raise ValueError("lists in lists without end") from error


def unpack(data: bytes, limit: int) -> bytes:
    """The data, unpacked if gzip packed it. Raises ValueError if it is damaged, or unpacks to more
    than the limit or than any text of this packed size."""
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
