# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel messages of this boot, and whether they reach back to its first message."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Optional

from lowlat.base import process
from lowlat.base.errors import LowlatError
from lowlat.host.root import Root

#: The file of a captured machine's messages, in dmesg's format.
LOG = "/var/log/dmesg"

#: The first message of every kernel (init/main.c).
_FIRST = "Linux version"

#: Programs that print the live kernel's messages: its ring buffer, and systemd's journal.
_PRINTERS = (("dmesg",), ("journalctl", "--dmesg", "--boot", "--output=cat", "--no-pager"))
_PRINT_S = 20.0

#: The message that lists all parameters that the kernel does not know.
UNKNOWN_PARAMETERS = re.compile(r'Unknown kernel command line parameters "([^"]*)"')

#: The message for a value that cannot be parsed (init/main.c, do_early_param()).
MALFORMED_PARAMETER = re.compile(r"Malformed early option '([^']*)'")

#: kernel/sched/clock.c and kernel/time/clocksource.c: if a stable scheduler clock becomes unstable,
#: no CPU stops its tick any more (TICK_DEP_BIT_CLOCK_UNSTABLE).
CLOCK_BECAME_UNSTABLE = (
    r"TSC found unstable|Marking clocksource '?tsc[^' ]*'? (?:as )?unstable|"
    r"sched_clock: Marking unstable"
)

#: arch/x86/kernel/tsc.c: also printed for a clock that never was stable, which keeps no tick.
UNSTABLE_CLOCK = rf"Marking TSC unstable|{CLOCK_BECAME_UNSTABLE}"

#: Messages that matter to every plan.
ALWAYS = (_FIRST, UNKNOWN_PARAMETERS.pattern, MALFORMED_PARAMETER.pattern, UNSTABLE_CLOCK)

#: Level, time and caller, as dmesg and the console print them.
_PREFIX = re.compile(r"^(?:<\d+>)?\[ *(\d+\.\d+)\](?:\[ *[TC]\d+\])? ", re.MULTILINE)


class Said(NamedTuple):
    """A message, and when it came: "157.9 s" after the kernel's start, or "an unknown time"."""

    time: str
    line: str


@dataclass(frozen=True)
class Messages:
    """``complete`` is False if the first messages are gone; then a message that ``log`` lacks may
    still have been printed."""

    log: str
    complete: bool

    @cached_property
    def text(self) -> str:
        """The messages without their times."""
        return _PREFIX.sub("", self.log)

    def timed(self, pattern: str) -> list[Said]:
        """Each line that matches, with its time."""
        matches = re.finditer(f"^.*(?:{pattern}).*$", self.log, re.MULTILINE)
        return [_said(match[0].strip()) for match in matches]

    def said(self, pattern: Optional[str]) -> list[re.Match[str]]:
        """The lines that match, without repetitions."""
        matches = re.finditer(f"^.*(?:{pattern}).*$", self.text, re.MULTILINE) if pattern else ()
        return list({match[0].strip(): match for match in matches}.values())


#: The result if no messages can be read.
NO_MESSAGES = Messages("", complete=False)


def read_messages(root: Root) -> Messages:
    """The messages of the live kernel: from its ring buffer, or from the journal if only that is
    complete. For a captured machine, those in LOG."""
    if not root.live:
        text = root.read(LOG)
        return NO_MESSAGES if text is None else parse(text)
    own = _printed(_PRINTERS[0])
    kept = own if own.complete else _printed(_PRINTERS[1])
    return kept if kept.complete else own


def _said(line: str) -> Said:
    prefix = _PREFIX.match(line)
    time = f"{float(prefix[1]):.1f} s" if prefix else "an unknown time"
    return Said(time, line[prefix.end() :] if prefix else line)


def parse(text: str) -> Messages:
    """Parse the output of dmesg or journalctl, which escapes tabs and the like as \\xNN."""
    plain = re.sub(r"\\x([0-9a-f]{2})", lambda match: chr(int(match[1], 16)), text)
    return Messages(plain, _FIRST in text)


def _printed(argv: Sequence[str]) -> Messages:
    """The messages that a program prints; empty if it is missing, lacks permission, or prints none:
    containers have /dev/null in place of the kernel's buffer."""
    with suppress(LowlatError):
        if process.find(argv[0]) is not None:
            ended = process.run(argv, timeout=_PRINT_S)
            return parse(ended.stdout) if ended.status == 0 and ended.stdout else NO_MESSAGES
    return NO_MESSAGES
