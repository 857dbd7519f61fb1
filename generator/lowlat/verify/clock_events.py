# SPDX-License-Identifier: GPL-2.0-or-later
"""Clock event devices, which raise the tick, and their rows in /proc/interrupts."""

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from lowlat.base import resources

_ROWS = dict(resources.texts("verify/clock_events.ini")["rows"])

#: Each CPU's device in /proc/timer_list (kernel/time/timer_list.c, print_tickdevice()).
_DEVICES = re.compile(r"^Per CPU device: (\d+)\nClock Event Device: (.+)$", re.MULTILINE)

#: The lines that devices() needs.
LINES = r"^(?:Per CPU device|Clock Event Device): "


def devices(timers: str) -> dict[int, str]:
    """The clock event device of each CPU, from the text of /proc/timer_list, where it tells."""
    return {int(cpu): name.strip() for cpu, name in _DEVICES.findall(timers)}


def is_row(label: str) -> bool:
    """Whether a clock event device may use the row with this label ("LOC", "20:timer3")."""
    return _matches(label, _ROWS.values())


def rows_of(device: str, labels: Iterable[str]) -> list[str]:
    """The labels among these that count a device's interrupts."""
    patterns = [row for name, row in _ROWS.items() if fnmatchcase(device, name)]
    return [label for label in labels if _matches(label, patterns)]


def _matches(label: str, patterns: Iterable[str]) -> bool:
    name = label.rpartition(":")[2]
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def shown(rates: Mapping[str, float]) -> str:
    """The rates as a text."""
    return ", ".join(f"{label} {rate:.1f}" for label, rate in rates.items())
