# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests that see this host's files, with a folder of their own to write to."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from lowlat.base.errors import LowlatError
from lowlat.rehearse import ready, vm
from lowlat.rehearse.kernel import BootableKernel
from lowlat.rehearse.vm_size import VmSize
from support import needs
from support.guest import REPOSITORY, emulator


def run(kernel: BootableKernel, folder: Path, script: str, limit: float, **words: object) -> None:
    """Boot once and run a shell script in ``folder``. The script names the folder, the
    ``repository``, the ``python`` that runs this and the other words in braces, which become shell
    words. ``limit`` is in CPU seconds."""
    try:
        ready.check_programs()
    except LowlatError as error:
        needs.absent(str(error))
    known = {"folder": folder, "repository": REPOSITORY, "python": sys.executable, **words}
    quoted = {name: shlex.quote(str(word)) for name, word in known.items()}
    (folder / "task").write_text(script.format(**quoted))
    command = ("sh", str(folder / "task"))
    boot = vm.GuestBoot(kernel, "tsc=nowatchdog", VmSize(4), False, folder, command, limit)
    emulator.run_on_host_files(boot)
