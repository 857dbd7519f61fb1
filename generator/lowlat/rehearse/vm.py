# SPDX-License-Identifier: GPL-2.0-or-later
"""One bounded boot: virtme-ng runs QEMU on the host's own file tree, shared read-only.

The guest may write everywhere below the overlaid folders; only the result folder reaches the host.
"""

from __future__ import annotations

import os
import shlex
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from lowlat.base import process
from lowlat.base.errors import LowlatError, Refused
from lowlat.base.process import follow
from lowlat.rehearse import qemu
from lowlat.rehearse.kernel import BootableKernel
from lowlat.rehearse.vm_size import VmSize

#: What a guest may change for itself; the host's files below stay as they are.
_OVERLAID = ("/etc", "/lib", "/usr", "/var", "/tmp")  # noqa: S108

#: The console's text, in a boot's folder.
LOG = "serial.log"


@dataclass(frozen=True)
class GuestBoot:
    """What to boot, how long it may take, and what runs in it."""

    kernel: BootableKernel
    line: str
    shape: VmSize
    kvm: bool
    folder: Path
    command: tuple[str, ...]
    limit: float

    @property
    def log(self) -> Path:
        return self.folder / LOG

    @property
    def emulation(self) -> tuple[str, ...]:
        """QEMU's options for it; none with KVM."""
        return () if self.kvm else qemu.emulation(self.kernel.release, self.shape.cpus)


def check_tools() -> None:
    """Raises Refused where virtme-ng, QEMU or what they need is not installed."""
    runner()
    qemu.program()
    # virtme-ng makes its initramfs of the one and learns a kernel's release from the other.
    for program, package in (("busybox", "busybox-static"), ("file", "file")):
        if process.find(program) is None:
            raise Refused(f"{program} is not installed", hint=f"apt install {package}")


def check_paths(results: Path) -> None:
    """Raises Refused where a path would come apart on the guest's kernel command line."""
    for path in (runner(), str(results.absolute())):
        if len(path.split()) > 1:
            why = f"{path}: virtme-ng takes no space in a path"
            raise Refused(why, hint="install lowlat and keep the results in folders without one")


def argv(boot: GuestBoot) -> list[str]:
    """virtme-run's argument vector for this boot."""
    # Not `vng`: that builds a shell command out of its arguments.
    overlays = [path for path in _OVERLAID if Path(path).is_dir() and not Path(path).is_symlink()]
    return [
        runner(),
        "--mods=auto",
        f"--kimg={boot.kernel.image}",
        f"--qemu-bin={qemu.program()}",
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
        *(("--qemu-opts", *boot.emulation) if boot.emulation else ()),
    ]


def run(boot: GuestBoot, stop: threading.Event) -> None:
    """Boot, and come back when the guest has powered off; what it prints goes into the log.

    Raises LowlatError where it panicked, hung or never came to its task, StopRequested where
    ``stop`` was set.
    """
    # virtme-run looks for depmod, which a user's PATH often lacks.
    environment = {**os.environ, "PATH": f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"}
    # timeout(1) stays on guard should this process itself be killed.
    guard = ["timeout", "--kill-after=10", f"{boot.limit + 30:.0f}"]
    status = follow([*guard, *argv(boot)], environment, boot.log, boot.limit, stop)
    if status != 0:
        raise _what_happened(boot, status)


def _what_happened(boot: GuestBoot, status: Optional[int]) -> LowlatError:
    which = f"the boot of {boot.kernel.release}"
    where = f"the console's text is in {boot.log}"
    for text in boot.log.read_text(errors="replace").splitlines():
        if "Kernel panic" in text:
            found = text[text.index("Kernel panic") :].strip()
            return LowlatError(f"{which} panicked: {found}", hint=where)
    if status is None:
        why = f"{which} did not end within {boot.limit:.0f} s and was ended"
        return LowlatError(why, hint=where)
    return LowlatError(f"{which} ended with status {status} before its task was done", hint=where)


def runner() -> str:
    beside = Path(sys.executable).with_name("virtme-run")
    found = str(beside) if beside.exists() else process.find("virtme-run")
    if found is None:
        raise Refused("virtme-ng is not installed", hint="pip install 'lowlat[rehearse]'")
    return found
