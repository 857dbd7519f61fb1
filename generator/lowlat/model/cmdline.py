# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel command line: split as the kernel does, checked against a narrow grammar."""

import re
from collections.abc import Iterable
from itertools import takewhile
from typing import Optional

from lowlat.base.errors import Refused

#: The parameter that names the plan of a tuned boot.
MARKER = "lowlat.plan"

#: The characters allowed in a planned parameter: no shell, GRUB or kernel interprets them.
_SAFE = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.=,:/+@-]*")

#: A parameter: double quotes keep blanks (lib/cmdline.c, next_arg).
WORD = re.compile(r'(?:[^\s"]|"[^"]*"?)+')

#: The parameters of a trial beside the planned ones. The kernel and initramfs-tools reboot 30 s
#: after a panic; dracut reboots instead of opening a shell; systemd reboots if it crashes
#: (kernel-command-line(7)); the unit that records the trial reboots if the boot does not come up.
TRIAL = (
    "panic=30",
    "rd.shell=0",
    "rd.emergency=reboot",
    "systemd.crash_reboot=1",
    "systemd.wants=lowlat-trial.service",
)

#: systemd arms and feeds the watchdog as soon as udev has loaded its driver. The same limit holds
#: for the shutdown: the last writes to a slow disk must fit into it.
WATCHDOG = "systemd.watchdog_sec=180"

#: "\$" is no variable's.
VARIABLE = re.compile(r"\\.|\$(?:\{(\w+)\}|(\w+))")

#: The words that virtme-ng adds to a guest's line for its init.
_VIRTME = re.compile(r"virtme[_.]\S*|nr_open=\d+|init=\S*/virtme/\S*")


def without_virtme(line: str) -> str:
    """The line without the words that only the init of a rehearsal's guest reads."""
    return " ".join(word for word in line.split() if not _VIRTME.fullmatch(word))


def parse(line: str) -> list[str]:
    """The parameters of a command line, without those for init."""
    return list(takewhile(lambda word: word != "--", WORD.findall(line)))


def name_of(parameter: str) -> str:
    """A parameter's name as the kernel compares it: "-" and "_" are the same."""
    return parameter.partition("=")[0].strip('"').replace("-", "_")


def values(line: str, name: str) -> list[str]:
    """Every value of a parameter on the line, in order; "" for a flag."""
    wanted = name.replace("-", "_")
    return [item.partition("=")[2] for item in parse(line) if name_of(item) == wanted]


def marker(line: str) -> Optional[str]:
    """The id of the plan that the line is of, by its last marker; None for a stock line."""
    return next(reversed(values(line, MARKER)), None)


def without(line: str, names: Iterable[str]) -> str:
    """The line without these parameters and lowlat's marker: the stock line of a tuned boot."""
    left_out = {name.replace("-", "_") for name in (*names, MARKER)}
    return " ".join(item for item in parse(line) if name_of(item) not in left_out)


def join(parameters: Iterable[str]) -> str:
    """lowlat's parameters as one line. Raises Refused for a character that could end a parameter, a
    quoted string or a shell word."""
    parts = list(parameters)
    for part in parts:
        if not _SAFE.fullmatch(part):
            raise Refused(f"'{part[:60]}' is not a safe kernel parameter")
    return " ".join(parts)


def check_length(line: str, what: str, limit: int, hint: Optional[str] = None) -> None:
    """Raises Refused if the kernel, which reads ``limit`` bytes with the closing NUL, would cut the
    line."""
    size = len(line.encode())
    if size >= limit:
        why = f"{what} is {size} bytes long; the kernel cuts it after {limit - 1}"
        raise Refused(why, hint=hint or f"shorten it by {size - limit + 1} bytes")


def of_kernel(running: str) -> list[str]:
    """The words of a running line, without BOOT_IMAGE and initrd, which the loader adds."""
    added = ("BOOT_IMAGE", "initrd")
    return [word for word in parse(running) if name_of(word) not in added]


def settings_of_line(running: str) -> list[str]:
    """The words of a running line, without those that the loader adds or a trial."""
    tried = {*TRIAL, WATCHDOG}
    return [word for word in of_kernel(running) if word not in tried]


def is_open(word: str) -> bool:
    """Whether a word holds a variable."""
    return any(found[1] or found[2] for found in VARIABLE.finditer(word))


def with_dollars(text: str) -> str:
    return re.sub(r"(\\[^$])|\\\$", lambda found: found[1] or "$", text)


def value(word: str) -> str:
    """A parameter without the quotes that the kernel removes (next_arg() in lib/cmdline.c)."""
    bare = word[1:] if word[:1] == '"' else word
    name, sign, value = bare.partition("=")
    if value[:1] != '"' and bare == word:
        return with_dollars(word)
    value = value[1:] if value[:1] == '"' else value
    text = f"{name}{sign}{value}"
    return with_dollars(text[:-1] if text[-1:] == '"' else text)
