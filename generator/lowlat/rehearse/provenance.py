# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a rehearsal's results come from: the programs, the host, the kernel's very file."""

from __future__ import annotations

import hashlib
import os
import platform
from importlib import metadata
from pathlib import Path

from lowlat import __version__, process
from lowlat.errors import LowlatError
from lowlat.harness_child import find_harness
from lowlat.machine import Machine
from lowlat.rehearse import qemu

_ASK_S = 20.0


def of(machine: Machine) -> dict[str, str]:
    """What made the results, in words; "" where something does not tell its version."""
    return {
        "lowlat": __version__,
        "harness": _line(find_harness(), "--version"),
        "harness_sha256": digest(Path(find_harness())),
        "qemu": _line(qemu.program(), "--version"),
        "virtme_ng": _package("virtme-ng"),
        "tuned": _line(process.find("tuned") or "", "--version"),
        "host": f"{machine.processor.model or platform.machine()}, {os.cpu_count()} CPUs",
        "host_kernel": platform.release(),
        "python": platform.python_version(),
    }


def digest(path: Path) -> str:
    """The SHA-256 of a file, as hexadecimal digits."""
    with path.open("rb") as stream:
        found = hashlib.sha256()
        for block in iter(lambda: stream.read(1 << 20), b""):
            found.update(block)
    return found.hexdigest()


def _package(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _line(program: str, option: str) -> str:
    try:
        ended = process.run([program, option], timeout=_ASK_S) if program else None
    except LowlatError:
        return ""
    lines = ended.stdout.splitlines() if ended and not ended.status else []
    return lines[0].strip() if lines else ""
