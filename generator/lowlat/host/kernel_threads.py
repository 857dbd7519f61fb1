# SPDX-License-Identifier: GPL-2.0-or-later
"""The path-like name of a kernel thread's affinity or policy: ``kthread:COMM:PID:START:affinity``
or ``…:policy``. START (clock ticks after the boot) distinguishes a thread from a later one with the
same PID."""

import re

SCHEME = "kthread:"

PATH = re.compile(r"kthread:([^\0\n]{1,64}):([1-9]\d{0,9}):(\d{1,20}):(affinity|policy)", re.ASCII)


def is_path(text: str) -> bool:
    """Whether the text is the path of one thread's affinity or policy."""
    return bool(PATH.fullmatch(text))


def display_name(path: str) -> str:
    """A path in words, if it is a kernel thread's; any other path unchanged."""
    if not is_path(path):
        return path
    comm, pid, _, what = path[len(SCHEME) :].rsplit(":", 3)
    return f"{what} of kernel thread {comm} ({pid})"
