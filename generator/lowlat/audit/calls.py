# SPDX-License-Identifier: GPL-2.0-or-later
"""System calls by their numbers."""

import re
from functools import cache
from typing import NamedTuple

from lowlat.base import resources

#: What the event raw_syscalls:sys_enter says: the number, and six arguments in hexadecimal.
_ENTER = re.compile(r"NR (-?\d+) \(([0-9a-f]+(?:, [0-9a-f]+)*)\)")

#: By uname(2): the table of calls.ini.
_TABLES = {
    "x86_64": "x86_64",
    "aarch64": "generic",
    "riscv64": "generic",
    "loongarch64": "generic",
}

#: futex(2): FUTEX_WAIT, LOCK_PI, WAIT_BITSET, WAIT_REQUEUE_PI and LOCK_PI2 of
#: include/uapi/linux/futex.h, and the bits that are no operation.
_FUTEX_WAITS, _FUTEX_FLAGS = {0, 6, 9, 11, 13}, 128 | 256

#: What shrinks or closes a mapping, and so may send interrupts to CPUs that use it.
MAPPINGS = {"munmap", "mprotect", "madvise", "mremap", "mmap", "brk", "pkey_mprotect"}


class Call(NamedTuple):
    name: str
    arguments: list[int] = []

    @property
    def waits_for_futex(self) -> bool:
        if self.name == "futex":
            return self.arguments[1] & ~_FUTEX_FLAGS in _FUTEX_WAITS
        return self.name in ("futex_wait", "futex_waitv")


def parse(detail: str, machine: str) -> Call:
    """The call of an event; "call 512" if its name is not known."""
    entered = _ENTER.match(detail)
    if not entered:
        return Call("call of unknown number")
    number = int(entered[1])
    arguments = [int(argument, 16) for argument in entered[2].split(", ")]
    return Call(_names(machine).get(number, f"call {number}"), arguments)


@cache
def _names(machine: str) -> dict[int, str]:
    table = _TABLES.get(machine)
    if table is None:
        return {}
    listed = resources.texts("audit/calls.ini")
    names: dict[int, str] = {}
    for section in (table, "common"):
        for first, text in listed[section].items():
            names.update(enumerate(text.split(), int(first)))
    return names
