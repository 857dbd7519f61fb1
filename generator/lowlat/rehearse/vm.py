# SPDX-License-Identifier: GPL-2.0-or-later
"""One bounded boot: virtme-ng runs QEMU on the host's own file tree, shared read-only.

The guest may write everywhere below the overlaid folders; only the result folder reaches the host.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Optional

from lowlat import process
from lowlat.errors import LowlatError, Refused
from lowlat.rehearse.kernel import Kernel
from lowlat.rehearse.shape import Shape
from lowlat.rehearse.stream import follow

#: What a guest may change for itself; the host's files below stay as they are.
_OVERLAID = ("/etc", "/lib", "/usr", "/var", "/tmp")  # noqa: S108

_KVM_PROBE_S = 15.0
_ASK_S = 20.0

#: An emulated guest's time is the number of instructions that it has run, 8 ns each: a busy host
#: makes it slower and takes no tick away, and guests side by side do not disturb each other.
_BY_INSTRUCTIONS = ("-accel", "tcg,thread=single", "-icount", "shift=3,sleep=on")

#: Where that does not work: a host thread for each CPU. A busy host then takes ticks away.
_BY_THREADS = ("-accel", "tcg,thread=multi")

#: Within so many microseconds each CPU of such a guest gets its turn: once a tick at 1000 Hz.
_ROUND_US = 1000

#: The console's text, in a boot's folder.
LOG = "serial.log"


class Panicked(LowlatError):
    """The guest's kernel panicked."""


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
    runner()
    qemu()
    # virtme-ng makes its initramfs of the one and learns a kernel's release from the other.
    for program, package in (("busybox", "busybox-static"), ("file", "file")):
        if process.find(program) is None:
            raise Refused(f"{program} is not installed", hint=f"apt install {package}")


def argv(boot: Boot) -> list[str]:
    """virtme-run's argument vector for this boot."""
    # Not `vng`: that builds a shell command out of its arguments.
    overlays = [path for path in _OVERLAID if Path(path).is_dir() and not Path(path).is_symlink()]
    return [
        runner(),
        "--mods=auto",
        f"--kimg={boot.kernel.image}",
        f"--qemu-bin={qemu()}",
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
        *([] if boot.kvm else ["--qemu-opts", *_emulation(boot)]),
    ]


def counts_instructions(release: str) -> bool:
    """Whether an emulated guest of this kernel can have its instructions counted for time.

    QEMU before 8.1 gives no CPU a turn while the first one spins, and kernels before 6.5 spin until
    the next CPU has come up (do_boot_cpu(), arch/x86/kernel/smpboot.c): such a guest never boots.
    """
    return _first_two(release) >= (6, 5) or _first_two(_qemu_version()) >= (8, 1)


@cache
def _qemu_version() -> str:
    found = re.search(r"version (\S+)", process.run([qemu(), "--version"], timeout=_ASK_S).stdout)
    return found[1] if found else ""


def _first_two(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])


def _emulation(boot: Boot) -> tuple[str, ...]:
    if counts_instructions(boot.kernel.release):
        return (*_BY_INSTRUCTIONS, *_turns(boot.shape.cpus))
    return _BY_THREADS


def _turns(cpus: int) -> tuple[str, ...]:
    """QEMU runs one CPU until the next timer is due, and before 8.1 it is luck when the others have
    their turn, so that they lose ticks. This timer belongs to a network that nobody uses."""
    each = f"interval={_ROUND_US // cpus}"
    return (
        *("-netdev", "hubport,id=pace,hubid=0"),
        *("-object", f"filter-buffer,id=turns,netdev=pace,queue=rx,{each}"),
    )


def run(boot: Boot, stop: threading.Event) -> None:
    """Boot, and come back when the guest has powered off; what it prints goes into the log.

    Raises Panicked where it panicked, LowlatError where it hung or never came to its task, Stopped
    where ``stop`` was set.
    """
    # virtme-run looks for depmod, which a user's PATH often lacks.
    environment = {**os.environ, "PATH": f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"}
    # timeout(1) stays on guard should this process itself be killed.
    guard = ["timeout", "--kill-after=10", f"{boot.limit + 30:.0f}"]
    status = follow([*guard, *argv(boot)], environment, boot.log, boot.limit, stop)
    if status != 0:
        raise _what_happened(boot, status)


def _what_happened(boot: Boot, status: Optional[int]) -> LowlatError:
    which = f"the boot of {boot.kernel.release}"
    where = f"the console's text is in {boot.log}"
    for text in boot.log.read_text(errors="replace").splitlines():
        if "Kernel panic" in text:
            found = text[text.index("Kernel panic") :].strip()
            return Panicked(f"{which} panicked: {found}", hint=where)
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


def qemu() -> str:
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
        qemu(),
        *("-machine", "q35" if x86 else "virt,gic-version=host"),
        *("-accel", "kvm", "-cpu", "host", "-m", "512M", "-no-reboot", "-nodefaults"),
        *("-display", "none", "-serial", "stdio", "-kernel", str(image)),
        *("-append", f"panic=-1 console={'ttyS0' if x86 else 'ttyAMA0'}"),
    ]
