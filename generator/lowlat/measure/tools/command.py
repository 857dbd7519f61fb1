# SPDX-License-Identifier: GPL-2.0-or-later
"""The command with which a program was started, where its output has it."""

import re
import shlex
from typing import Optional

#: How many seconds a suffix of rt-tests' durations makes (parse_time_string() of rt-tests).
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def value(command: str, letter: str, name: str) -> Optional[str]:
    """The value of an option in any form that getopt takes: "-i 200", "-mi200", "--interval=200";
    None if the command lacks it."""
    spaced = shlex.join(command.split())
    long = rf"--{name}(?:=| )"
    short = rf"-(?!-)[a-zA-Z]*?{letter} ?" if letter else long
    found = re.search(rf"(?:^| )(?:{long}|{short})([^ -][^ ]*)", spaced)
    return found[1].strip("'") if found else None


def seconds(command: str) -> float:
    """What --duration of rt-tests says ("2h"); 0.0 if the command lacks it."""
    found = re.fullmatch(r"(\d+)([smhd]?)", (value(command, "D", "duration") or "").lower())
    return float(found[1]) * _SECONDS[found[2]] if found else 0.0


def interval_us(command: str) -> float:
    """The base interval of cyclictest's wake-ups (by default 1,000 us)."""
    given = value(command, "i", "interval") or "1000"
    return float(given) if given.isdecimal() else 0.0
