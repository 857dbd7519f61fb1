# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots of single kernels with a busybox initramfs, and the evidence of each.

The plan is made outside, for a captured guest of the same shape with the kernel's own
configuration; the evidence returns as an archive over the console.
"""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lowlat.base.errors import LowlatError
from lowlat.host import archive
from lowlat.rehearse.kernel import BootableKernel
from support.guest import REPOSITORY, emulator, initramfs
from support.guest.kernels import busybox_or_skip

MACHINES = REPOSITORY / "tests/machines"

#: For each architecture, a captured guest with four CPUs.
CAPTURES = {"amd64": "qemu-x86-4s1c", "arm64": "qemu-arm64-4c"}

#: In CPU seconds; a boot takes 20 to 40.
_LIMIT_S = 180.0

#: The console's output, in a boot's folder.
CONSOLE = "console.log"

_INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mkdir -p /sbin && ln -s /bin/busybox /sbin/modprobe
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t tmpfs run /run
{before}
sh /evidence.sh -d {seconds} >/tmp/evidence 2>/tmp/errors
dmesg -n 1
echo
echo "=== errors ==="
cat /tmp/errors
echo "=== evidence ==="
gzip -c /tmp/evidence | base64
echo "=== end ==="
poweroff -f
"""

_ANSWER = re.compile(r"=== errors ===\s(.*)=== evidence ===\s(.*)=== end ===", re.DOTALL)


@dataclass(frozen=True)
class Trial:
    """One boot of a kernel with a line. ``before`` is shell code that runs in the guest before the
    evidence is gathered, after ``modules`` are loaded; ``seconds`` is how long kernel entries are
    counted."""

    kernel: BootableKernel
    line: str
    hardware: emulator.Hardware = field(default_factory=emulator.Hardware)
    modules: tuple[str, ...] = ()
    before: str = ""
    seconds: int = 0


def machine(kernel: BootableKernel, capture: str, path: Path, more: Mapping[str, str]) -> Path:
    """An archive of a captured machine with this kernel installed, and with ``more`` files."""
    contents = archive.parse((MACHINES / f"{capture}.txt").read_bytes())
    tree = kernel.image.parents[1]
    modules = f"lib/modules/{kernel.release}"
    for name in (f"boot/config-{kernel.release}", f"{modules}/modules.builtin.modinfo"):
        if (tree / name).is_file():
            contents.files[f"/{name}"] = (tree / name).read_bytes()
    contents.files.update({name: text.encode() for name, text in more.items()})
    path.write_text(archive.dump(contents))
    return path


def boot(trial: Trial, folder: Path, script: str) -> Path:
    """Boot once; returns the path of the archive with the evidence.

    Raises LowlatError if the boot failed or returned no evidence.
    """
    initrd = folder / "initrd"
    initrd.write_bytes(_initrd(trial, script))
    argv = [
        *trial.hardware.argv(),
        *("-kernel", str(trial.kernel.image), "-initrd", str(initrd)),
        *("-append", f"console={trial.hardware.console} panic=-1 {_clock(trial)} {trial.line}"),
    ]
    text = emulator.run(argv, limit=_LIMIT_S, log=folder / CONSOLE)
    found = _ANSWER.search(text.replace("\r", ""))
    if not found or found[1].strip():
        said = found[1].strip() if found else "nothing"
        raise LowlatError(f"no evidence came out of the guest: {said[:500]}")
    path = folder / "evidence.txt"
    path.write_bytes(gzip.decompress(base64.b64decode(found[2])))
    return path


def _clock(trial: Trial) -> str:
    """The emulated clock is the host's; if the host stalls, the watchdog would blame the clock."""
    x86 = trial.hardware.arch == "amd64"
    return "tsc=nowatchdog" if x86 and "tsc=" not in trial.line else ""


def _initrd(trial: Trial, script: str) -> bytes:
    load = [f"modprobe {name}" for name in trial.modules]
    init = _INIT.format(seconds=trial.seconds, before="\n".join((*load, trial.before)))
    files = {"evidence.sh": script.encode()}
    if trial.modules:
        files.update(initramfs.modules(trial.kernel, trial.modules))
    return initramfs.build(busybox_or_skip(trial.hardware.arch), init, files)
