# SPDX-License-Identifier: GPL-2.0-or-later
"""Targets of run-time settings: kernel files, given by path or glob, kernel threads, and
irqbalance."""

import os
import re
import shlex
from collections.abc import Iterator
from typing import Optional

from lowlat.host import kernel_threads
from lowlat.host.root import Root, glob
from lowlat.runtime import irqbalance, kthreads
from lowlat.runtime.kthreads import Threads

_INTERRUPT = re.compile(r"/proc/irq/\d+/smp_affinity")


def look(target: str, root: Root, known: Threads) -> Iterator[tuple[str, Optional[str], bool]]:
    """Every path of a setting's target (a glob may match none), its value, None if it is missing or
    unreadable, and whether it is a kernel thread that the kernel refuses to move."""
    if target.startswith(kernel_threads.SCHEME):
        what = target.rpartition(":")[2]
        for thread, path in known.matching(target):
            value = kthreads.value(root, thread, what)
            # The thread may have ended since it was listed.
            if value is not None:
                yield path, value, thread.bound and what == "affinity"
    elif target in irqbalance.PATHS:
        if irqbalance.there(root, target):
            yield target, irqbalance.read(root, target), False
    else:
        for path in glob(root, target):
            yield path, root.read(path), False


def read(root: Root, path: str) -> Optional[str]:
    """The value at a path; None if it is missing or unreadable."""
    if path in irqbalance.PATHS:
        return irqbalance.read(root, path)
    return kthreads.read(root, path) if kernel_threads.is_path(path) else root.read(path)


def unreadable(root: Root, path: str) -> str:
    """Why read() returned None, in words."""
    if path in irqbalance.PATHS:
        return "does not answer at its socket" if root.trusted else "cannot be read"
    return "is not there" if root.known_absent(path) else "cannot be read"


def gone(root: Root, path: str) -> bool:
    """Whether a path no longer exists: an interrupt's driver was removed, a thread or irqbalance
    ended."""
    if path in irqbalance.PATHS:
        return irqbalance.read(root, path) is None
    return kthreads.gone(root, path) if kernel_threads.is_path(path) else root.absent(path)


def lasts(path: str) -> bool:
    """Whether a value that is read is not about to change: irqbalance takes what it was told up to
    20 seconds later, also from a program that was killed meanwhile."""
    return path != irqbalance.NOW


def stays(path: str) -> bool:
    """Whether a value stays as it was written. irqbalance moves interrupts at any time."""
    return _INTERRUPT.fullmatch(path) is None


def write(root: Root, path: str, value: str) -> str:
    """Write one value to an existing path. Returns the problem as text, or ""."""
    if kernel_threads.is_path(path):
        return kthreads.write(root, path, value)
    if path in irqbalance.PATHS:
        return irqbalance.write(root, path, value)
    # The kernel takes an empty line for "nothing"; a write of 0 bytes would not reach it. resctrl's
    # schemata accepts whole lines only.
    data = value.encode() + b"\n" * (not value or path.endswith("/schemata"))
    try:
        fd = root.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        return error.strerror or "cannot be opened"
    try:
        if not root.live:
            os.ftruncate(fd, 0)  # a file of the kernel takes each write as a whole
        return "" if os.write(fd, data) == len(data) else "was written in part only"
    except OSError as error:
        return error.strerror or "cannot be written"
    finally:
        os.close(fd)


def command(path: str, value: str) -> str:
    """What write() does, as a command or, to irqbalance, a message."""
    if path in irqbalance.PATHS:
        return irqbalance.command(path, value)
    if kernel_threads.is_path(path):
        return kthreads.command(path, value)
    return f"echo {shlex.quote(value)} >{shlex.quote(path)}"


def is_path(text: str) -> bool:
    """Whether a text can be the path of a setting: a kernel thread's, irqbalance's, or
    below /proc or /sys."""
    parts = text.split("/")
    below = parts[:2] in (["", "proc"], ["", "sys"]) and ".." not in parts and "\0" not in text
    return below or kernel_threads.is_path(text) or text in irqbalance.PATHS
