# SPDX-License-Identifier: GPL-2.0-or-later
"""One bounded boot: virtme-ng runs QEMU on the host's own file tree, shared read-only.

The guest may write everywhere below the overlaid folders; only the result folder reaches the host.
"""

from __future__ import annotations

import os
import platform
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Callable, Optional

from lowlat import process
from lowlat.errors import LowlatError, Refused
from lowlat.rehearse.kernel import Kernel
from lowlat.rehearse.shape import Shape
from lowlat.rehearse.stream import follow

#: What a guest may change for itself; the host's files below stay as they are.
_OVERLAID = ("/etc", "/lib", "/usr", "/var", "/tmp")  # noqa: S108

_KVM_PROBE_S = 15.0

#: Boots to try again, of those that the emulation itself spoils: about one in thirty.
_AGAIN = 2

#: The console's text, in a boot's folder.
LOG = "serial.log"


@dataclass(frozen=True)
class Boot:
    """What to boot, how long it may take, and what runs in it."""

    kernel: Kernel
    line: str
    shape: Shape
    kvm: bool
    folder: Path
    command: tuple[str, ...]
    limit: float

    @property
    def log(self) -> Path:
        return self.folder / LOG


def check_tools() -> None:
    """Raises Refused where virtme-ng, QEMU or what they need is not installed."""
    _runner()
    _qemu()
    # virtme-ng makes its initramfs of the one and learns a kernel's release from the other.
    for program, package in (("busybox", "busybox-static"), ("file", "file")):
        if process.find(program) is None:
            raise Refused(f"{program} is not installed", hint=f"apt install {package}")


def argv(boot: Boot) -> list[str]:
    """virtme-run's argument vector for this boot."""
    # Not `vng`: that builds a shell command out of its arguments.
    overlays = [path for path in _OVERLAID if Path(path).is_dir() and not Path(path).is_symlink()]
    return [
        _runner(),
        "--mods=auto",
        f"--kimg={boot.kernel.image}",
        f"--qemu-bin={_qemu()}",
        *([] if boot.kvm else ["--disable-kvm"]),
        "--force-9p",
        "--disable-monitor",
        "--show-boot-console",
        "--verbose",
        "--name=rehearsal",
        "--user=root",
        f"--cpus={boot.shape.smp}",
        f"--memory={boot.shape.memory}",
        *(f"--overlay-rwdir={path}" for path in overlays),
        f"--rwdir={boot.folder}",
        *(f"--kopt={word}" for word in boot.line.split()),
        f"--script-sh={shlex.join(boot.command)}",
        *([] if boot.kvm else ["--qemu-opts", "-accel", "tcg,thread=multi"]),
    ]


def run(boot: Boot, tell: Callable[[str], None]) -> None:
    """Boot, hand the guest's lines to ``tell``, and come back when it has powered off.

    Raises LowlatError where it panicked, hung or never came to its task; the log tells more.
    """
    status = _once(boot, tell)
    for _ in range(_AGAIN):
        if status == 0 or boot.kvm or not _tripped(boot):
            break
        tell("QEMU's emulation tripped over the kernel patching its own code: booting again")
        status = _once(boot, tell)
    if status != 0:
        raise LowlatError(_what_happened(boot, status), hint=f"the console's text is in {boot.log}")


def _once(boot: Boot, tell: Callable[[str], None]) -> Optional[int]:
    # virtme-run looks for depmod, which a user's PATH often lacks.
    environment = {**os.environ, "PATH": f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"}
    # timeout(1) stays on guard should this process itself be killed.
    guard = ["timeout", "--kill-after=10", f"{boot.limit + 30:.0f}"]

    def heard(text: str) -> None:
        _make_punctual(boot)
        tell(text)

    return follow([*guard, *argv(boot)], environment, boot.log, heard, boot.limit)


def _tripped(boot: Boot) -> bool:
    """Whether the guest died of a breakpoint that it had taken back already.

    The kernel switches code on and off by way of int3 (text_poke_bp(), arch/x86/kernel/
    alternative.c); with a host thread a CPU, QEMU's emulation sometimes still runs the old byte.
    """
    return "Oops: int3:" in boot.log.read_text(errors="replace")


def _make_punctual(boot: Boot) -> None:
    """Let QEMU's main thread, which fires the guest's timers, go before its CPUs, which spin.

    Else a busy host loses ticks of the guest, and the stock boot looks quieter than it is. Only
    root may; without it nothing changes.
    """
    folder = str(boot.folder).encode()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = path.read_bytes().split(b"\0")
            if b"qemu-system" in words[0] and any(folder in word for word in words):
                first = os.sched_param(1)
                os.sched_setscheduler(int(path.parent.name), os.SCHED_FIFO, first)


def _what_happened(boot: Boot, status: Optional[int]) -> str:
    which = f"the boot of {boot.kernel.release}"
    for text in boot.log.read_text(errors="replace").splitlines():
        if "Kernel panic" in text:
            return f"{which} panicked: {text[text.index('Kernel panic') :].strip()}"
    if status is None:
        return f"{which} did not end within {boot.limit:.0f} s and was ended"
    return f"{which} ended with status {status} before its task was done"


def _runner() -> str:
    beside = Path(sys.executable).with_name("virtme-run")
    found = str(beside) if beside.exists() else process.find("virtme-run")
    if found is None:
        raise Refused("virtme-ng is not installed", hint="pip install 'lowlat[rehearse]'")
    return found


def _qemu() -> str:
    name = f"qemu-system-{platform.machine()}"
    found = process.find(name)
    if found is None:
        raise Refused(f"{name} is not installed", hint=f"apt install {_package(name)}")
    return found


def _package(name: str) -> str:
    return {"qemu-system-x86_64": "qemu-system-x86", "qemu-system-aarch64": "qemu-system-arm"}.get(
        name, "qemu-system"
    )


@cache
def kvm_works(image: Path) -> bool:
    """Whether KVM boots this kernel: as far as the panic over its missing root file system.

    A /dev/kvm that can be opened proves nothing: under some hypervisors the guest hangs at once.
    """
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    ended = process.run(_probe_argv(image), timeout=_KVM_PROBE_S)
    return not ended.timed_out and ended.status == 0 and "Kernel panic" in ended.stdout


def _probe_argv(image: Path) -> Sequence[str]:
    x86 = platform.machine() == "x86_64"
    return [
        _qemu(),
        *("-machine", "q35" if x86 else "virt,gic-version=host"),
        *("-accel", "kvm", "-cpu", "host", "-m", "512M", "-no-reboot", "-nodefaults"),
        *("-display", "none", "-serial", "stdio", "-kernel", str(image)),
        *("-append", f"panic=-1 console={'ttyS0' if x86 else 'ttyAMA0'}"),
    ]
