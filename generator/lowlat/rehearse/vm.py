# SPDX-License-Identifier: GPL-2.0-or-later
"""One boot with a time limit: virtme-ng runs QEMU on the host's file tree, shared read-only.

The guest may write in the overlaid folders. Only one folder reaches the host, and every file that a
guest writes there is a plain one: never a link, device or set-user-ID program.
"""

import os
import shlex
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

import lowlat
from lowlat.base import bounds, process, reader, resources
from lowlat.base.errors import LowlatError, Refused
from lowlat.measure.child import find_harness
from lowlat.model.run import GUEST
from lowlat.rehearse import enclosure, qemu
from lowlat.rehearse.kernel import BootableKernel
from lowlat.rehearse.vm_size import VmSize

#: The name of every guest.

#: Folders that a guest may change for itself; the host's files in them do not change.
_OVERLAID = ("/etc", "/lib", "/usr", "/var", "/tmp")  # noqa: S108

#: virtme-ng builds its initramfs with the first and reads a kernel's release with the second.
TOOLS = ("busybox", "file")

#: The console's output, beside the folder that a boot shares.
LOG = "serial.log"

#: The options with which virtme-ng mounts its own shares.
_MOUNT = ("mount", "-t", "9p", "-o", "trans=virtio,version=9p2000.L,access=any,msize=524288")
_TAG = "lowlat.share"


@dataclass(frozen=True)
class GuestBoot:
    """One boot: its kernel, its command and its time limit (s); the guest shares ``folder``."""

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
        """QEMU's options for emulation; none with KVM."""
        return () if self.kvm else qemu.emulation(self.kernel.release, self.shape.cpus)


def check_paths(results: Path) -> None:
    """Raises Refused if the guest's kernel command line would split a path."""
    for path in (runner(), str(results.absolute())):
        if len(path.split()) > 1:
            why = f"{path}: virtme-ng takes no space in a path"
            raise Refused(why, hint="install lowlat and keep the results in folders without one")


def runs_on(kernel: BootableKernel) -> list[Path]:
    """The host's files that a guest needs besides the system's."""
    modules = kernel.image.parents[1] / "lib" / "modules" / kernel.release
    program = Path(runner()).resolve()
    theirs = program.parents[1]  # of virtme-ng's virtual environment
    return [
        *(Path(sys.prefix), Path(sys.base_prefix)),
        *(Path(lowlat.__file__).parents[1], resources.templates(), resources.profiles()),
        *(Path(find_harness()), theirs if (theirs / "pyvenv.cfg").exists() else program),
        *([modules] if modules.is_dir() else []),
    ]


def argv(boot: GuestBoot) -> list[str]:
    """virtme-run's argument vector for this boot."""
    # Not `vng`, which builds a shell command from its arguments.
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
        f"--name={GUEST}",
        "--user=root",
        f"--cpus={boot.shape.smp}",
        f"--memory={boot.shape.memory}",
        *(f"--overlay-rwdir={path}" for path in overlays),
        *(f"--kopt={word}" for word in boot.line.split()),
        f"--script-sh={mount} && {shlex.join(boot.command)}",
        *("--qemu-opts", *boot.emulation, *_shared(boot.folder), *qemu.drop_privileges_argv()),
    ]


def _shared(folder: Path) -> tuple[str, ...]:
    """A guest's owners, modes, links and devices are only recorded, in files beside the data."""
    how = "security_model=mapped-file,multidevs=remap"
    device = f"virtio-9p-pci,fsdev=share,mount_tag={_TAG}"
    return ("-fsdev", f"local,id=share,path={folder},{how}", "-device", device)


def run(boot: GuestBoot, stop: threading.Event) -> None:
    """Boot, and return once the guest has powered off; its output goes to the log.

    Raises LowlatError if it panicked, hung or never started its task, StopRequested if ``stop`` was
    set.
    """
    # virtme-run calls depmod, which a user's PATH often lacks.
    environment = {**os.environ, "PATH": f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"}
    environment.pop("TMPDIR", None)  # the guest may not see this folder
    # timeout(1) ends the guest even if this process is killed.
    guard = ["timeout", "--kill-after=10", f"{boot.limit + 30:.0f}"]
    guard += ["prlimit", f"--fsize={bounds.GUEST_FILE}"]
    enclosure.chown_to_guest_user(boot.folder)
    paths = [*runs_on(boot.kernel), boot.kernel.image, boot.folder]
    command = enclosure.argv(paths, [*guard, *argv(boot)])
    status = process.follow(command, environment, boot.log, boot.limit, stop)
    if status != 0:
        raise _what_happened(boot, status)


def _what_happened(boot: GuestBoot, status: Optional[int]) -> LowlatError:
    which = f"the boot of {boot.kernel.release}"
    where = f"the console's text is in {boot.log}"
    for text in process.text(reader.read(boot.log, bounds.GUEST_LOG)).splitlines():
        if "Kernel panic" in text:
            panic = text[text.index("Kernel panic") :].strip()
            return LowlatError(f"{which} panicked: {panic}", hint=where)
    if status is None:
        why = f"{which} did not end within {boot.limit:.0f} s and was ended"
        return LowlatError(why, hint=where)
    return LowlatError(f"{which} ended with status {status} before its task was done", hint=where)


def runner() -> str:
    beside = Path(sys.executable).with_name("virtme-run")
    program = str(beside) if beside.exists() else process.find("virtme-run")
    if program is None:
        raise process.NotInstalled("virtme-ng", hint="pip install 'lowlat[rehearse]'")
    return program
