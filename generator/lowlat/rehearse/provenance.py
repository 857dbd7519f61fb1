# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a rehearsal's results come from: the programs, the host, the kernel's very file."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from lowlat import __version__
from lowlat.base import process
from lowlat.base.errors import LowlatError, Refused
from lowlat.measure.child import find_harness
from lowlat.model.machine import Machine
from lowlat.rehearse import qemu
from lowlat.rehearse.kernel import BootableKernel

_ASK_S = 20.0


def of(machine: Machine, kernels: Iterable[BootableKernel]) -> dict[str, str]:
    """What makes the results, in words; "" where something does not tell its version.

    Raises Refused where a kernel cannot be read.
    """
    return {
        "lowlat": __version__,
        "harness": _line(find_harness(), "--version"),
        "harness_sha256": _digest(Path(find_harness())),
        "qemu": _line(qemu.program(), "--version"),
        "virtme_ng": _package("virtme-ng"),
        "tuned": _line(process.find("tuned") or "", "--version"),
        "host": f"{machine.processor.model or platform.machine()}, {os.cpu_count()} CPUs",
        "host_kernel": platform.release(),
        "python": platform.python_version(),
        **{f"image_sha256 {kernel.release}": _digest(kernel.image) for kernel in kernels},
    }


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}") from error


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
