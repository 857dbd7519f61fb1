# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel messages of this boot, and whether the start of the boot is still among them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Optional

from lowlat.base import process
from lowlat.base.errors import LowlatError
from lowlat.host.root import Root

DEVICE = "/dev/kmsg"

#: Where a captured machine keeps them, as dmesg or /dev/kmsg print them.
LOG = "/var/log/dmesg"

#: The first message of every kernel (init/main.c).
_FIRST = "Linux version"

_JOURNAL = ("journalctl", "--dmesg", "--boot", "--output=cat", "--no-pager")
_JOURNAL_S = 20.0

#: What every kernel says of parameters that nothing in it takes; it names them all in one line.
UNKNOWN_PARAMETERS = re.compile(r'Unknown kernel command line parameters "([^"]*)"')

#: What it says of one whose value cannot be read (init/main.c, do_early_param()).
MALFORMED_PARAMETER = re.compile(r"Malformed early option '([^']*)'")

#: kernel/sched/clock.c and kernel/time/clocksource.c: once the scheduler clock, stable before,
#: becomes unstable, no CPU stops its tick any more (TICK_DEP_BIT_CLOCK_UNSTABLE).
CLOCK_BECAME_UNSTABLE = (
    r"TSC found unstable|Marking clocksource 'tsc[^']*' as unstable|sched_clock: Marking unstable"
)

#: arch/x86/kernel/tsc.c: said also of a clock that never was stable, which keeps no tick.
UNSTABLE_CLOCK = rf"Marking TSC unstable|{CLOCK_BECAME_UNSTABLE}"

#: Messages that count whatever is planned.
ALWAYS = (_FIRST, UNKNOWN_PARAMETERS.pattern, MALFORMED_PARAMETER.pattern, UNSTABLE_CLOCK)

#: Level, time and caller, as dmesg and the console print them.
_PREFIX = re.compile(r"^(?:<\d+>)?\[ *\d+\.\d+\](?:\[ *[TC]\d+\])? ", re.MULTILINE)


@dataclass(frozen=True)
class Messages:
    """``complete`` is False where the first messages are gone, and what is not found in ``text``
    may still have been said."""

    text: str
    complete: bool


def read_messages(root: Root) -> Optional[Messages]:
    """The messages of the live kernel: its own (/dev/kmsg, Documentation/ABI/testing/dev-kmsg)
    where its buffer still holds all, else the journal's where that does; or those in LOG of a
    captured machine. None where none can be read."""
    if not root.live:
        text = root.read(LOG)
        return None if text is None else parse(text)
    own = _read_kernel()
    if own is not None and own.complete:
        return own
    kept = read_journal()
    return kept if kept is not None and kept.complete else own


def parse(text: str) -> Messages:
    """Messages as dmesg or journalctl print them."""
    return Messages(_unescape(_PREFIX.sub("", text)), _FIRST in text)


def _read_kernel() -> Optional[Messages]:
    try:
        fd = os.open(DEVICE, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        records = _read_records(fd)
    finally:
        os.close(fd)
    if not records:
        return None
    return Messages("\n".join(parse_record(r) for r in records), _sequence(records[0]) == 0)


def read_journal() -> Optional[Messages]:
    """This boot's messages as systemd kept them; None where it keeps none."""
    if process.find(_JOURNAL[0]) is None:
        return None
    try:
        ended = process.run(_JOURNAL, timeout=_JOURNAL_S)
    except LowlatError:
        return None
    return parse(ended.stdout) if ended.status == 0 else None


def _read_records(fd: int) -> list[str]:
    records: list[str] = []
    while True:
        try:
            record = os.read(fd, 8192)
        except BrokenPipeError:
            continue  # overwritten while reading: the next read goes on with the oldest left
        except OSError:
            return records  # EAGAIN: the end
        if not record:
            return records  # containers put /dev/null there
        records.append(record.decode("utf-8", "replace"))


def parse_record(record: str) -> str:
    """The text of one /dev/kmsg record; the kernel escapes tabs and the like as \\xNN there."""
    return _unescape(record.partition(";")[2].partition("\n")[0])


def _unescape(text: str) -> str:
    return re.sub(r"\\x([0-9a-f]{2})", lambda found: chr(int(found[1], 16)), text)


def _sequence(record: str) -> int:
    try:
        return int(record.split(",", 3)[1])
    except (IndexError, ValueError):
        return -1
