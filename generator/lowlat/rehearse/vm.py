# SPDX-License-Identifier: GPL-2.0-or-later
"""One bounded boot: virtme-ng runs QEMU on the host's own file tree, shared read-only.

The guest may write everywhere below the overlaid folders; only one folder reaches the host, where
every file of a guest's is a plain one: it can make no link, device or set-user-ID program there.
"""

import os
import shlex
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

import lowlat
from lowlat.base import bounds, files, process, resources
from lowlat.base.errors import LowlatError, Refused
from lowlat.base.process import follow
from lowlat.measure.child import find_harness
from lowlat.rehearse import enclosure, qemu
from lowlat.rehearse.kernel import BootableKernel
from lowlat.rehearse.vm_size import VmSize

#: Folders that a guest may change for itself; the host's files below stay as they are.
_OVERLAID = ("/etc", "/lib", "/usr", "/var", "/tmp")  # noqa: S108

#: virtme-ng makes its initramfs of the one and learns a kernel's release from the other.
TOOLS = ("busybox", "file")

#: The console's text, beside the folder that a boot shares.
LOG = "serial.log"

#: As virtme-ng mounts its own.
_MOUNT = ("mount", "-t", "9p", "-o", "trans=virtio,version=9p2000.L,access=any,msize=524288")
_TAG = "lowlat.share"


@dataclass(frozen=True)
class GuestBoot:
    """One boot: its kernel, its command, its limit (s); the guest shares ``folder``."""

    kernel: BootableKernel
    line: str
    shape: VmSize
    kvm: bool
    folder: Path
    command: tuple[str, ...]
    limit: float

    @property
    def log(self) -> Path:
        return self.folder.parent / LOG

    @property
    def emulation(self) -> tuple[str, ...]:
        """QEMU's options for it; none with KVM."""
        return () if self.kvm else qemu.emulation(self.kernel.release, self.shape.cpus)


def check_tools() -> None:
    """Raises Refused where virtme-ng, QEMU or what they need is not installed."""
    runner()
    qemu.program()
    for program in TOOLS:
        process.need(program)


def check_paths(results: Path) -> None:
    """Raises Refused where a path would come apart on the guest's kernel command line."""
    for path in (runner(), str(results.absolute())):
        if len(path.split()) > 1:
            why = f"{path}: virtme-ng takes no space in a path"
            raise Refused(why, hint="install lowlat and keep the results in folders without one")


def runs_on(kernel: BootableKernel) -> list[Path]:
    """The files of this host that a guest needs, beside the system's own."""
    modules = kernel.image.parents[1] / "lib" / "modules" / kernel.release
    program = Path(runner()).resolve()
    theirs = program.parents[1]  # of an environment of virtme-ng's own
    return [
        *(Path(sys.prefix), Path(sys.base_prefix)),
        *(Path(lowlat.__file__).parents[1], resources.templates(), resources.profiles()),
        *(Path(find_harness()), theirs if (theirs / "pyvenv.cfg").exists() else program),
        *([modules] if modules.is_dir() else []),
    ]


def argv(boot: GuestBoot) -> list[str]:
    """virtme-run's argument vector for this boot."""
    # Not `vng`: that builds a shell command out of its arguments.
    overlays = [path for path in _OVERLAID if Path(path).is_dir() and not Path(path).is_symlink()]
    mount = shlex.join([*_MOUNT, _TAG, str(boot.folder)])
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
        *(f"--kopt={word}" for word in boot.line.split()),
        f"--script-sh={mount} && {shlex.join(boot.command)}",
        *("--qemu-opts", *boot.emulation, *_shared(boot.folder), *qemu.powerless()),
    ]


def _shared(folder: Path) -> tuple[str, ...]:
    """A guest's owners, modes, links and devices are only noted, in files beside the plain ones."""
    how = "security_model=mapped-file,multidevs=remap"
    device = f"virtio-9p-pci,fsdev=share,mount_tag={_TAG}"
    return ("-fsdev", f"local,id=share,path={folder},{how}", "-device", device)


def run(boot: GuestBoot, stop: threading.Event) -> None:
    """Boot, and come back when the guest has powered off; what it prints goes into the log.

    Raises LowlatError where it panicked, hung or never came to its task, StopRequested where
    ``stop`` was set.
    """
    # virtme-run looks for depmod, which a user's PATH often lacks.
    environment = {**os.environ, "PATH": f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"}
    environment.pop("TMPDIR", None)  # it may lie in a folder that is hidden from the guest
    # timeout(1) stays on guard should this process itself be killed.
    guard = ["timeout", "--kill-after=10", f"{boot.limit + 30:.0f}"]
    guard += ["prlimit", f"--fsize={bounds.GUEST_FILE}"]
    enclosure.hand_over(boot.folder)
    paths = [*runs_on(boot.kernel), boot.kernel.image, boot.folder]
    command = enclosure.argv(paths, [*guard, *argv(boot)])
    status = follow(command, environment, boot.log, boot.limit, stop)
    if status != 0:
        raise _what_happened(boot, status)


def _what_happened(boot: GuestBoot, status: Optional[int]) -> LowlatError:
    which = f"the boot of {boot.kernel.release}"
    where = f"the console's text is in {boot.log}"
    for text in process.text(files.read(boot.log, bounds.GUEST_LOG)).splitlines():
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
        raise process.missing("virtme-ng", hint="pip install 'lowlat[rehearse]'")
    return found
