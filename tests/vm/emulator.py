# SPDX-License-Identifier: GPL-2.0-or-later
"""One emulated boot: limited in time and memory, repeated if the emulation spoils it."""

from __future__ import annotations

import re
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Optional

import pytest

from lowlat.base import process
from lowlat.base.errors import LowlatError
from lowlat.rehearse import vm

#: Intel's name, since the kernel trusts no clock of other multiprocessors without more proof.
#: Without cx16: see rehearse/qemu.py.
X86_CPU = "max,vendor=GenuineIntel,-cx16"

#: By Debian's architecture: QEMU's machine and CPU, and the serial console. ARM's machine has an
#: IOMMU, for which it has a device.
_MACHINES = {
    "amd64": ("qemu-system-x86_64", "q35", X86_CPU, "ttyS0"),
    "arm64": ("qemu-system-aarch64", "virt,gic-version=3,iommu=smmuv3", "cortex-a72", "ttyAMA0"),
}

#: How often to repeat a spoilt boot. With a host thread per CPU, one CPU may run into code that
#: another is patching, or the timer may be so late that the kernel takes it for missing.
_AGAIN = 2
_LOOK_S = 2.0
_SPOILT = ("Oops: int3:", "IO-APIC + timer doesn't work")

#: On a busy host the guest may measure its clock's rate wrong, so that all its time limits end too
#: early. A right clock begins after the emulator has started, and never overtakes the host's.
_FAST = 1.5
_CLOCK = re.compile(r"\[ *(\d+\.\d{6})\] ")


@dataclass(frozen=True)
class Hardware:
    """The machine to emulate; ``cpu`` is QEMU's model, "" the architecture's default, ``serial``
    QEMU's backend of the console's line."""

    arch: str = "amd64"
    cpus: int = 4
    memory_mib: int = 768
    cpu: str = ""
    serial: str = "stdio"

    @property
    def console(self) -> str:
        return _MACHINES[self.arch][3]

    def argv(self) -> list[str]:
        """QEMU's arguments; skips the test with a reason if the emulator is missing."""
        program, machine, cpu, _ = _MACHINES[self.arch]
        found = process.find(program)
        if found is None:
            pytest.skip(f"{program} is not installed")
        # One socket per CPU, as in the captured machines whose plans are booted here.
        return [
            *(found, "-machine", machine, "-cpu", self.cpu or cpu),
            *("-accel", "tcg,thread=multi", "-m", str(self.memory_mib)),
            *("-smp", f"{self.cpus},sockets={self.cpus},cores=1,threads=1"),
            *("-nodefaults", "-no-user-config", "-display", "none", "-nic", "none", "-no-reboot"),
            *("-serial", self.serial),
            *(("-device", "virtio-rng-pci") if self.arch == "arm64" else ()),
        ]


def run(
    argv: Sequence[str],
    *,
    limit: float,
    log: Path,
    prepare: Callable[[], None] = lambda: None,
    cut_at: str = "",
) -> str:
    """Boot until the power-off; returns the console's output, which ``log`` stores too. ``prepare``
    runs before each attempt. The power is cut when the console shows ``cut_at``.

    Raises LowlatError if the boot did not end in time, or ended with an error.
    """
    for _ in range(_AGAIN + 1):
        prepare()
        status, spoilt = _boot(argv, limit, log, cut_at)
        if not spoilt:
            break
    console = log.read_text(errors="replace")
    if status != 0 and not _has(log, cut_at):
        how = f"did not end within {limit:.0f} s" if status is None else process.last_line(console)
        raise LowlatError(f"the boot failed: {how}", hint=f"the console's text is in {log}")
    return console


def _boot(argv: Sequence[str], limit: float, log: Path, cut_at: str) -> tuple[Optional[int], bool]:
    """The status, None if the boot did not end in time; and whether the emulation spoilt the boot,
    which ends it at once."""
    # timeout(1) ends the emulator even if this process is killed.
    guard = ["timeout", "--kill-after=10", f"{limit + 30:.0f}"]
    begin = time.monotonic()
    with log.open("wb") as console:
        child = process.start([*guard, *argv], stdout=console, stderr=subprocess.STDOUT)
    try:
        status, elapsed, spoilt = None, 0.0, False
        while status is None and elapsed < limit and not spoilt and not _has(log, cut_at):
            status = process.wait(child, _LOOK_S)
            elapsed = time.monotonic() - begin
            spoilt = _has(log, *_SPOILT) or _guest_time(log) > _FAST * elapsed
        return status, spoilt
    finally:
        process.end_group(child)


def _guest_time(log: Path) -> float:
    """The time of the console's last message, in seconds of the guest."""
    times = _CLOCK.findall(log.read_text(errors="replace"))
    return float(times[-1]) if times else 0.0


def run_on_host_files(boot: vm.GuestBoot) -> None:
    """The same with this host's file tree.

    Raises LowlatError if the boot did not end in time, or ended with an error.
    """
    for _ in range(_AGAIN):
        try:
            return vm.run(boot, threading.Event())
        except LowlatError:
            if not _has(boot.log, *_SPOILT):
                raise
    return vm.run(boot, threading.Event())


def _has(log: Path, *wanted: str) -> bool:
    """Whether one of these is in the console's text; "" never is."""
    text = log.read_text(errors="replace")
    return any(words and words in text for words in wanted)
