# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel messages of this boot, and whether the start of the boot is still among them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Optional

from lowlat.root import Root

#: What every kernel says of parameters that nothing in it takes; it names them all in one line.
UNKNOWN_PARAMETERS = re.compile(r'Unknown kernel command line parameters "([^"]*)"')

#: What it says of one whose value cannot be read (init/main.c, do_early_param()).
MALFORMED_PARAMETER = re.compile(r"Malformed early option '([^']*)'")


@dataclass(frozen=True)
class Messages:
    """``complete`` is False where the ring buffer has overwritten the first messages, and what is
    not found in ``text`` may still have been said."""

    text: str
    complete: bool


def read_messages(root: Root) -> Optional[Messages]:
    """The messages of the live kernel (/dev/kmsg, Documentation/ABI/testing/dev-kmsg), or those in
    var/log/dmesg of a captured machine; None where they cannot be read."""
    if not root.live:
        text = root.read("/var/log/dmesg")
        return None if text is None else Messages(text, "Linux version" in text)
    try:
        fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        records = _read_records(fd)
    finally:
        os.close(fd)
    if not records:
        return None
    return Messages("\n".join(parse_record(r) for r in records), _sequence(records[0]) == 0)


def _read_records(fd: int) -> list[str]:
    records: list[str] = []
    while True:
        try:
            records.append(os.read(fd, 8192).decode("utf-8", "replace"))
        except BrokenPipeError:
            continue  # overwritten while reading: the next read goes on with the oldest left
        except OSError:
            return records  # EAGAIN: the end


def parse_record(record: str) -> str:
    """The text of one /dev/kmsg record; the kernel escapes tabs and the like as \\xNN there."""
    text = record.partition(";")[2].partition("\n")[0]
    return re.sub(r"\\x([0-9a-f]{2})", lambda found: chr(int(found[1], 16)), text)


def _sequence(record: str) -> int:
    try:
        return int(record.split(",", 3)[1])
    except (IndexError, ValueError):
        return -1
